"""Judge one prediction: route, parse, guard, execute, compare, collect evidence, score. Read this file first."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from cases.case import Case, Prediction
from cases.catalog import Catalog
from cases.errors import GoldBrokenError, InfrastructureError, SandboxStartError
from cases.outcome import Changed, Failure, Outcome, Rows
from cases.policy import Policy
from cases.presets import case_policy
from cases.verdicts import FailureKind, Verdict
from harness.change import compare_states, plan, with_known
from harness.compare import compare, partial_credit, resolve_policy
from harness.desk import Desk
from harness.guard import check
from harness.measure import measured
from harness.metrics.cause import likely_cause
from harness.results.evidence import Evidence, Execution, GoldAnswer, Score
from harness.results.parsed import ParsedQuery
from harness.results.verdicts import Comparison, GuardVerdict, distance
from harness.route import Route, resolve_route
from sandboxes.station import Care

Decision = tuple[Verdict, str]

SuiteGold = tuple[str, Sequence[GoldAnswer]]
"""A further snapshot of a case with its gold answers there, in the order of those on the case's own."""

AGENT_MISTAKES = frozenset({"syntax_error", "unknown_table", "unknown_function"})
"""Refusals of the guard that name a slip, not a danger: the statement is an error, as the engine would have said."""


@dataclass(frozen=True, slots=True)
class Judged:
    """The evidence and scores of one prediction, with the seconds its parts took."""

    evidence: Evidence
    scores: tuple[tuple[str, Score], ...]
    parse_seconds: float = 0.0
    sandbox_seconds: float = 0.0


def evaluate(
    case: Case,
    prediction: Prediction | None,
    gold: Sequence[GoldAnswer],
    desk: Desk,
    suite: Sequence[SuiteGold] = (),
) -> Judged:
    """Judge one prediction against the gold answers of its case.

    `gold` holds one answer per accepted alternative, executed earlier on a server that is gone by now, `suite` the same
    for each further snapshot that a metric needs. The agent's failures are verdicts; ours become `gold_error` or
    `infrastructure` and are never scored as the agent's.
    """
    policy = case_policy(desk.rules.policy, case)
    route = resolve_route(case, prediction, desk.rules.pack)
    started = time.monotonic()
    catalog = _catalog(case, gold, route, desk)
    parsed = _parse(prediction, route, catalog, desk)
    guard = _guard(case, parsed, route, catalog, desk)
    parse_seconds = time.monotonic() - started
    decision = _before_execution(case, prediction, gold, route, parsed, guard)
    started = time.monotonic()
    predicted = None
    if decision is None and prediction is not None and prediction.sql is not None and route.snapshot is not None:
        flags = guard.flags if guard is not None else ()
        predicted, decision = _execute(case, prediction.sql, route.snapshot, flags, desk)
    sandbox_seconds = time.monotonic() - started
    best, execution = _compare(case, gold, predicted, policy, route.snapshot or case.snapshot, desk)
    if not case.gold:
        execution, decision = _alone(route.snapshot or case.snapshot, predicted, decision)
    verdict, reason = decision or _compared(gold, execution)
    shown = best if best is not None and (best.usable or best.status == "native") else None
    evidence = Evidence(
        case=case,
        dialect=desk.rules.dialect,
        prediction=prediction,
        verdict=verdict,
        reason=reason,
        policy=policy,
        gold_sql=shown.sql if shown else None,
        gold_parsed=shown.parsed if shown else None,
        predicted_parsed=parsed,
        guard=guard,
        executions=_everywhere(case, prediction, gold, suite, execution, policy, desk),
        expected_route=route.expected,
        selected_route=route.selected,
        known_route=route.known,
        settings=desk.rules.settings,
        gold_status=best.status if best else "unavailable",
        catalog=catalog,
    )
    evidence = measured(replace(evidence, cause=likely_cause(evidence)), route.snapshot, desk)
    return Judged(evidence, _scores(evidence, desk), parse_seconds, sandbox_seconds)


def _scores(evidence: Evidence, desk: Desk) -> tuple[tuple[str, Score], ...]:
    """Return every metric's score; only one that needs the judge is given it."""
    judge = desk.rules.judge
    return tuple(
        (metric.name, metric.compute(evidence, judge if "judge" in metric.needs else None))
        for metric in desk.rules.metrics
    )


def _catalog(case: Case, gold: Sequence[GoldAnswer], route: Route, desk: Desk) -> Catalog:
    """Return the tables the prediction may name: the snapshot's, and those its case's setup makes."""
    catalog = desk.rules.image.catalog(route.snapshot or route.home)
    if not case.setup_sql.get(desk.rules.dialect):
        return catalog
    return with_known(catalog, next((answer.changed for answer in gold if answer.changed is not None), None))


def _parse(prediction: Prediction | None, route: Route, catalog: Catalog, desk: Desk) -> ParsedQuery | None:
    """Return the predicted text's facts, None where there is no text or no database to read names from."""
    if prediction is None or not (prediction.sql or "").strip():
        return None
    return desk.parse(prediction.sql or "", route.snapshot or route.home, catalog)


def _guard(case: Case, parsed: ParsedQuery | None, route: Route, catalog: Catalog, desk: Desk) -> GuardVerdict | None:
    """Return the guard's verdict on the predicted text, under the profile of its case."""
    if parsed is None:
        return None
    visible = desk.rules.visible(route.snapshot or route.home)
    if visible is not None:
        baked = {table.name for table in desk.rules.image.catalog(route.snapshot or route.home).tables}
        visible |= {table.name.lower() for table in catalog.tables if table.name not in baked}
    return check(parsed, desk.rules.grammar, catalog, profile=case.query_type, visible=visible)


def _before_execution(
    case: Case,
    prediction: Prediction | None,
    gold: Sequence[GoldAnswer],
    route: Route,
    parsed: ParsedQuery | None,
    guard: GuardVerdict | None,
) -> Decision | None:
    """Return the verdict of a prediction that is never executed, None where it may run."""
    if case.out_of_scope:
        return Verdict.OUT_OF_SCOPE, "the case is marked out of scope"
    ours = _gold_fault(gold) if case.gold else None
    if ours is not None:
        return ours
    if prediction is None or parsed is None or guard is None:
        return Verdict.NO_PREDICTION, _why_no_prediction(prediction)
    if route.snapshot is None:
        return Verdict.ERROR, route.reason
    if not guard.allowed:
        if guard.node in AGENT_MISTAKES and guard.statement is None:
            return Verdict.ERROR, f"not run: {guard.reason}"
        return Verdict.BLOCKED, guard.reason
    return None


def _why_no_prediction(prediction: Prediction | None) -> str:
    """Say why there is no statement to run, with the agent's own error where it left one."""
    if prediction is None:
        return "the agent gave no answer for this case"
    error = prediction.metadata.get("agent_error")
    if error:
        return f"the agent gave no SQL: {error}"
    return "the agent gave no SQL" if prediction.sql is None else "the agent gave an empty statement"


def _gold_fault(gold: Sequence[GoldAnswer]) -> Decision | None:
    """Return the verdict where no gold answer can be compared with."""
    if not gold:
        return Verdict.UNAVAILABLE, "the case has no gold in this dialect"
    if any(answer.usable for answer in gold):
        return None
    first, lost = gold[0], _lost(gold)
    if lost is not None:
        return Verdict.INFRASTRUCTURE, f"gold could not be run: {lost.failure}"
    if first.status != "native":
        return Verdict.UNAVAILABLE, f"no gold in this dialect: {first.failure}"
    kind = "gold_timeout" if first.timed_out else "gold failed"
    return Verdict.GOLD_ERROR, f"{kind}: {first.failure}"


def _execute(
    case: Case, sql: str, snapshot_id: str, flags: Sequence[str], desk: Desk
) -> tuple[Outcome | None, Decision | None]:
    """Run the predicted statement; a lost sandbox or a setup that fails is our fault, a failure the agent's."""
    limits, pins = desk.rules.case_limits(case), desk.rules.pins(case, flags)
    try:
        if case.query_type == "dql":
            level, care = desk.rules.isolation(case), Care.FLAGGED if flags else Care.PLAIN
            outcome = desk.station.run(snapshot_id, sql, limits, pins, level=level, care=care)
        else:
            outcome = desk.station.change(snapshot_id, plan(case, sql, desk.rules.dialect), limits, pins)
    except GoldBrokenError as error:
        # The gold ran after this very setup: it fails again only where the agent chose another snapshot.
        ours = snapshot_id == case.snapshot
        return None, (Verdict.INFRASTRUCTURE if ours else Verdict.ERROR, str(error))
    except SandboxStartError:
        raise  # the next case would fare no better: the run ends here and can be resumed
    except InfrastructureError as error:
        return None, (Verdict.INFRASTRUCTURE, str(error))
    if isinstance(outcome, Failure):
        return outcome, (_FAILURE_VERDICTS[outcome.kind], outcome.message)
    return outcome, None


_FAILURE_VERDICTS = {kind: Verdict(kind.value) for kind in FailureKind}


def _compare(
    case: Case, gold: Sequence[GoldAnswer], predicted: Outcome | None, policy: Policy, snapshot_id: str, desk: Desk
) -> tuple[GoldAnswer | None, Execution | None]:
    """Compare with each usable gold answer; return the one that matched, else the closest, with its execution."""
    usable = [answer for answer in gold if answer.usable]
    if not usable:
        return (gold[0] if gold else None), None
    if not isinstance(predicted, Rows | Changed):
        return usable[0], Execution(snapshot_id, _outcome(usable[0]), predicted)
    pairs = []
    for answer in usable:
        if isinstance(predicted, Changed):
            execution = _states(case, answer, predicted, policy, snapshot_id, desk)
        else:
            execution = _one(answer, predicted, policy, snapshot_id, desk)
        pairs.append((answer, execution))
    best, execution = min(pairs, key=lambda pair: _nearness(pair[1]))
    if _lost(gold) and execution.comparison is not None and execution.comparison.verdict != "match":
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


def _lost(gold: Sequence[GoldAnswer]) -> GoldAnswer | None:
    """Return the first accepted gold that could not be run by a fault of ours."""
    return next((answer for answer in gold if answer.infrastructure), None)


def _outcome(answer: GoldAnswer) -> Outcome | None:
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


def _one(answer: GoldAnswer, predicted: Rows, policy: Policy, snapshot_id: str, desk: Desk) -> Execution:
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


def _alone(snapshot_id: str, predicted: Outcome | None, decision: Decision | None) -> tuple[Execution | None, Decision]:
    """Return what a case without any gold came to: it is run for what can be measured without one."""
    execution = None if predicted is None else Execution(snapshot_id, None, predicted)
    if decision is not None and decision[0] in (Verdict.OUT_OF_SCOPE, Verdict.INFRASTRUCTURE):
        return execution, decision
    return execution, (Verdict.UNAVAILABLE, f"the case has no gold: {decision[1] if decision else 'the statement ran'}")


def _compared(gold: Sequence[GoldAnswer], execution: Execution | None) -> Decision:
    """Return the comparator's verdict as the prediction's, ours where an accepted gold was lost and none matched."""
    if execution is not None and execution.comparison is not None:
        return Verdict(execution.comparison.verdict), execution.comparison.reason
    lost = _lost(gold)
    if lost is None:
        raise AssertionError("a prediction without a verdict must have been compared")
    return Verdict.INFRASTRUCTURE, f"an accepted gold could not be run: {lost.failure}"


def _everywhere(
    case: Case,
    prediction: Prediction | None,
    gold: Sequence[GoldAnswer],
    suite: Sequence[SuiteGold],
    own: Execution | None,
    policy: Policy,
    desk: Desk,
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
        there.append((snapshot_id, answers, _elsewhere(case, sql, snapshot_id, desk)))
    fitting = [number for number, answer in enumerate(gold) if _fits(answer, own, policy, desk)]
    found = [tuple(_on(*one, number, policy, desk) for one in there) for number in fitting]
    return (*max(found, key=_agreed, default=()), own)


def _fits(answer: GoldAnswer, own: Execution, policy: Policy, desk: Desk) -> bool:
    """Return whether one accepted gold agrees with the prediction on the case's own snapshot as well as the best."""
    if answer.relation is None or not isinstance(own.predicted, Rows):
        return False
    return _verdicts(_one(answer, own.predicted, policy, own.snapshot, desk)) == _verdicts(own)


def _verdicts(execution: Execution) -> list[str]:
    """Return how gold and prediction compare under the run's policy and every other that a metric needs."""
    found = (execution.comparison, *(other for _, other in execution.others))
    return [comparison.verdict for comparison in found if comparison is not None]


def _elsewhere(case: Case, sql: str, snapshot_id: str, desk: Desk) -> Outcome | None:
    """Return what the prediction gives on another snapshot, as guarded there as anywhere; None by a fault of ours."""
    rules, catalog = desk.rules, desk.rules.image.catalog(snapshot_id)
    visible = rules.visible(snapshot_id)
    guard = check(desk.parse(sql, snapshot_id), rules.grammar, catalog, profile=case.query_type, visible=visible)
    if not guard.allowed:
        return Failure(FailureKind.ERROR, f"not run on {snapshot_id}: {guard.reason}")
    return _execute(case, sql, snapshot_id, guard.flags, desk)[0]


def _on(
    snapshot_id: str, gold: Sequence[GoldAnswer], predicted: Outcome | None, number: int, policy: Policy, desk: Desk
) -> Execution:
    """Return how one accepted gold and the prediction compare on a further snapshot."""
    answer = gold[number] if number < len(gold) else None
    if answer is None or not answer.usable:
        return Execution(snapshot_id, None, predicted)
    if not isinstance(predicted, Rows):
        return Execution(snapshot_id, _outcome(answer), predicted)
    return _one(answer, predicted, policy, snapshot_id, desk)


def _agreed(executions: Sequence[Execution]) -> int:
    """Return on how many snapshots gold and prediction agree, under the run's policy and every other."""
    return sum(
        comparison.verdict == "match"
        for one in executions
        for comparison in (one.comparison, *(other for _, other in one.others))
        if comparison is not None
    )
