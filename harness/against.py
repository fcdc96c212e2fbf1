"""Hold what a prediction gave against every accepted gold, and keep the one that comes nearest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlassay.cases.case import Case
from sqlassay.cases.outcome import Changed, Outcome, Rows
from sqlassay.cases.policy import Policy
from sqlassay.cases.presets import case_policy
from sqlassay.harness.change import compare_states
from sqlassay.harness.desk import Desk
from sqlassay.harness.results.evidence import Execution, GoldAnswer
from sqlassay.harness.results.parsed import ParsedQuery
from sqlassay.harness.results.verdicts import GOLD_LOST, Comparison, distance
from sqlassay.harness.verdict import GoldRows, credited, judge_rows


def closest(
    case: Case,
    gold: Sequence[GoldAnswer],
    predicted: Outcome | None,
    policy: Policy,
    snapshot_id: str,
    desk: Desk,
    wrote: ParsedQuery | None = None,
) -> tuple[GoldAnswer | None, Execution | None]:
    """Compare with each usable gold answer; return the one that matched, else the closest, with its execution.

    Under every other policy that is asked for, the accepted gold that is the kindest by that policy counts, as it
    would in a run under that policy. `wrote` are the facts of the predicted statement.
    """
    usable = [answer for answer in gold if answer.usable]
    if not usable:
        return (gold[0] if gold else None), None
    if not isinstance(predicted, Rows | Changed):
        return usable[0], Execution(snapshot_id, outcome_of(usable[0]), predicted)
    found = [against(case, answer, predicted, policy, snapshot_id, desk, wrote) for answer in usable]
    best, execution = min(zip(usable, found, strict=True), key=lambda pair: _nearness(pair[1]))
    gone = lost(gold)
    if gone is not None and execution.comparison is not None and execution.comparison.verdict != "match":
        # The alternative that we could not run might be the one that matches: nothing was decided.
        return best, Execution(snapshot_id, execution.gold, None)
    return best, _kindest(execution, found, gone)


def against(
    case: Case,
    answer: GoldAnswer,
    predicted: Rows | Changed,
    policy: Policy,
    snapshot_id: str,
    desk: Desk,
    wrote: ParsedQuery | None = None,
) -> Execution:
    """Compare one usable gold answer with what was predicted, under the run's policy, `strict` and what metrics need.

    What the case itself says of order and columns is laid over each but `strict`, which knows no leniency.
    """
    strict = desk.rules.strict
    others = tuple((name, case_policy(other, case)) for name, other in desk.rules.others)
    if isinstance(predicted, Changed):
        return _states(case, answer, predicted, (policy, strict, others), snapshot_id, desk)
    gold = GoldRows.of(answer)
    idle = frozenset() if wrote is None else wrote.constants(len(predicted.relation.columns))
    told = frozenset() if wrote is None else wrote.repeated(predicted.relation)
    comparison, partial = credited(gold, predicted.relation, policy, constants=idle, literals=told)
    return Execution(
        snapshot=snapshot_id,
        gold=Rows(gold.relation, answer.seconds),
        predicted=predicted,
        comparison=comparison,
        strict=judge_rows(gold, predicted.relation, strict, constants=idle, literals=told),
        partial=partial,
        others=tuple(
            (name, judge_rows(gold, predicted.relation, other, constants=idle, literals=told)) for name, other in others
        ),
    )


def _kindest(chosen: Execution, found: Sequence[Execution], gone: GoldAnswer | None) -> Execution:
    """Return the chosen execution with the best comparison under each other policy, its own where none is better."""
    every = [chosen, *found]

    def best(comparisons: Sequence[Comparison | None]) -> Comparison | None:
        """Return the kindest; where an accepted gold is lost, one that is no match decides nothing."""
        one = min(comparisons, key=lambda each: distance(each, None)[0])
        if one is None or gone is None or one.verdict == "match":
            return one
        reason = f"an accepted gold could not be run: {gone.failure}"
        return Comparison("undecided", GOLD_LOST, reason, one.policy_digest)

    names = [name for name, _ in chosen.others]
    kindest = [(name, best([dict(each.others)[name] for each in every])) for name in names]
    others = tuple((name, each) for name, each in kindest if each is not None)
    return replace(chosen, strict=best([each.strict for each in every]), others=others)


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
    case: Case,
    answer: GoldAnswer,
    predicted: Changed,
    policies: tuple[Policy, Policy, tuple[tuple[str, Policy], ...]],
    snapshot_id: str,
    desk: Desk,
) -> Execution:
    """Compare the states two changes left under the run's policy, under `strict` and under the others."""
    gold = answer.changed
    if gold is None:
        raise AssertionError("the gold of a change is a state")
    questions = case.eval_query.get(desk.rules.dialect, ())
    orders = tuple(desk.parse(question, case.snapshot).order for question in questions)
    policy, strict, others = policies
    return Execution(
        snapshot_id,
        gold,
        predicted,
        compare_states(gold, predicted, policy, orders),
        compare_states(gold, predicted, strict, orders),
        eval_orders=orders,
        others=tuple((name, compare_states(gold, predicted, other, orders)) for name, other in others),
    )
