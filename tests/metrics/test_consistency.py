"""Trials of one case are consistent where they gave the same rows, state or failure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from made_evidence import Maker

from sqlassay.cases.case import Case
from sqlassay.cases.outcome import Changed, Failure, TableState
from sqlassay.cases.relation import Column, Relation
from sqlassay.cases.verdicts import FailureKind, Verdict
from sqlassay.harness.metrics.consistency import CONSISTENCY, across
from sqlassay.harness.results.case_result import ScoreRecord
from sqlassay.harness.results.evidence import Evidence, Execution, Score

GOLD = "SELECT id, name FROM customers ORDER BY id"
TRIALS = [
    ([GOLD, GOLD], [100.0, 100.0], "the same text"),
    ([GOLD, "SELECT name, id FROM customers ORDER BY 2"], [100.0, 100.0], "the same columns in another order"),
    ([GOLD, "SELECT id, name FROM customers ORDER BY id DESC"], [0.0, 0.0], "another order of rows"),
    ([GOLD, "SELECT id AS i, name FROM customers ORDER BY id"], [0.0, 0.0], "another name"),
    ([GOLD, GOLD, "SELECT 1"], [50.0, 50.0, 0.0], "two of three"),
    (["SELECT nope FROM customers"] * 2, [100.0, 100.0], "the same failure"),
    (["SELECT nope FROM customers", "SELECT no FROM customers"], [0.0, 0.0], "two failures"),
    (["SELECT 1.0 AS a", "SELECT 1 AS a"], [100.0, 100.0], "one number in two types"),
    ([None, None], [100.0, 100.0], "no answer twice"),
    ([GOLD], [None], "one trial"),
]


@pytest.fixture(scope="module")
def maker() -> Iterator[Maker]:
    """One database for the module."""
    with Maker() as made:
        yield made


def scored(*trials: Evidence) -> list[float | None]:
    """Return the scores of trials of one case."""
    return [record.value for record in across([record(CONSISTENCY.compute(trial, None)) for trial in trials])]


def record(score: Score) -> ScoreRecord:
    """Return a score as it is written."""
    return ScoreRecord(value=score.value, reason=score.reason, details=dict(score.details))


@pytest.mark.parametrize(("texts", "values", "why"), TRIALS, ids=lambda value: value if isinstance(value, str) else "")
def test_trials_agree(maker: Maker, texts: list[str | None], values: list[float | None], why: str) -> None:
    """Each trial's score is the share of the others that gave its result."""
    assert scored(*(maker.make(GOLD, text) for text in texts)) == values, why


def test_a_fault_of_ours_is_no_disagreement(maker: Maker) -> None:
    """A trial that was lost has no score, and the others are compared without it."""
    right = maker.make(GOLD, GOLD)
    lost = replace(right, verdict=Verdict.INFRASTRUCTURE, reason="lost")
    assert scored(right, lost, right) == [100.0, None, 100.0]
    assert scored(right, lost) == [None, None]


def test_changes_agree_by_the_state_they_leave(maker: Maker) -> None:
    """Two changes are the same where every part of the state has the same checksum and the eval query the same rows."""
    rows = Relation((Column("n"),), ((1,),))

    def left(digest: str, answer: Relation | Failure) -> Evidence:
        """Return the evidence of a change that left a state."""
        changed = Changed((TableState("t", "table", 1, digest),), ("table t",), (answer,), 0.0)
        case = Case(id="c", question="?", snapshot="s", query_type="dml")
        return replace(maker.make(GOLD, GOLD), case=case, executions=(Execution("s", changed, changed),))

    other = Relation((Column("n"),), ((2,),))
    assert scored(left("a", rows), left("a", rows)) == [100.0, 100.0]
    assert scored(left("a", rows), left("b", rows)) == [0.0, 0.0]
    assert scored(left("a", rows), left("a", other)) == [0.0, 0.0]
    assert scored(left("a", Failure(FailureKind.ERROR, "x")), left("a", rows)) == [0.0, 0.0]
