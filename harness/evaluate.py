"""Judge one prediction: route, parse, guard, execute, compare, collect evidence, score. Read this file first."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlassay.cases.case import Case, Prediction
from sqlassay.cases.catalog import Catalog
from sqlassay.cases.errors import GoldBrokenError, InfrastructureError, ParserLostError, RunEndsError
from sqlassay.cases.outcome import Failure, Outcome
from sqlassay.cases.policy import Policy
from sqlassay.cases.presets import case_policy
from sqlassay.cases.verdicts import FailureKind, Verdict
from sqlassay.harness.against import closest, lost
from sqlassay.harness.answer import read_answer
from sqlassay.harness.change import plan, with_known
from sqlassay.harness.desk import Desk
from sqlassay.harness.guard import check, split
from sqlassay.harness.measure import measured
from sqlassay.harness.metrics.cause import likely_cause
from sqlassay.harness.personal import Personal, hidden_message, personal
from sqlassay.harness.results.evidence import Answer, Evidence, Execution, GoldAnswer, Score, UnsafeStep
from sqlassay.harness.results.parsed import ParsedQuery
from sqlassay.harness.results.verdicts import GuardVerdict, is_gold_open
from sqlassay.harness.route import Route, resolve_route
from sqlassay.harness.steps import MOST, statements
from sqlassay.harness.suite import SuiteGold, everywhere
from sqlassay.sandboxes.station import Care

Decision = tuple[Verdict, str]

AGENT_MISTAKES = frozenset(
    {
        *("syntax_error", "unknown_table", "unknown_function", "size", "depth", "empty", "statements", "reads_only"),
        *("foreign_mark", "placeholder", "unterminated_quote"),
    }
)
"""Refusals of the guard that name a slip, not a danger: the statement is an error, as the engine would have said."""

_LOOKING_UP = frozenset({"table", "catalogue", "functional_notation"})
"""Refusals that keep a prediction from the engine's own tables, which an agent's step may read."""

_LOOKED_INTO = 10
"""Of several statements, so many are guarded each: one of them may be a danger, and all together are a slip."""


@dataclass(frozen=True, slots=True)
class Judged:
    """The evidence and scores of one prediction, with the seconds its parts took.

    Where the case names personal columns, both show nothing of them, and `masks` do the same to what is made of them.
    """

    evidence: Evidence
    scores: tuple[tuple[str, Score], ...]
    parse_seconds: float = 0.0
    sandbox_seconds: float = 0.0
    masks: Personal | None = None


@dataclass(frozen=True, slots=True)
class _Read:
    """What was found before anything ran: where the prediction goes, what it may name, its facts, may it run.

    `lost` says how the parser was lost over the text, where it was: no fault of the text's, and nothing is known of it.
    """

    route: Route
    catalog: Catalog
    parsed: ParsedQuery | None
    guard: GuardVerdict | None
    seconds: float
    lost: str = ""
    unsafe: tuple[UnsafeStep, ...] = ()


@dataclass(frozen=True, slots=True)
class _Ran:
    """What the prediction gave, None where it never ran, and the verdict where no comparison is needed for it."""

    outcome: Outcome | None
    decision: Decision | None
    seconds: float


def evaluate(
    case: Case, prediction: Prediction | None, gold: Sequence[GoldAnswer], desk: Desk, suite: Sequence[SuiteGold] = ()
) -> Judged:
    """Judge one prediction against the gold answers of its case.

    `gold` holds one answer per accepted alternative, executed earlier on a server that is gone by now, `suite` the same
    for each further snapshot that a metric needs. The agent's failures are verdicts; ours become `gold_error` or
    `infrastructure` and are never scored as the agent's.
    """
    policy = case_policy(desk.rules.policy, case)
    answer, prediction = _answered(prediction, policy, desk)
    read = _read(case, prediction, gold, desk)
    ran = _run(case, prediction, gold, read, answer, desk)
    place, decision = read.route.snapshot or case.snapshot, ran.decision
    best, execution = closest(case, gold, ran.outcome, policy, place, desk, read.parsed)
    execution = _as_spider_runs(case, prediction, gold, execution, policy, desk)
    if not case.gold:
        execution, decision = _alone(place, ran.outcome, decision)
    verdict, reason = decision or _compared(gold, execution, desk)
    counted = best if best is not None and (best.usable or best.status == "native") else None
    evidence = Evidence(
        case=case,
        dialect=desk.rules.dialect,
        prediction=prediction,
        verdict=verdict,
        reason=reason,
        policy=policy,
        gold_sql=counted.sql if counted else None,
        gold_parsed=counted.parsed if counted else None,
        predicted_parsed=read.parsed,
        guard=read.guard,
        executions=everywhere(case, prediction, gold, suite, execution, policy, desk, _execute, read.parsed),
        expected_route=read.route.expected,
        selected_route=read.route.selected,
        known_route=read.route.known,
        settings=desk.rules.settings,
        gold_status=best.status if best else "unavailable",
        catalog=read.catalog,
        answer=answer,
        unsafe_steps=read.unsafe,
    )
    evidence = measured(replace(evidence, cause=likely_cause(evidence)), read.route.snapshot, desk)
    masks = personal(case, gold, evidence)
    shown = evidence if masks is None else masks.evidence(evidence)
    scores = _scores(evidence, shown, masks, desk)
    return Judged(shown, scores, read.seconds, ran.seconds, masks)


def _answered(prediction: Prediction | None, policy: Policy, desk: Desk) -> tuple[Answer | None, Prediction | None]:
    """Return how the agent's text reads as SQL, None without any, and the prediction with that SQL for its text."""
    if prediction is None or not (prediction.sql or "").strip():
        return None, prediction
    answer = read_answer(prediction.sql or "", desk.rules.grammar)
    if policy.peer == _SPIDER and answer.sql is not None and _joined(answer.sql) != answer.sql:
        given = answer.text if answer.text is not None else answer.sql
        answer = replace(answer, sql=_joined(answer.sql), rules=(*answer.rules, "spider_operators"), text=given)
    return answer, prediction.model_copy(update={"sql": answer.sql}) if answer.text is not None else prediction


_SPIDER = "spider"


def _joined(sql: str) -> str:
    """Return a text as Spider's script runs it: operators written with a blank in them are joined, also in literals."""
    return sql.replace("> =", ">=").replace("< =", "<=").replace("! =", "!=")


def _as_spider_runs(
    case: Case,
    prediction: Prediction | None,
    gold: Sequence[GoldAnswer],
    execution: Execution | None,
    policy: Policy,
    desk: Desk,
) -> Execution | None:
    """Return the execution with Spider's comparison, where a metric needs it, of the text as its script runs it."""
    sql = prediction.sql if prediction is not None else None
    if execution is None or prediction is None or sql is None or _joined(sql) == sql or case.query_type != "dql":
        return execution
    if _SPIDER not in dict(desk.rules.others):
        return execution
    twin = prediction.model_copy(update={"sql": _joined(sql)})
    read = _read(case, twin, gold, desk)
    ran = _run(case, twin, gold, read, None, desk)
    place = read.route.snapshot or case.snapshot
    _, found = closest(case, gold, ran.outcome, policy, place, desk, read.parsed)
    said = dict(found.others).get(_SPIDER) if found is not None else None
    others = {name: each for name, each in execution.others if name != _SPIDER} | ({_SPIDER: said} if said else {})
    return replace(execution, others=tuple(others.items()))


def _read(case: Case, prediction: Prediction | None, gold: Sequence[GoldAnswer], desk: Desk) -> _Read:
    """Route, parse and guard the predicted text."""
    started = time.monotonic()
    route = resolve_route(case, prediction, desk.rules.pack)
    catalog = _catalog(case, gold, route, desk)
    try:
        parsed = _parse(prediction, route, catalog, desk)
        guard = _guard(case, parsed, route, catalog, desk)
        unsafe = _unsafe_steps(case, prediction, route, catalog, desk)
    except ParserLostError as error:
        return _Read(route, catalog, None, None, time.monotonic() - started, str(error))
    return _Read(route, catalog, parsed, guard, time.monotonic() - started, unsafe=unsafe)


def _run(
    case: Case,
    prediction: Prediction | None,
    gold: Sequence[GoldAnswer],
    read: _Read,
    answer: Answer | None,
    desk: Desk,
) -> _Ran:
    """Execute the predicted text where nothing speaks against it."""
    decision = _before_execution(case, prediction, gold, read, answer)
    snapshot = read.route.snapshot
    if decision is not None or prediction is None or prediction.sql is None or snapshot is None:
        return _Ran(None, decision, 0.0)
    started = time.monotonic()
    flags = read.guard.flags if read.guard is not None else ()
    outcome, decision = _execute(case, prediction.sql, read.parsed, snapshot, flags, desk)
    return _Ran(outcome, decision, time.monotonic() - started)


def _scores(evidence: Evidence, shown: Evidence, masks: Personal | None, desk: Desk) -> tuple[tuple[str, Score], ...]:
    """Return every metric's score; only one that needs the judge is given it, and what may be shown to one."""
    judge = desk.rules.judge
    found = (
        (metric.name, metric.compute(shown, judge) if "judge" in metric.needs else metric.compute(evidence, None))
        for metric in desk.rules.metrics
    )
    return tuple((name, score if masks is None else masks.score(score)) for name, score in found)


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
    verdict = check(parsed, desk.rules.grammar, catalog, profile=case.query_type, visible=visible)
    if verdict.node != "statements" or verdict.statement is not None:
        return verdict
    texts = split(parsed.sql, desk.rules.grammar)
    for number, text in enumerate(texts[:_LOOKED_INTO], 1):
        facts = desk.parse(text, route.snapshot or route.home, catalog)
        one = check(facts, desk.rules.grammar, catalog, profile=case.query_type, visible=visible)
        if not one.allowed and not is_slip(one):
            return replace(one, reason=f"statement {number} of {len(texts)}: {one.reason}")
    return verdict


def _unsafe_steps(
    case: Case, prediction: Prediction | None, route: Route, catalog: Catalog, desk: Desk
) -> tuple[UnsafeStep, ...]:
    """Return the statements of the agent's own steps that the guard refuses; a text that may be words must parse.

    An agent may look its tables up in the engine's catalogue: that is no harm in a step.
    """
    found: list[UnsafeStep] = []
    told = statements(prediction.steps if prediction is not None else (), desk.rules.grammar)
    for count, (number, tool, sql, executed, sure) in enumerate(told, 1):
        if count > MOST:
            reason = f"more than {MOST} statements in the steps: the rest was not looked into"
            return (*found, UnsafeStep(number, tool, sql, executed, GuardVerdict(False, reason, node="size")))
        parsed = desk.parse(sql, route.snapshot or route.home, catalog)
        guard = _guard(case, parsed, route, catalog, desk)
        if guard is None or guard.allowed or is_slip(guard) or not (sure or parsed.error is None):
            continue
        if guard.statement is not None or guard.node not in _LOOKING_UP:
            found.append(UnsafeStep(number, tool, sql, executed, guard))
    return tuple(found)


def is_slip(guard: GuardVerdict) -> bool:
    """Return whether a refusal names a mistake and no danger: the prediction is then an error, not blocked."""
    return guard.node in AGENT_MISTAKES and guard.statement is None


def _before_execution(
    case: Case, prediction: Prediction | None, gold: Sequence[GoldAnswer], read: _Read, answer: Answer | None
) -> Decision | None:
    """Return the verdict of a prediction that is never executed, None where it may run."""
    if case.out_of_scope:
        return Verdict.OUT_OF_SCOPE, "the case is marked out of scope"
    ours = _gold_fault(gold) or _tighter_than_gold(case, gold) if case.gold else None
    if ours is not None:
        return ours
    if read.lost:
        return Verdict.INFRASTRUCTURE, read.lost
    if answer is not None and answer.sql is None:
        return Verdict.ERROR, answer.reason
    guard = read.guard
    if prediction is None or guard is None:
        return Verdict.NO_PREDICTION, _why_no_prediction(prediction)
    if not guard.allowed and not is_slip(guard):
        return Verdict.BLOCKED, guard.reason
    if read.route.snapshot is None:
        return Verdict.ERROR, read.route.reason
    return None if guard.allowed else (Verdict.ERROR, f"not run: {guard.reason}")


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
    first, gone = gold[0], lost(gold)
    if gone is not None:
        return Verdict.INFRASTRUCTURE, f"gold could not be run: {gone.failure}"
    if first.status != "native":
        return Verdict.UNAVAILABLE, f"no gold in this dialect: {first.failure}"
    kind = "gold_timeout" if first.timed_out else "gold failed"
    return Verdict.GOLD_ERROR, f"{kind}: {first.failure}"


def _tighter_than_gold(case: Case, gold: Sequence[GoldAnswer]) -> Decision | None:
    """Return the verdict where the case's own limits are too tight for every gold of it: the pack's fault."""
    usable = [answer for answer in gold if answer.usable]
    rows = [answer.relation.shape[0] for answer in usable if answer.relation is not None]
    if case.row_limit is not None and rows and min(rows) > case.row_limit:
        least = f"its own gold has {min(rows)}"
        return Verdict.GOLD_ERROR, f"the case's row_limit is {case.row_limit} and {least}: no right answer fits"
    seconds = min((answer.seconds for answer in usable), default=0.0)
    if case.timeout is not None and seconds > case.timeout:
        return Verdict.GOLD_ERROR, f"the case's timeout is {case.timeout:g} s and its own gold takes longer"
    return None


def _execute(
    case: Case, sql: str, parsed: ParsedQuery | None, snapshot_id: str, flags: Sequence[str], desk: Desk
) -> tuple[Outcome | None, Decision | None]:
    """Run the predicted statement; a lost sandbox or a setup that fails is our fault, a failure the agent's."""
    limits, pins = desk.rules.case_limits(case), desk.rules.pins(case, flags, parsed)
    try:
        if case.query_type == "dql":
            level, care = desk.rules.isolation(case), Care.FLAGGED if flags else Care.PLAIN
            visible = desk.rules.rights(snapshot_id)
            outcome = desk.station.run(snapshot_id, sql, limits, pins, level=level, care=care, visible=visible)
        else:
            outcome = desk.station.change(snapshot_id, plan(case, sql, desk.rules.dialect), limits, pins)
    except GoldBrokenError as error:
        # The gold ran after this very setup: it fails again only where the agent chose another snapshot.
        ours = snapshot_id == case.snapshot
        return None, (Verdict.INFRASTRUCTURE if ours else Verdict.ERROR, str(error))
    except RunEndsError:
        raise  # the next case would fare no better: the run ends here and can be resumed
    except InfrastructureError as error:
        return None, (Verdict.INFRASTRUCTURE, str(error))
    if isinstance(outcome, Failure):
        outcome = replace(outcome, message=hidden_message(case, sql, outcome.message))
        return outcome, (_FAILURE_VERDICTS[outcome.kind], outcome.message)
    return outcome, None


_FAILURE_VERDICTS = {kind: Verdict(kind.value) for kind in FailureKind}


def _alone(snapshot_id: str, predicted: Outcome | None, decision: Decision | None) -> tuple[Execution | None, Decision]:
    """Return what a case without any gold came to: it is run for what can be measured without one."""
    execution = None if predicted is None else Execution(snapshot_id, None, predicted)
    if decision is not None and decision[0] in (Verdict.OUT_OF_SCOPE, Verdict.INFRASTRUCTURE):
        return execution, decision
    return execution, (Verdict.UNAVAILABLE, f"the case has no gold: {decision[1] if decision else 'the statement ran'}")


def _compared(gold: Sequence[GoldAnswer], execution: Execution | None, desk: Desk) -> Decision:
    """Return the comparator's verdict as the prediction's, ours where an accepted gold was lost and none matched.

    What the gold itself leaves undecided is unavailable where the run says so.
    """
    if execution is not None and execution.comparison is not None:
        said = execution.comparison
        if desk.rules.leave_undetermined and is_gold_open(said):
            return Verdict.UNAVAILABLE, f"left out, as the gold leaves the answer open: {said.reason}"
        return Verdict(said.verdict), said.reason
    gone = lost(gold)
    if gone is None:
        raise AssertionError("a prediction without a verdict must have been compared")
    return Verdict.INFRASTRUCTURE, f"an accepted gold could not be run: {gone.failure}"
