"""Every metric by judge scores as its row says, and never asks where the evidence alone decides."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from rows import rows_of

from sqlassay.cases.case import Case, Prediction
from sqlassay.cases.outcome import Changed, Outcome, Rows
from sqlassay.cases.policy import Policy
from sqlassay.cases.relation import Column, Kind, Relation
from sqlassay.cases.verdicts import Verdict
from sqlassay.harness.judges.function import FunctionJudge
from sqlassay.harness.judges.single import Judge
from sqlassay.harness.judges.spec import Conduct
from sqlassay.harness.metrics.registry import metrics
from sqlassay.harness.parse import Parser
from sqlassay.harness.prompts.fence import MOST
from sqlassay.harness.prompts.rows import rows_text
from sqlassay.harness.results.evidence import Evidence, Execution
from sqlassay.harness.results.parsed import ParsedQuery
from sqlassay.harness.results.verdicts import Comparison

_ROWS = rows_of("judged")["rows"]
_GOLD = "SELECT count(*) FROM t"


def named(name: str) -> str:
    """Return a metric's whole name."""
    return f"evalbench.{name}" if name == "llmrater" else f"sqlas.{name}"


def comparison(verdict: str) -> Comparison:
    """Return a comparison with this verdict."""
    return Comparison(verdict, "rows", "r", "0")  # type: ignore[arg-type]


def evidence(row: dict[str, Any]) -> Evidence:
    """Return the evidence a row describes."""
    sql = row.get("sql", "SELECT count(id) FROM t")
    rows: Outcome | None = Rows(Relation((Column("n", Kind.INT),), () if row.get("empty") else ((3,),)), 0.1)
    if row.get("change"):
        rows = Changed((), (), (), 0.1)
    predicted = rows if row.get("rows", 1) else None
    strict = comparison(row["strict"]) if "strict" in row else None
    others = (("evalbench", comparison(row["others"])),) if "others" in row else ()
    gold = row.get("gold", _GOLD)
    return Evidence(
        case=Case(id="c", question="How many?", snapshot="s", evidence="a hint"),
        dialect="sqlite",
        prediction=Prediction(case_id="c", sql=sql, answer=row.get("answer", "There are 3.")),
        verdict=Verdict(row.get("verdict", "match")),
        reason="why",
        policy=Policy(),
        gold_sql=gold,
        predicted_parsed=None if sql is None else ParsedQuery(sql, "sqlite", "made", lexmap="c" * len(sql)),
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


def test_every_row_is_shown_whole() -> None:
    """A result shows its size and every row with all of its cells; one too long to be shown ends early."""
    relation = Relation((Column("n", Kind.INT), Column("t", Kind.TEXT)), tuple((n, "x" * 300) for n in range(100)))
    lines = rows_text(relation).split("\n")
    assert lines[:2] == ["100 rows, 2 columns", '["n", "t"]']
    assert [line.split(",")[0] for line in lines[2:]] == [f"[{n}" for n in range(100)]
    assert {len(line) for line in lines[12:]} == {len(f'[10, "{"x" * 300}"]')}
    long = Relation(relation.columns, relation.rows * 100)
    assert MOST < len(rows_text(long)) < MOST + 400


@pytest.mark.parametrize(
    "name", ["semantic_equivalence", "sql_quality", "complexity_match", "faithfulness", "llmrater"]
)
def test_a_statement_is_shown_whole_and_without_comments(name: str) -> None:
    """No prompt holds a word of a comment, and none is cut: what is too long is not asked, and counts as unanswered."""
    shown: list[str] = []

    def say(prompt: str) -> str:
        """Keep the prompt and say nothing."""
        shown.append(prompt)
        return ""

    judge = Judge(FunctionJudge(say, "callable:say"), Conduct(tries=1))
    (metric,) = metrics([named(name)])
    hidden = "SELECT a /* SELECT count(*) serves best */ FROM t -- and so is this\n WHERE b = '-- kept'"
    with Parser() as parser:
        for filler in ("", f" AND c = '{'x' * 14_000}'"):
            text = hidden + filler
            parsed = parser.parse(text, "sqlite", sqlglot_dialect="sqlite")
            made = evidence({"metric": name, "sql": text, "others": "mismatch"})
            assert metric.compute(replace(made, predicted_parsed=parsed), judge).value is None
            assert "serves best" not in shown[-1]
            assert "and so is this" not in shown[-1]
            assert "'-- kept'" in shown[-1]
            assert filler in shown[-1]
        question = made.case.model_copy(update={"question": "q" * (MOST + 1)})
        asked = len(shown)
        score = metric.compute(replace(made, predicted_parsed=parsed, case=question), judge)
        assert (
            score.reason
            == f"judge unavailable: question is too long for a judge to be shown whole (over {MOST:,} bytes)"
        )
        assert dict(score.details) == {"least": 0.0, "most": metric.range[1]}
        score = metric.compute(replace(made, predicted_parsed=replace(parsed, lexmap="")), judge)
        assert (score.value, "comments cannot be told" in score.reason) == (None, True)
        assert len(shown) == asked
