"""SQLAS's way in, run for real: one query with and without gold, and a suite with an agent and a judge."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sqlassay.harness import sqlas

pytestmark = pytest.mark.jail


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file of the user's own."""
    file = tmp_path_factory.mktemp("sqlas") / "shop.db"
    with closing(sqlite3.connect(file)) as db:
        db.executescript(
            "CREATE TABLE users (id INTEGER, name TEXT, email TEXT, active INTEGER);"
            "INSERT INTO users VALUES (1, 'Ann', 'ann@a.org', 1), (2, 'Bob', 'bob@b.org', 0);"
        )
    return file


def test_one_query_with_gold(database: Path) -> None:
    """Every metric that needs no judge has a value, and the weight of the others is redistributed and listed."""
    sql = "SELECT COUNT(*) FROM users WHERE active = 1"
    scores = sqlas.evaluate("How many?", sql, gold_sql=[sql, "SELECT 1"], db_path=database, weights=sqlas.WEIGHTS_V2)
    assert scores.sqlassay_verdict == "match"
    judges = {"semantic_equivalence", "sql_quality", "complexity_match"}
    judges |= {"faithfulness", "answer_relevance", "answer_completeness", "fluency"}
    assert {name for name in scores.unavailable if name != "efficiency_score"} == judges
    assert scores.overall_score is not None
    present = {name: value for name, value in scores.values().items() if value is not None}
    weight = sum(sqlas.WEIGHTS_V2[name] for name in present)
    assert scores.measured_weight == pytest.approx(weight)
    assert scores.overall_score == pytest.approx(
        sum(sqlas.WEIGHTS_V2[name] * value for name, value in present.items()) / weight
    )


def test_statements_without_gold(database: Path) -> None:
    """Without gold a statement is run or refused all the same; the file it was asked of never changes."""
    before = database.read_bytes()
    tests = [sqlas.TestCase(text, category=text) for text in ("ran", "empty", "quiet", "wrong", "unsafe", "none")]
    tests[2] = sqlas.TestCase("quiet", expected_nonempty=False)
    said = {
        "ran": "SELECT email FROM users",
        "empty": "SELECT name FROM users WHERE id = 9",
        "quiet": "SELECT name FROM users WHERE id = 9",
        "wrong": "SELECT nothing FROM users",
        "unsafe": "DELETE FROM users",
        "none": None,
    }
    found = sqlas.run_suite(tests, lambda question: said[question], db_path=database, pii_columns=["email"])
    by_name = dict(zip(said, found["details"], strict=True))
    assert [scores.sqlassay_verdict for scores in by_name.values()] == ["unavailable"] * 6
    assert [scores.execution_success for scores in by_name.values()] == [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]
    assert [scores.empty_result_penalty for scores in by_name.values()] == [1.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    assert [scores.read_only_compliance for scores in by_name.values()] == [1.0, 1.0, 1.0, 1.0, 0.0, None]
    assert by_name["ran"].safety_score == pytest.approx(0.96)
    assert all("execution_accuracy" in scores.unavailable for scores in by_name.values())
    assert database.read_bytes() == before


def test_a_suite_with_an_agent_and_a_judge(database: Path, tmp_path: Path) -> None:
    """Each question reaches agent and judge, an agent that raises has failed, and the summary has SQLAS's names."""
    asked: list[str] = []

    def agent(question: str) -> dict[str, Any]:
        """Answer one question, and fail at the other."""
        asked.append(question)
        if question == "boom":
            raise RuntimeError("no key")
        return {"sql": "SELECT name FROM users", "response": "Ann and Bob.", "data": {"rows": [["Ann"], ["Bob"]]}}

    def judge(prompt: str) -> str:
        """Answer whatever is asked for."""
        if "supported" in prompt:
            return '{"claims": 2, "supported": 2, "reason": "both are there"}'
        if "aggregation" in prompt.rpartition("The schema")[2].partition("\n")[0]:
            return '{"joins": 1, "aggregation": 1, "filters": 1, "reason": "plain"}'
        return '{"score": 0.8, "reason": "good"}'

    tests = [
        sqlas.TestCase("Who?", gold_sql="SELECT name FROM users ORDER BY id", category="easy"),
        sqlas.TestCase("boom", gold_sql="SELECT 1", category="hard"),
    ]
    found = sqlas.run_suite(tests, agent, judge, database, pass_threshold=0.8, out=tmp_path / "run")
    assert asked == ["Who?", "boom"]
    summary, (first, second) = found["summary"], found["details"]
    assert (summary["total_tests"], summary["pass_rate"], summary["bands"]) == (2, 0.5, {"PASS": 1, "FAIL": 1})
    assert list(summary["by_category"]) == ["easy", "hard"]
    assert (first.semantic_equivalence, first.faithfulness, first.sql_quality) == (0.8, 1.0, 1.0)
    assert summary["measured"]["fluency"] == 1
    assert second.result is not None
    assert "RuntimeError: no key" in second.result.reason
    assert second.sqlassay_verdict == "no_prediction"
    assert (tmp_path / "run" / "summary.md").is_file()


def test_a_named_agent_runs_in_a_child(database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`module:function` is called in another process, and may answer in SQLAS's words."""
    (tmp_path / "my_agent.py").write_text(
        "import os\n"
        "def answer(request):\n"
        "    return {'sql': f'SELECT {os.getpid()} AS n', 'response': request.question}\n",
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    found = sqlas.run_suite([sqlas.TestCase("Who?")], "my_agent.py:answer", db_path=database)
    result = found["details"][0].result
    assert result is not None
    assert result.predicted_sql is not None
    assert result.predicted_sql.startswith("SELECT ")
    assert str(os.getpid()) not in result.predicted_sql
    assert result.answer == "Who?"
