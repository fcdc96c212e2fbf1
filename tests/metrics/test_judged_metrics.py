"""Every metric by judge scores as its row says, and never asks where the evidence alone decides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from cases.case import Case, Prediction
from cases.outcome import Changed, Outcome, Rows
from cases.policy import Policy
from cases.relation import Column, Kind, Relation
from cases.verdicts import Verdict
from harness.judges.function import FunctionJudge
from harness.judges.single import Judge
from harness.judges.spec import Conduct
from harness.metrics.registry import metrics
from harness.prompts.rows import rows_text
from harness.results.evidence import Evidence, Execution
from harness.results.verdicts import Comparison

_ROWS = yaml.safe_load((Path(__file__).parents[1] / "tables" / "judged.yaml").read_text(encoding="utf-8"))["rows"]
_GOLD = "SELECT count(*) FROM t"


def named(name: str) -> str:
    """Return a metric's whole name."""
    return f"evalbench.{name}" if name == "llmrater" else f"sqlas.{name}"


def comparison(verdict: str) -> Comparison:
    """Return a comparison with this verdict."""
    return Comparison(verdict, "rows", "r", "0")  # type: ignore[arg-type]


def evidence(row: dict[str, Any]) -> Evidence:
    """Return the evidence a row describes."""
    rows: Outcome | None = Rows(Relation((Column("n", Kind.INT),), ((3,),)), 0.1)
    if row.get("change"):
        rows = Changed((), (), (), 0.1)
    predicted = rows if row.get("rows", 1) else None
    strict = comparison(row["strict"]) if "strict" in row else None
    others = (("evalbench", comparison(row["others"])),) if "others" in row else ()
    gold = row.get("gold", _GOLD)
    return Evidence(
        case=Case(id="c", question="How many?", snapshot="s", evidence="a hint"),
        dialect="sqlite",
        prediction=Prediction(
            case_id="c", sql=row.get("sql", "SELECT count(id) FROM t"), answer=row.get("answer", "There are 3.")
        ),
        verdict=Verdict(row.get("verdict", "match")),
        reason="why",
        policy=Policy(),
        gold_sql=gold,
        executions=(Execution("s", rows, predicted, strict=strict, others=others),),
    )


@pytest.mark.parametrize("row", _ROWS, ids=lambda row: f"{row['metric']} {row.get('says', row.get('reason', ''))}"[:80])
def test_every_row_has_its_score(row: dict[str, Any]) -> None:
    """Value and reason are the row's; a judge without words in the row is never asked."""
    prompts: list[str] = []

    def say(prompt: str) -> str:
        """Say the row's words."""
        prompts.append(prompt)
        return str(row["says"])

    judge = None if row.get("judge") == "none" else Judge(FunctionJudge(say, "callable:say"), Conduct(tries=1))
    (metric,) = metrics([named(row["metric"])])
    score = metric.compute(evidence(row), judge)
    assert score.value == row["value"]
    assert row.get("reason", "") in score.reason
    assert len(prompts) == ("says" in row)
    if prompts:
        assert row.get("prompt", "") in prompts[0]
        assert (_GOLD in prompts[0]) == (
            row["metric"] in ("semantic_equivalence", "llmrater")
            and row.get("verdict") != "unavailable"
            and row.get("gold", _GOLD) is not None
        )
    if score.value is not None and prompts:
        assert dict(score.details)["judge"] == "callable:say"


@pytest.mark.parametrize("name", sorted({row["metric"] for row in _ROWS}))
def test_every_metric_says_that_it_needs_a_judge(name: str) -> None:
    """What a metric may ask is declared, and its prompt's slots are all filled."""
    (metric,) = metrics([named(name)])
    assert "judge" in metric.needs
    assert metric.range == ((0.0, 100.0) if name == "llmrater" else (0.0, 1.0))


def test_many_rows_are_shown_by_their_ends() -> None:
    """A long result shows its size, first and last rows, and how many lie between; a long cell is cut with a count."""
    relation = Relation((Column("n", Kind.INT), Column("t", Kind.TEXT)), tuple((n, "x" * 300) for n in range(1000)))
    lines = rows_text(relation).split("\n")
    assert lines[0] == "1000 rows, 2 columns"
    assert lines[1] == '["n", "t"]'
    assert lines[2].startswith("[0, ")
    assert lines[-1].startswith("[999, ")
    assert "[950 rows left out here]" in lines
    assert "(102 characters left out)" in lines[2]
    assert len(lines) == 53
