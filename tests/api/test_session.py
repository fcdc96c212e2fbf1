"""The Python API on the bundled packs: sessions, functions, tables, event loops and threads."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import sqlassay
from sqlassay.harness.calling import close_sessions

pytestmark = pytest.mark.jail


@pytest.fixture(scope="module")
def session() -> Iterator[sqlassay.Session]:
    """One session on the demo for the module."""
    with sqlassay.Session("demo") as opened:
        yield opened
    assert opened.breaches == ()


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> sqlassay.RunResult:
    """The demo with its own predictions, run whole."""
    return sqlassay.run("demo", out=tmp_path_factory.mktemp("demo") / "run")


@pytest.fixture(scope="module", autouse=True)
def _ended() -> Iterator[None]:
    """End the sessions that `evaluate` keeps."""
    yield
    close_sessions()


def _gold(session: sqlassay.Session, case_id: str) -> str:
    """Return a case's gold."""
    return next(case for case in session.cases if case.id == case_id).gold["sqlite"][0]


def test_a_session_judges_as_a_run_does(session, demo):
    """Each of the demo's predictions has in a session and by `evaluate` the result that the run wrote."""
    for result in demo.results:
        given = sqlassay.Prediction(case_id=result.case_id, sql=result.predicted_sql, route=result.selected_route)
        if result.selected_route == result.expected_route and result.selected_route is not None:
            assert sqlassay.evaluate("demo", result.case_id, given) == result
        assert session.judge(result.case_id, given) == result


def test_a_second_evaluate_is_warm(session):
    """What the first call brought up is there for the next: it takes a hundredth of the first's time, or 50 ms."""
    case = session.cases[0].id
    began = time.process_time()
    sqlassay.evaluate("demo", case, "SELECT 1", sandbox="process")
    cold = time.process_time() - began
    began = time.process_time()
    for number in range(10):
        sqlassay.evaluate("demo", case, f"SELECT {number}", sandbox="process")
    assert time.process_time() - began < max(cold, 0.5)


def test_a_kept_session_is_left_where_its_files_changed(tmp_path):
    """A case, or a row of the data, that was written anew is judged anew."""
    pack = tmp_path / "pack"
    (pack / "data").mkdir(parents=True)
    (pack / "data" / "t.csv").write_text("a\n1\n2\n")
    (pack / "schema.yaml").write_text("format: 1\ntables:\n  - {name: t, columns: [{name: a, kind: int}]}\n")
    header = "format: 1\nname: p\nsnapshots: {s: {schema: schema.yaml, data: data}}\ncases: [cases.yaml]\n"
    (pack / "pack.yaml").write_text(header)
    cases = pack / "cases.yaml"
    for gold, verdict in (("SELECT max(a) FROM t", "match"), ("SELECT min(a) FROM t", "mismatch")):
        cases.write_text(f"- {{id: c, question: '?', gold: {{sqlite: {gold!r}}}}}\n")
        assert sqlassay.evaluate(pack, "c", "SELECT a FROM t WHERE a > 1").verdict == verdict
    (pack / "data" / "t.csv").write_text("a\n2\n2\n")
    assert sqlassay.evaluate(pack, "c", "SELECT DISTINCT a FROM t").verdict == "match"


def test_functions_lists_and_tables_run(tmp_path, session):
    """A function, an async one, a list, a mapping and a table give the same verdicts; the run says who was asked."""
    cases = [case.id for case in session.cases if case.gold and case.query_type == "dql" and not case.out_of_scope][:4]
    golds = {case_id: _gold(session, case_id) for case_id in cases}

    def answers(request: sqlassay.AgentRequest) -> str:
        """Give the gold of the case."""
        assert "CREATE TABLE" in request.schema_ddl
        return golds[request.case_id]

    async def later(request: sqlassay.AgentRequest) -> dict[str, str]:
        """Give it later."""
        await asyncio.sleep(0)
        return {"sql": golds[request.case_id]}

    table = SimpleNamespace(columns=(), to_dicts=lambda: [{"case_id": name, "sql": sql} for name, sql in golds.items()])
    ways: list[dict[str, Any]] = [{"agent": answers}, {"agent": later}]
    ways += [{"predictions": given} for given in (golds, list(golds.items()), table)]
    for number, way in enumerate(ways):
        run = sqlassay.run("demo", only=cases, out=tmp_path / str(number), **way)
        assert {result.verdict.value for result in run.results} == {"match"}
        assert run.manifest.agent.startswith("function:" if "agent" in way else "predictions held in memory")
    broken = sqlassay.run("demo", only=cases, out=tmp_path / "broken", agent=lambda _: 1 / 0)
    assert {result.verdict.value for result in broken.results} == {"no_prediction"}
    assert "ZeroDivisionError" in broken.results[0].reason


def test_what_is_wrong_is_told_before_anything_runs(tmp_path):
    """Both an agent and predictions, a case that is not there, and an option of whole runs are refused by name."""
    with pytest.raises(sqlassay.InputError, match="both given"):
        sqlassay.run("demo", agent=lambda _: "SELECT 1", predictions={}, out=tmp_path / "r")
    with pytest.raises(sqlassay.InputError, match="nobody"):
        sqlassay.run("demo", predictions={"nobody": "SELECT 1"}, out=tmp_path / "r")
    with pytest.raises(sqlassay.InputError, match="trials: 'trials' says something of a run"):
        sqlassay.Session("demo", trials=2)  # type: ignore[call-arg]
    with pytest.raises(sqlassay.InputError, match="no case 'nobody' in demo"):
        sqlassay.evaluate("demo", "nobody", "SELECT 1")
    assert not (tmp_path / "r").exists()


def test_it_works_inside_a_running_loop_and_from_threads(tmp_path, session):
    """A notebook's loop may call everything directly; eight threads share a session and get their own answers."""
    case = next(case for case in session.cases if case.gold and case.query_type == "dql")
    gold = _gold(session, case.id)

    async def notebook() -> list[str]:
        """Call what blocks from within a loop, as a cell does."""
        found = [session.judge(case.id, gold).verdict.value, sqlassay.evaluate("demo", case.id, gold).verdict.value]

        async def agent(_: sqlassay.AgentRequest) -> str:
            """Answer as an agent with a client of its own does."""
            return gold

        run = sqlassay.run("demo", agent=agent, only=[case.id], out=tmp_path / "r")
        found.append(run.results[0].verdict.value)
        found.append((await asyncio.to_thread(session.judge, case.id, gold)).verdict.value)
        return found

    assert asyncio.run(notebook()) == ["match"] * 4
    statements = [(case.id, gold if number % 2 else "SELECT 'other'") for number in range(40)]
    wanted = ["match" if number % 2 else "mismatch" for number in range(40)]
    with ThreadPoolExecutor(8) as crew:
        assert [one.verdict.value for one in crew.map(lambda pair: session.judge(*pair), statements)] == wanted
    assert [one.verdict.value for one in session.judge_all(statements, jobs=4)] == wanted
    assert threading.current_thread() is threading.main_thread()


def test_a_closed_session_says_so():
    """After its end a session judges nothing more, and ending it twice is nothing."""
    opened = sqlassay.Session("demo")
    case = opened.cases[0].id
    opened.close()
    opened.close()
    with pytest.raises(sqlassay.InputError, match="the session is closed"):
        opened.judge(case, "SELECT 1")
    assert repr(opened) == "<Session demo on sqlite: closed>"


def test_a_result_is_shown_in_a_line_and_in_a_table(demo, monkeypatch):
    """`repr` is one line, a notebook gets a table with every name escaped, and rows go to pandas as they are."""
    assert repr(demo) == f"<RunResult demo on sqlite: 11 results, {demo.verdict_line}>"
    assert max(len(repr(result)) for result in demo.results) < 400
    assert "\n" not in "".join(map(repr, demo.results))
    for shown in (demo._repr_html_(), demo.results[0]._repr_html_()):
        assert shown.startswith("<table><caption>")
    result = demo.results[0].model_copy(update={"reason": "<b>x</b>"})
    assert "&lt;b&gt;x" in result._repr_html_()
    rows = demo.rows()
    assert [row["case_id"] for row in rows] == [one.case_id for one in demo.results]
    assert {row["execution_accuracy"] for row in rows} == {0.0, 1.0}
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=lambda given: ("frame", given)))
    assert demo.to_pandas() == ("frame", rows)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(sqlassay.InputError, match="pandas is not installed"):
        demo.to_pandas()


def test_the_version_is_the_distributions():
    """`__version__` is what pip says, and every public name can be loaded."""
    from importlib.metadata import version

    assert sqlassay.__version__ == version("sqlassay")
    assert [name for name in sqlassay.__all__ if getattr(sqlassay, name, None) is None] == []
    assert dir(sqlassay) == sorted(sqlassay.__all__)
    assert (Path(sqlassay.__file__).parent / "py.typed").is_file()
