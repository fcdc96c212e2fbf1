"""Hold what a prediction gave against every accepted gold, and keep the one that comes nearest."""

from __future__ import annotations

from collections.abc import Sequence

from cases.case import Case
from cases.outcome import Changed, Outcome, Rows
from cases.policy import Policy
from harness.change import compare_states
from harness.compare import compare, partial_credit, resolve_policy
from harness.desk import Desk
from harness.results.evidence import Execution, GoldAnswer
from harness.results.verdicts import Comparison, distance


def closest(
    case: Case, gold: Sequence[GoldAnswer], predicted: Outcome | None, policy: Policy, snapshot_id: str, desk: Desk
) -> tuple[GoldAnswer | None, Execution | None]:
    """Compare with each usable gold answer; return the one that matched, else the closest, with its execution."""
    usable = [answer for answer in gold if answer.usable]
    if not usable:
        return (gold[0] if gold else None), None
    if not isinstance(predicted, Rows | Changed):
        return usable[0], Execution(snapshot_id, outcome_of(usable[0]), predicted)
    pairs = []
    for answer in usable:
        if isinstance(predicted, Changed):
            execution = _states(case, answer, predicted, policy, snapshot_id, desk)
        else:
            execution = on_rows(answer, predicted, policy, snapshot_id, desk)
        pairs.append((answer, execution))
    best, execution = min(pairs, key=lambda pair: _nearness(pair[1]))
    if lost(gold) and execution.comparison is not None and execution.comparison.verdict != "match":
        # The alternative that we could not run might be the one that matches: nothing was decided.
        return best, Execution(snapshot_id, execution.gold, None)
    return best, execution


def _nearness(execution: Execution) -> tuple[int, float, bool, int]:
    """Order accepted golds: by the run's policy, then the one that is equal as it stands, or by most other policies.

    Where a loose policy takes any of them, the one that was meant is what the stricter metrics must look at.
    """
    strict = execution.strict is not None and execution.strict.verdict == "match"
    others = sum(other.verdict == "match" for _, other in execution.others)
    return *distance(execution.comparison, execution.partial), not strict, -others


def lost(gold: Sequence[GoldAnswer]) -> GoldAnswer | None:
    """Return the first accepted gold that could not be run by a fault of ours."""
    return next((answer for answer in gold if answer.infrastructure), None)


def outcome_of(answer: GoldAnswer) -> Outcome | None:
    """Return a gold answer as the outcome it was."""
    return answer.changed if answer.relation is None else Rows(answer.relation, answer.seconds)


def _states(
    case: Case, answer: GoldAnswer, predicted: Changed, policy: Policy, snapshot_id: str, desk: Desk
) -> Execution:
    """Compare the states two changes left under the run's policy and under `strict`."""
    if answer.changed is None:
        raise AssertionError("the gold of a change is a state")
    questions = case.eval_query.get(desk.rules.dialect, ())
    orders = tuple(desk.parse(question, case.snapshot).order for question in questions)
    judged, strict = (
        compare_states(answer.changed, predicted, chosen, orders) for chosen in (policy, desk.rules.strict)
    )
    others = tuple(
        (name, compare_states(answer.changed, predicted, other, orders)) for name, other in desk.rules.others
    )
    return Execution(snapshot_id, answer.changed, predicted, judged, strict, eval_orders=orders, others=others)


def on_rows(answer: GoldAnswer, predicted: Rows, policy: Policy, snapshot_id: str, desk: Desk) -> Execution:
    """Compare one gold answer with the predicted relation under the run's policy, `strict` and what metrics need."""
    relation = answer.relation
    if relation is None:
        raise AssertionError("only usable gold answers are compared")
    facts = answer.parsed.order
    resolved, order = resolve_policy(policy, facts=facts, gold=relation, probe=answer.probe, gold_sql=answer.sql)
    comparison = compare(relation, predicted.relation, resolved, order=order)

    def under(other: Policy) -> Comparison:
        """Compare under another policy."""
        chosen, its_order = resolve_policy(other, facts=facts, gold=relation, probe=answer.probe)
        return compare(relation, predicted.relation, chosen, order=its_order)

    partial = partial_credit(relation, predicted.relation, resolved) if comparison.verdict == "mismatch" else None
    return Execution(
        snapshot=snapshot_id,
        gold=Rows(relation, answer.seconds),
        predicted=predicted,
        comparison=comparison,
        strict=under(desk.rules.strict),
        partial=partial,
        others=tuple((name, under(other)) for name, other in desk.rules.others),
    )
