"""`sqlassay stef` scores a file line by line, with or without a judge, and names what it cannot read."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from sqlassay.cases.errors import InputError
from sqlassay.harness.cli.stef_command import command
from sqlassay.harness.metrics.registry import metrics, profile

_WHOLE = {
    "id": "a",
    "question": "Total spend of 2023 by country",
    "enriched_question": "Sum of spend per country where year is 2023",
    "sql": "SELECT country, SUM(spend) AS s FROM t WHERE year = 2023 AND tenant = 4 GROUP BY country ORDER BY s DESC",
    "spec": {"outputs": ["country", "total spend"], "filters": ["year = 2023"], "group_by": ["country"]},
    "verdict": "Correct",
    "confidence": 0.9,
    "agent": "A",
    "trace": "a log's own key",
}
_JUDGE = '''
def judge(prompt):
    """Answer by the schema asked for."""
    if "question" in prompt and "top_k" in prompt:
        return '{"outputs": ["name"]}'
    if "dropped" in prompt:
        return '{"added": ["active"]}'
    return '{"verdict": "Likely Correct", "confidence": 0.7}'
'''


def _run(tmp_path: Path, lines: list[str], *options: str) -> Result:
    """Run the command on a file of these lines."""
    file = tmp_path / "rows.jsonl"
    file.write_text("\n".join(lines), encoding="utf-8")
    return CliRunner().invoke(command, [*options, str(file)], standalone_mode=False)


def test_every_line_gives_its_signals_and_the_summary_the_figures(tmp_path: Path) -> None:
    """Rules apply, the summary breaks down, and standard error says how it ended."""
    rules = tmp_path / "rules.json"
    rules.write_text('{"profiles": {"app": {"ignore_filters": ["tenant"]}}}', encoding="utf-8")
    out = tmp_path / "summary.json"
    done = _run(tmp_path, [json.dumps(_WHOLE), ""], "--rules", str(rules), "--profile", "app", "--summary", str(out))
    assert (done.exit_code, done.return_value) == (0, 0)
    (found,) = [json.loads(line) for line in done.stdout.splitlines()]
    assert (found["id"], found["agent"], found["phi"], found["tier"]) == ("a", "A", 100.0, "Excellent")
    assert (found["filters"]["ignored"], found["signals"]["order"]) == (["tenant = '4'"], "sensible_default")
    assert "OK: 1 of 1 lines scored, mean 100.0, P90 100, coverage 100.0% (exit 0)" in done.stderr
    summary = json.loads(out.read_text(encoding="utf-8"))
    assert (summary["mean"], summary["p90"], summary["coverage"], summary["by"]["agent"]["A"]["mean"]) == (
        100.0,
        100.0,
        1.0,
        100.0,
    )


def test_a_judge_is_asked_and_its_answers_replay(tmp_path: Path) -> None:
    """What a line does not give comes from the judge; a recording gives the same lines without it."""
    code = tmp_path / "judge.py"
    code.write_text(_JUDGE, encoding="utf-8")
    tape = tmp_path / "tape.jsonl"
    line = json.dumps({"id": 1, "question": "names", "enriched_question": "active names", "sql": "SELECT name FROM t"})
    asked = _run(tmp_path, [line], "--judge", f"callable:{code}:judge", "--judge-record", str(tape))
    assert asked.return_value == 0
    found = json.loads(asked.stdout)
    assert (found["phi"], found["reliability"], found["drift"]["added"]) == (64.0, "moderate", ["active"])
    assert _run(tmp_path, [line], "--judge", f"replay:{tape}").stdout == asked.stdout


def test_malformed_lines_are_named_and_lower_the_coverage(tmp_path: Path) -> None:
    """The others are scored all the same, and the exit code is 2."""
    done = _run(tmp_path, [json.dumps(_WHOLE), "{", '{"id": 3, "question": "q"}'])
    assert done.return_value == 2
    assert len(done.stdout.splitlines()) == 1
    assert "rows.jsonl:2: the line is not JSON" in done.stderr
    assert "rows.jsonl:3:sql: Field required" in done.stderr
    assert "INPUT: 2 malformed, 1 of 3 lines scored, mean 90.0, P90 90, coverage 33.3% (exit 2)" in done.stderr


def test_nothing_scorable_is_exit_5(tmp_path: Path) -> None:
    """Without any verdict, or any line, there is no number."""
    bare = {name: value for name, value in _WHOLE.items() if name not in {"verdict", "confidence"}}
    done = _run(tmp_path, [json.dumps(bare)])
    assert done.return_value == 5
    assert json.loads(done.stdout)["phi"] is None
    assert _run(tmp_path, []).return_value == 5


def test_a_query_the_dialect_cannot_read_has_no_score(tmp_path: Path) -> None:
    """The reason says so; the parser's own limits are not the agent's fault."""
    done = _run(tmp_path, [json.dumps(_WHOLE | {"sql": "SELECT FROM ("})])
    assert json.loads(done.stdout)["reason"].startswith("the query cannot be read: syntax error")


def test_a_warehouse_without_an_adapter_has_its_grammar(tmp_path: Path) -> None:
    """No engine is needed, so any grammar of the parser will do; an unknown one is refused."""
    sql = "SELECT country, SUM(spend) FROM t WHERE year = 2023 GROUP BY ALL QUALIFY ROW_NUMBER() OVER (ORDER BY 1) < 9"
    done = _run(tmp_path, [json.dumps(_WHOLE | {"sql": sql})], "--grammar", "snowflake")
    assert json.loads(done.stdout)["filter_status"] == "fully_applied_with_extras"
    square = _WHOLE | {"sql": "SELECT TOP 5 [country] FROM [t] WHERE [year] = 2023"}
    found = json.loads(_run(tmp_path, [json.dumps(square)], "--grammar", "tsql").stdout)
    assert (found["filter_status"], found["sql_spec"]["limit"]) == ("fully_applied", 5)
    with pytest.raises(InputError, match="no grammar 'cobol'"):
        raise _fault(_run(tmp_path, [json.dumps(_WHOLE)], "--grammar", "cobol"))
    with pytest.raises(click.UsageError, match="not both"):
        raise _fault(_run(tmp_path, [json.dumps(_WHOLE)], "--grammar", "tsql", "--dialect", "mysql"))


def test_an_unknown_profile_or_file_is_refused_before_anything(tmp_path: Path) -> None:
    """The remedy names what there is."""
    with pytest.raises(InputError, match="unknown rule profile 'x'"):
        raise _fault(_run(tmp_path, [json.dumps(_WHOLE)], "--profile", "x"))
    with pytest.raises(InputError, match="cannot be read"):
        raise _fault(CliRunner().invoke(command, [str(tmp_path / "absent")], standalone_mode=False))


def _fault(done: Result) -> BaseException:
    """Return what a command ended with."""
    assert done.exception is not None
    return done.exception


def test_stef_is_a_metric_and_a_profile() -> None:
    """Both are found by name, registered as a stranger's are."""
    assert profile("stef") == ("stef",)
    assert [(metric.name, metric.needs) for metric in metrics(("stef",))] == [("stef", frozenset({"judge"}))]
