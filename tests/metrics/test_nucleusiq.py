"""NucleusIQ's evaluators give what the rows of the table say: whole numbers, tools in any order, safety as a gate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from made_evidence import Maker
from rows import rows_of

from sqlassay.cases.errors import InputError
from sqlassay.cases.outcome import Rows
from sqlassay.cases.relation import Column, Relation
from sqlassay.cases.verdicts import Verdict
from sqlassay.harness.judges.function import FunctionJudge
from sqlassay.harness.judges.single import Judge
from sqlassay.harness.judges.spec import Conduct
from sqlassay.harness.metrics import nucleusiq
from sqlassay.harness.metrics.number_words import numbers_in
from sqlassay.harness.metrics.registry import PROFILES, check_options, metrics
from sqlassay.harness.results.evidence import Evidence, Execution, MetricSettings

_TABLE = rows_of("nucleusiq")


@pytest.fixture(scope="module")
def maker() -> Iterator[Maker]:
    """One database for the module."""
    with Maker() as made:
        yield made


def _evidence(maker: Maker, row: dict[str, Any]) -> Evidence:
    """Return the evidence a row describes."""
    sql = row.get("sql", "SELECT COUNT(*) FROM customers")
    made = maker.make("SELECT 1", sql, answer=row.get("answer", "There are eight."), options=row.get("options"))
    assert made.prediction is not None
    told = {"autonomous": row["autonomous"]} if "autonomous" in row else {}
    prediction = made.prediction.model_copy(update={"steps": tuple(row.get("steps", ())), "metadata": told})
    case = made.case.model_copy(update={"expected_tools": tuple(row.get("expected", ()))})
    return replace(made, prediction=prediction, case=case, verdict=Verdict(row.get("verdict", made.verdict)))


@pytest.mark.parametrize("row", _TABLE["numbers"], ids=lambda row: row["text"])
def test_numbers_of_a_sentence(row: dict[str, Any]) -> None:
    """Digits and words are read as whole numbers, in the order digits then words."""
    assert [f"{said.value.normalize():f}" for said in numbers_in(row["text"])] == row["is"]


def _answered(maker: Maker, row: dict[str, Any]) -> Evidence:
    """Return the evidence of an answer in words to a gold of these rows."""
    gold = Relation((Column("a"),), tuple(map(tuple, row["gold"])))
    return replace(_evidence(maker, row), executions=(Execution("s", Rows(gold, 0.0), None),))


@pytest.mark.parametrize("row", _TABLE["answers"], ids=lambda row: row["why"])
def test_an_answer_names_the_gold(maker: Maker, row: dict[str, Any]) -> None:
    """The answer is right where it names every cell, each as a whole."""
    score = nucleusiq.CORRECT_ANSWER.compute(_answered(maker, row), None)
    assert score.value == row["value"], score.reason
    assert row.get("says", "") in score.reason


@pytest.mark.parametrize(
    "said",
    [
        *("on 2024-03-01", "on March 1, 2024", "on 1 march 2024", "on the 1st of March 2024", "Mar 1st, 2024."),
        *("01.03.2024", "since 01-Mar-2024", "2024/03/01"),
    ],
)
def test_a_day_is_named_as_people_do(maker: Maker, said: str) -> None:
    """A day, kept as a date or as text, is found in ISO form and in the usual spellings; another day is not."""
    score = nucleusiq.CORRECT_ANSWER.compute
    for cell in (date(2024, 3, 1), "2024-03-01", "2024-03-01 00:00:00"):
        assert score(_answered(maker, {"gold": [[cell]], "answer": said}), None).value == 1.0
    for cell in (date(2024, 3, 11), date(2024, 1, 3), "2024-03-11", "2023-03-01"):
        assert score(_answered(maker, {"gold": [[cell]], "answer": said}), None).value == 0.0


@pytest.mark.parametrize("row", _TABLE["rows"], ids=lambda row: f"{row['metric']} {row.get('says', row['value'])}")
def test_rows(maker: Maker, row: dict[str, Any]) -> None:
    """Value, reason and flag are the row's; a judge without words in the row is never asked."""
    (metric,) = metrics([f"nucleusiq.{row['metric']}"])
    asked: list[str] = []

    def say(prompt: str) -> str:
        """Say the row's words."""
        asked.append(prompt)
        return str(row["judge"])

    judge = Judge(FunctionJudge(say, "callable:say"), Conduct(tries=1)) if "judge" in row else None
    score = metric.compute(_evidence(maker, row), judge)
    assert score.value == (None if row["value"] is None else pytest.approx(row["value"])), score.reason
    assert row.get("says", "") in score.reason
    assert bool(asked) is bool(row.get("judge"))
    if "flagged" in row:
        assert dict(score.details)["flagged"] == row["flagged"]


def test_a_trajectory_is_told(maker: Maker) -> None:
    """The tools stand in a part of the score in the order they were called."""
    steps = [{"tool": "sql_schema"}, {"tool_name": "sql_query"}]
    score = nucleusiq.USED_SQL_TOOLS.compute(_evidence(maker, {"steps": steps}), None)
    assert dict(score.details)["trajectory"] == "sql_schema → sql_query"


def test_the_weights_sum_to_one_and_lengths_are_numbers() -> None:
    """The composite's weights are the document's, and a least length that is none is refused."""
    assert sum(nucleusiq.WEIGHTS.values()) == pytest.approx(1.0)
    chosen = metrics(PROFILES["nucleusiq"])
    assert len(chosen) == 8
    with pytest.raises(InputError, match="min_length"):
        check_options(chosen, MetricSettings(options=(("nucleusiq.substantive_answer.min_length", "long"),)))
