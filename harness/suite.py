"""Ask a case's further snapshots: gold and prediction on each, for what agrees on one database by luck alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlassay.cases.case import Case, Prediction
from sqlassay.cases.outcome import Failure, Outcome, Rows
from sqlassay.cases.policy import Policy
from sqlassay.cases.verdicts import FailureKind
from sqlassay.harness.against import against, outcome_of
from sqlassay.harness.desk import Desk
from sqlassay.harness.guard import check
from sqlassay.harness.results.evidence import Execution, GoldAnswer
from sqlassay.harness.results.parsed import ParsedQuery
from sqlassay.harness.results.verdicts import Comparison

SuiteGold = tuple[str, Sequence[GoldAnswer]]
"""A further snapshot of a case with its gold answers there, in the order of those on the case's own."""

Execute = Callable[[Case, str, ParsedQuery | None, str, Sequence[str], Desk], tuple[Outcome | None, object]]
"""Runs a guarded statement: case, text, its facts, snapshot, flags, desk. The outcome is None by a fault of ours."""


def everywhere(
    case: Case,
    prediction: Prediction | None,
    gold: Sequence[GoldAnswer],
    suite: Sequence[SuiteGold],
    own: Execution | None,
    policy: Policy,
    desk: Desk,
    execute: Execute,
    wrote: ParsedQuery | None = None,
) -> tuple[Execution, ...]:
    """Return what gold and prediction gave on the case's further snapshots, then on its own.

    The further ones are asked where the prediction gave rows on the case's own: else there is no suite to pass. Of
    several accepted golds that fit on the case's own snapshot, the one that fits on most others counts, on all alike;
    which one that is, each policy says for itself.
    """
    if own is None or prediction is None or prediction.sql is None or not suite:
        return () if own is None else (own,)
    if own.snapshot != case.snapshot or not isinstance(own.predicted, Rows):
        return (own,)
    sql, predicted = prediction.sql, own.predicted
    there = [(name, answers, _elsewhere(case, sql, name, desk, execute)) for name, answers in suite]
    found = {
        number: (
            against(case, answer, predicted, policy, own.snapshot, desk, wrote),
            tuple(_on(case, *one, number, policy, desk, wrote) for one in there),
        )
        for number, answer in enumerate(gold)
        if answer.relation is not None
    }
    names = [name for name, _ in own.others]
    chosen = {name: _chosen(found, own, name) for name in (None, "strict", *names)}
    return (*(_composed(place, found, chosen) for place in range(len(there))), own)


def _under(execution: Execution, name: str | None) -> Comparison | None:
    """Return the comparison under one policy: None names the run's own."""
    if name is None:
        return execution.comparison
    return execution.strict if name == "strict" else dict(execution.others).get(name)


def _chosen(found: dict[int, tuple[Execution, tuple[Execution, ...]]], own: Execution, name: str | None) -> int:
    """Return the accepted gold that counts under one policy: of those that fit best here, the one that fits on most."""
    wanted = _under(own, name)

    def rank(number: int) -> tuple[bool, int]:
        """Order golds: as good as the best on the case's own snapshot, then by how many further ones agree."""
        here, elsewhere = found[number]
        ours = _under(here, name)
        fits = ours is not None and wanted is not None and ours.verdict == wanted.verdict
        agreed = sum(one is not None and one.verdict == "match" for one in (_under(each, name) for each in elsewhere))
        return fits, agreed

    return max(found, key=rank)


def _composed(
    place: int, found: dict[int, tuple[Execution, tuple[Execution, ...]]], chosen: dict[str | None, int]
) -> Execution:
    """Return what is known of one further snapshot: under each policy the gold that counts under it."""
    base = found[chosen[None]][1][place]
    under = {name: _under(found[number][1][place], name) for name, number in chosen.items()}
    others = tuple((name, one) for name, one in under.items() if name not in (None, "strict") and one is not None)
    return replace(base, strict=under["strict"], others=tuple((str(name), one) for name, one in others))


def _elsewhere(case: Case, sql: str, snapshot_id: str, desk: Desk, execute: Execute) -> Outcome | None:
    """Return what the prediction gives on another snapshot, as guarded there as anywhere; None by a fault of ours."""
    rules, catalog = desk.rules, desk.rules.image.catalog(snapshot_id)
    visible = rules.visible(snapshot_id)
    parsed = desk.parse(sql, snapshot_id)
    guard = check(parsed, rules.grammar, catalog, profile=case.query_type, visible=visible)
    if not guard.allowed:
        return Failure(FailureKind.ERROR, f"not run on {snapshot_id}: {guard.reason}")
    return execute(case, sql, parsed, snapshot_id, guard.flags, desk)[0]


def _on(
    case: Case,
    snapshot_id: str,
    gold: Sequence[GoldAnswer],
    predicted: Outcome | None,
    number: int,
    policy: Policy,
    desk: Desk,
    wrote: ParsedQuery | None,
) -> Execution:
    """Return how one accepted gold and the prediction compare on a further snapshot."""
    answer = gold[number] if number < len(gold) else None
    if answer is None or not answer.usable:
        return Execution(snapshot_id, None, predicted)
    if not isinstance(predicted, Rows):
        return Execution(snapshot_id, outcome_of(answer), predicted)
    return against(case, answer, predicted, policy, snapshot_id, desk, wrote)
