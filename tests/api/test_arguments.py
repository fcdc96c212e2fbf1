"""Wrong arguments of every public function are one InputError that names the field, before anything is judged."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import sqlassay
from sqlassay import Column, Relation, sqlas
from sqlassay.harness.agents.function import FunctionAgent

_LIST: list[Any] = []
_LIST.append(_LIST)
_DEEP: list[Any] = []
for _ in range(5000):
    _DEEP = [_DEEP]
_DICT: dict[str, Any] = {}
_DICT["a"] = _DICT
_ONE = [{"a": 1}]
_HALF = "SELECT '\ud800'"


def _relation(*rows: Any, columns: Any = None) -> Relation:
    """Return a relation made by hand, of one column where none are given."""
    return Relation((Column("a"),) if columns is None else columns, rows)


_CALLS: dict[str, tuple[str, Callable[[], Any]]] = {
    "guard-profile": ("profile", lambda: sqlassay.guard("SELECT 1", "sqlite", profile="x")),  # type: ignore[arg-type]
    "guard-profile-list": ("profile", lambda: sqlassay.guard("SELECT 1", "sqlite", profile=[])),  # type: ignore[arg-type]
    "guard-number": ("sql", lambda: sqlassay.guard(5, "sqlite")),  # type: ignore[arg-type]
    "guard-none": ("sql", lambda: sqlassay.guard(None, "sqlite")),  # type: ignore[arg-type]
    "guard-dialect": ("dialect", lambda: sqlassay.guard("SELECT 1", "nosuch")),
    "guard-dialect-list": ("dialect", lambda: sqlassay.guard("SELECT 1", [])),  # type: ignore[arg-type]
    "guard-catalog": ("catalog", lambda: sqlassay.guard("SELECT 1", "sqlite", catalog=5)),  # type: ignore[arg-type]
    "compare-endless-list": ("", lambda: sqlassay.compare([{"a": _LIST}], _ONE)),
    "compare-endless-mapping": ("", lambda: sqlassay.compare(_ONE, [{"a": _DICT}])),
    "compare-deep": ("", lambda: sqlassay.compare([{"a": _DEEP}], _ONE)),
    "compare-odd-key": ("", lambda: sqlassay.compare([{"a": {(1, 2): 3}}], _ONE)),
    "compare-set": ("", lambda: sqlassay.compare([{"a": {1}}], _ONE)),
    "compare-policy-name": ("policy", lambda: sqlassay.compare(_ONE, _ONE, "strict")),  # type: ignore[arg-type]
    "compare-policy-zero": ("policy", lambda: sqlassay.compare(_ONE, _ONE, 0)),  # type: ignore[arg-type]
    "compare-nul": ("", lambda: sqlassay.compare("a\0.csv", "b.csv")),
    "compare-width": ("rows", lambda: sqlassay.compare(_relation((1, 2)), _ONE)),
    "compare-columns": ("columns", lambda: sqlassay.compare(_relation((1,), columns=("a",)), _ONE)),
    "compare-relation-endless": ("", lambda: sqlassay.compare(_relation((_LIST,)), _relation((_LIST,)))),
    "relation-number": ("", lambda: sqlassay.relation(5)),
    "relation-half": ("", lambda: sqlassay.relation("\ud800.csv")),
    "preset": ("policy", lambda: sqlassay.preset([])),  # type: ignore[arg-type]
    "run-pack": ("pack", lambda: sqlassay.run(None)),  # type: ignore[arg-type]
    "run-agent": ("agent", lambda: sqlassay.run("demo", agent=5)),  # type: ignore[arg-type]
    "run-judge": ("judge", lambda: sqlassay.run("demo", judge=5)),  # type: ignore[arg-type]
    "run-predictions": ("predictions", lambda: sqlassay.run("demo", predictions=5)),  # type: ignore[arg-type]
    "run-predictions-nul": ("predictions", lambda: sqlassay.run("demo", predictions="a\0b")),
    "run-out-nul": ("out", lambda: sqlassay.run("demo", out="a\0b")),  # type: ignore[arg-type]
    "run-option": ("nonsense", lambda: sqlassay.run("demo", nonsense=5)),  # type: ignore[call-arg]
    "evaluate-pack": ("pack", lambda: sqlassay.evaluate(5, "demo-01", "SELECT 1")),  # type: ignore[arg-type]
    "evaluate-judge": ("judge", lambda: sqlassay.evaluate("demo", "demo-01", "SELECT 1", judge=5)),  # type: ignore[arg-type]
    "evaluate-dialect": ("dialect", lambda: sqlassay.evaluate("demo", "demo-01", "SELECT 1", dialect=5)),  # type: ignore[arg-type]
    "session-pack": ("pack", lambda: sqlassay.Session(5)),  # type: ignore[arg-type]
    "session-judge": ("judge", lambda: sqlassay.Session("demo", judge=[5])),  # type: ignore[list-item]
    "session-jobs": ("jobs", lambda: sqlassay.Session("demo", jobs=0)),
    "sqlas-statement": ("generated_sql", lambda: sqlas.evaluate("?", 5, pack="demo", weights=None)),  # type: ignore[arg-type]
}


@pytest.mark.parametrize(("field", "call"), _CALLS.values(), ids=list(_CALLS))
def test_a_wrong_argument_is_an_input_error(field: str, call: Callable[[], Any]) -> None:
    """Every public function refuses a value of the wrong kind by one error with a remedy, never by another."""
    with pytest.raises(sqlassay.InputError) as told:
        call()
    assert (told.value.field or "") == field
    assert told.value.remedy


@pytest.fixture(scope="module")
def session() -> Iterator[sqlassay.Session]:
    """One session on the demo for the module."""
    with sqlassay.Session("demo", metrics=["execution_accuracy"]) as opened:
        yield opened


_GOOD = ("demo-01", "SELECT 1")


@pytest.mark.jail
@pytest.mark.parametrize(
    ("given", "jobs", "says"),
    [
        (5, None, "statements: int is no list of pairs"),
        ("ab", None, "statements: str is no list of pairs"),
        ({"demo-01": "SELECT 1"}, None, "statements: dict is no list of pairs"),
        ([_GOOD, 5], None, "statements: statement 2 is no pair"),
        ([_GOOD, (*_GOOD, "x")], None, "statements: statement 2 is no pair"),
        ([_GOOD, ("demo-01", 5)], None, "sql: statement 2: int is no statement"),
        ([_GOOD, ("demo-01", {"sql": "SELECT 1"})], None, "sql: statement 2: dict is no statement"),
        ([_GOOD, ("demo-01", b"SELECT 1")], None, "sql: statement 2: bytes is no statement"),
        ([_GOOD, ([1], "SELECT 1")], None, "case: statement 2: list is no case"),
        ([_GOOD, ("nobody", "SELECT 1")], None, "case: statement 2: no case 'nobody' in demo"),
        ([_GOOD], 0, "jobs: "),
        ([_GOOD], -1, "jobs: "),
        ([_GOOD], "x", "jobs: "),
        ([_GOOD], 1.5, "jobs: "),
    ],
)
def test_a_wrong_batch_is_refused_before_anything_is_judged(
    session: sqlassay.Session, monkeypatch: pytest.MonkeyPatch, given: Any, jobs: Any, says: str
) -> None:
    """The error names the statement by its number from 1, and nothing of the batch was judged."""
    monkeypatch.setattr(session, "_judged", lambda *_: pytest.fail("judged"))
    with pytest.raises(sqlassay.InputError) as told:
        session.judge_all(given, jobs=jobs)
    assert str(told.value).startswith(says)


@pytest.mark.jail
def test_a_text_that_is_none_is_the_agents_error(session: sqlassay.Session, tmp_path: Any) -> None:
    """Half a character in an agent's text costs that answer alone, in a session, a batch, a run and SQLAS's shape."""
    good = session.cases[0].gold["sqlite"][0]
    found = session.judge_all([("demo-01", good), ("demo-01", _HALF), ("demo-01", good)])
    assert [one.verdict.value for one in found] == ["match", "no_prediction", "match"]
    assert "half a character" in found[1].reason
    assert session.judge("demo-01", good, answer="\udfff").verdict == "no_prediction"
    run = sqlassay.run(
        "demo", predictions={"demo-01": _HALF, "demo-02": "SELECT 1"}, only=["demo-01", "demo-02"], out=tmp_path / "r"
    )
    assert [(one.verdict.value, "half a character" in one.reason) for one in run.results] == [
        ("no_prediction", True),
        ("mismatch", False),
    ]
    assert sqlas.evaluate("?", _HALF, gold_sql=good, pack="demo").result.verdict == "no_prediction"


@pytest.mark.jail
def test_an_agent_that_exits_has_failed_at_one_case(tmp_path: Any) -> None:
    """SystemExit of a function is its error at that case, as in a child process; Ctrl-C ends the run."""

    def exits(request: sqlassay.AgentRequest) -> str:
        """Leave at the second case."""
        if request.case_id == "demo-02":
            sys.exit("enough")
        return "SELECT 1"

    run = sqlassay.run("demo", agent=exits, only=["demo-01", "demo-02"], out=tmp_path / "r")
    assert [one.verdict.value for one in run.results] == ["mismatch", "no_prediction"]
    assert "SystemExit: enough" in run.results[1].reason

    def interrupted(_: sqlassay.AgentRequest) -> str:
        """Be ended by the user."""
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        FunctionAgent(interrupted).predict(sqlassay.AgentRequest(case_id="a", question="?", dialect="sqlite"))
