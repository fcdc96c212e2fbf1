"""Ask a case's further snapshots: gold and prediction on each, for what agrees on one database by luck alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cases.case import Case, Prediction
from cases.outcome import Failure, Outcome, Rows
from cases.policy import Policy
from cases.verdicts import FailureKind
from harness.against import on_rows, outcome_of
from harness.desk import Desk
from harness.guard import check
from harness.results.evidence import Execution, GoldAnswer

SuiteGold = tuple[str, Sequence[GoldAnswer]]
"""A further snapshot of a case with its gold answers there, in the order of those on the case's own."""

Execute = Callable[[Case, str, str, Sequence[str], Desk], tuple[Outcome | None, object]]
"""Runs a guarded statement: case, text, snapshot, flags, desk. The outcome is None by a fault of ours."""


def everywhere(
    case: Case,
    prediction: Prediction | None,
    gold: Sequence[GoldAnswer],
    suite: Sequence[SuiteGold],
    own: Execution | None,
    policy: Policy,
    desk: Desk,
    execute: Execute,
) -> tuple[Execution, ...]:
    """Return what gold and prediction gave on the case's further snapshots, then on its own.

    The further ones are asked where the prediction gave rows on the case's own: else there is no suite to pass. Of
    several accepted golds that fit on the case's own snapshot, the one that fits on most others counts, on all alike.
    """
    if own is None or prediction is None or prediction.sql is None or not suite:
        return () if own is None else (own,)
    if own.snapshot != case.snapshot or not isinstance(own.predicted, Rows):
        return (own,)
    sql, there = prediction.sql, []
    for snapshot_id, answers in suite:
        there.append((snapshot_id, answers, _elsewhere(case, sql, snapshot_id, desk, execute)))
    fitting = [number for number, answer in enumerate(gold) if _fits(answer, own, policy, desk)]
    found = [tuple(_on(*one, number, policy, desk) for one in there) for number in fitting]
    return (*max(found, key=_agreed, default=()), own)


def _fits(answer: GoldAnswer, own: Execution, policy: Policy, desk: Desk) -> bool:
    """Return whether one accepted gold agrees with the prediction on the case's own snapshot as well as the best."""
    if answer.relation is None or not isinstance(own.predicted, Rows):
        return False
    return _verdicts(on_rows(answer, own.predicted, policy, own.snapshot, desk)) == _verdicts(own)


def _verdicts(execution: Execution) -> list[str]:
    """Return how gold and prediction compare under the run's policy and every other that a metric needs."""
    found = (execution.comparison, *(other for _, other in execution.others))
    return [comparison.verdict for comparison in found if comparison is not None]


def _elsewhere(case: Case, sql: str, snapshot_id: str, desk: Desk, execute: Execute) -> Outcome | None:
    """Return what the prediction gives on another snapshot, as guarded there as anywhere; None by a fault of ours."""
    rules, catalog = desk.rules, desk.rules.image.catalog(snapshot_id)
    visible = rules.visible(snapshot_id)
    guard = check(desk.parse(sql, snapshot_id), rules.grammar, catalog, profile=case.query_type, visible=visible)
    if not guard.allowed:
        return Failure(FailureKind.ERROR, f"not run on {snapshot_id}: {guard.reason}")
    return execute(case, sql, snapshot_id, guard.flags, desk)[0]


def _on(
    snapshot_id: str, gold: Sequence[GoldAnswer], predicted: Outcome | None, number: int, policy: Policy, desk: Desk
) -> Execution:
    """Return how one accepted gold and the prediction compare on a further snapshot."""
    answer = gold[number] if number < len(gold) else None
    if answer is None or not answer.usable:
        return Execution(snapshot_id, None, predicted)
    if not isinstance(predicted, Rows):
        return Execution(snapshot_id, outcome_of(answer), predicted)
    return on_rows(answer, predicted, policy, snapshot_id, desk)


def _agreed(executions: Sequence[Execution]) -> int:
    """Return on how many snapshots gold and prediction agree, under the run's policy and every other."""
    return sum(
        comparison.verdict == "match"
        for one in executions
        for comparison in (one.comparison, *(other for _, other in one.others))
        if comparison is not None
    )
