"""SQLAS's metrics of what came back: accuracy without timing, similarity, success, emptiness, pace and scans."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

from sqlassay.cases.errors import InputError
from sqlassay.cases.outcome import Rows
from sqlassay.cases.plan import QueryPlan
from sqlassay.cases.verdicts import UNSCORABLE, Verdict
from sqlassay.harness.metrics.contract import Ask, Metric
from sqlassay.harness.metrics.outcomes import RAN, both, by_name, ending, keys, last, unscorable
from sqlassay.harness.metrics.pace import NOT_TIMED, pace, paced
from sqlassay.harness.metrics.sqlas_context import CITATION
from sqlassay.harness.results.evidence import Evidence, MetricSettings, Score
from sqlassay.harness.results.parsed import ParsedQuery

_MANY = 100
_EXPLODED = 10_000
_CUT = frozenset({Verdict.TOO_MANY_ROWS, Verdict.TOO_MANY_BYTES})


def execution_accuracy(evidence: Evidence, _ask: Ask | None = None) -> Score:
    """Return 1 on a match, else ¾ of the share of gold rows found and ¼ of the ratio of row counts.

    SQLAS gives speed a fifth of the score; without it output and row counts keep their proportion of 3 to 1. Where the
    order of rows decided, a gold row counts as found at its own place only. What is no match is never full.
    """
    missing = unscorable(evidence)
    if missing is not None:
        return missing
    if evidence.verdict is Verdict.MATCH:
        return Score(1.0, evidence.reason)
    if evidence.case.query_type != "dql":
        return Score(0.0, evidence.reason)
    found = both(evidence)
    if isinstance(found, Score):
        return found
    gold, predicted = found
    wanted, given = keys(gold.rows), by_name(gold, predicted)
    ordered = evidence.executions[-1].comparison
    if ordered is not None and ordered.rule == "row_order":
        common = sum(one == other for one, other in zip(wanted, given, strict=False))
    else:
        common = (Counter(wanted) & Counter(given)).total()
    output = common / len(gold.rows) if gold.rows else float(not predicted.rows)
    counts = _ratio(len(gold.rows), len(predicted.rows))
    if output == counts == 1.0:  # what differs is no row that can be counted: names, kinds, or a finer value
        output = 0.0
    reason = f"{common} of {len(gold.rows)} gold rows found, {len(predicted.rows)} given: {evidence.reason}"
    return Score(0.75 * output + 0.25 * counts, reason, (("output", output), ("row_count", counts)))


def _ratio(one: int, other: int) -> float:
    """Return the smaller number divided by the larger one, 1 where both are 0."""
    return min(one, other) / max(one, other) if one or other else 1.0


def result_set_similarity(evidence: Evidence, _ask: Ask | None = None) -> Score:
    """Return 0.8 of the Jaccard similarity of the sets of rows and 0.2 of the ratio of column counts."""
    found = both(evidence)
    if isinstance(found, Score):
        return found
    gold, predicted = found
    wanted, given = set(keys(gold.rows)), set(by_name(gold, predicted))
    jaccard = len(wanted & given) / len(wanted | given) if wanted | given else 1.0
    columns = _ratio(len(gold.columns), len(predicted.columns))
    reason = f"{len(wanted & given)} of {len(wanted | given)} distinct rows are common"
    return Score(0.8 * jaccard + 0.2 * columns, reason, (("jaccard", jaccard), ("columns", columns)))


def execution_success(evidence: Evidence, _ask: Ask | None = None) -> Score:
    """Return 1 where the engine ran the statement to rows or to a state."""
    ended = ending(evidence)
    if ended in UNSCORABLE:
        return Score(None, f"{ended}: {evidence.reason}")
    ran = ended in RAN
    return Score(float(ran), "it ran" if ran else f"{ended}: {evidence.reason}")


def empty_result_penalty(evidence: Evidence, _ask: Ask | None = None) -> Score:
    """Return 0 where rows are expected, by the gold or else by the option, and none came, else 1."""
    ended = ending(evidence)
    if ended in UNSCORABLE:
        return Score(None, f"{ended}: {evidence.reason}")
    execution = last(evidence)
    gold = execution.gold if execution is not None else None
    wanted = bool(gold.relation.rows) if isinstance(gold, Rows) else _expected(evidence)
    if wanted is None:
        return Score(None, "whether rows are expected is not known")
    found = execution.predicted if execution is not None else None
    came = (isinstance(found, Rows) and bool(found.relation.rows)) or ended in _CUT
    if wanted and not came:
        number = f"{len(gold.relation.rows)} were" if isinstance(gold, Rows) else "some were"
        return Score(0.0, f"no rows where {number} expected")
    return Score(1.0, "rows came" if came else "no rows, and none were expected")


def _expected(evidence: Evidence) -> bool | None:
    """Return whether the option expects rows of this case: true or false for all, or by case id; None = not said."""
    said = evidence.settings.option("sqlas.empty_result_penalty", "expected_nonempty")
    found = said.get(evidence.case.id) if isinstance(said, dict) else said
    return found if isinstance(found, bool) else None


def _check_expected(settings: MetricSettings) -> None:
    """Refuse an expectation that is none."""
    said = settings.option("sqlas.empty_result_penalty", "expected_nonempty", default=True)
    if not all(isinstance(each, bool) for each in (said.values() if isinstance(said, dict) else (said,))):
        field = "sqlas.empty_result_penalty.expected_nonempty"
        raise InputError("expected_nonempty is true, false or a mapping of case id to them", field=field, remedy="true")


def efficiency_score(evidence: Evidence, _ask: Ask | None = None) -> Score:
    """Return the median of gold seconds / predicted seconds, at most 1; 0 for what did not run.

    It is 1 where the interval of that ratio holds 1, so that clocks alone cost nothing.
    """
    missing = unscorable(evidence)
    if missing is not None:
        return missing
    if not evidence.settings.repetitions:
        return Score(None, NOT_TIMED)
    if evidence.verdict not in RAN:
        return Score(0.0, f"{evidence.verdict}: {evidence.reason}")
    found = pace(evidence)
    if isinstance(found, Score):
        return found
    score = paced(found, lambda each: min(each, 1.0))
    if found.low <= 1.0 <= found.high:
        return replace(score, value=1.0, reason=f"no slower than the clocks can tell: {score.reason}")
    return score


def data_scan_efficiency(evidence: Evidence, _ask: Ask | None = None) -> Score:
    """Return 1 less a penalty for each way of reading more than is needed, by the engine's plan and the rows."""
    parsed, plan = evidence.predicted_parsed, evidence.plan
    if evidence.verdict in {Verdict.OUT_OF_SCOPE, Verdict.INFRASTRUCTURE}:
        return Score(None, f"not scored: {evidence.verdict.value}")
    if evidence.case.query_type != "dql":
        return Score(None, "the statement changes data: what it reads is not asked")
    if parsed is None or parsed.error is not None:
        return Score(0.0, "there is no statement that can be read")
    if plan is None:
        return _without_plan(evidence)
    execution = last(evidence)
    rows = execution.predicted if execution is not None else None
    count = len(rows.relation.rows) if isinstance(rows, Rows) else 0
    found = list(_wasteful(parsed, plan, count, cut=ending(evidence) in _CUT))
    value = max(0.0, 1.0 - sum(penalty for penalty, _ in found))
    reason = "; ".join(why for _, why in found) or ("nothing is read in vain" if plan.scans else "no table is read")
    read = {kind: ", ".join(scan.table for scan in plan.scans if scan.whole is kind) for kind in (True, False)}
    return Score(value, reason, (("read_whole", read[True]), ("looked_up", read[False])))


def _without_plan(evidence: Evidence) -> Score:
    """Return 0 where the statement itself did not run, nothing where it did and the engine's plan is missing."""
    ended = ending(evidence)
    if ended in RAN or ended in UNSCORABLE:
        return Score(None, f"no plan: {evidence.no_plan or 'none was asked for'}")
    return Score(0.0, f"{ended}: {evidence.reason}")


def _wasteful(parsed: ParsedQuery, plan: QueryPlan, count: int, *, cut: bool) -> Iterator[tuple[float, str]]:
    """Yield each penalty with its reason.

    A table counts as narrowed where the plan has a condition on its rows; where the engine does not tell (SQLite), a
    WHERE in the statement decides. What is looked up by an index is no scan.
    """
    if not plan.scans:
        return
    grouped, limited = "group" in parsed.nodes, bool({"limit", "fetch"} & parsed.nodes)
    whole = [scan for scan in plan.scans if scan.whole]
    narrowed = any("where" in parsed.nodes if scan.narrowed is None else scan.narrowed for scan in whole)
    if parsed.stars:
        yield 0.2, "every column is selected"
    if whole and not (narrowed or grouped or limited):
        names = ", ".join(dict.fromkeys(scan.table for scan in whole))
        yield 0.3, f"{names} read from end to end, with no condition, GROUP BY or LIMIT"
    if cut and (grouped or plan.joined) and not limited:
        yield 0.4, "a join or grouping gives more rows than are kept"
    elif cut and not limited:
        yield 0.3, "more rows than are kept"
    elif not cut and plan.joined and count > _EXPLODED:
        yield 0.3, f"a join gives {count} rows"
    if not (cut or grouped or limited) and count > _MANY:
        yield 0.1, f"{count} detail rows without LIMIT"


def _metric(name: str, formula: str, compute: Callable[[Evidence, Ask | None], Score], *needs: str) -> Metric:
    """Return one of the metrics, all from 0 to 1."""
    return Metric(f"sqlas.{name}", frozenset(needs), CITATION, formula, (0.0, 1.0), compute)


EXECUTION_ACCURACY = _metric(
    "execution_accuracy", "1 on a match, else .75 · gold rows found + .25 · row-count ratio", execution_accuracy, "gold"
)
RESULT_SET_SIMILARITY = _metric(
    "result_set_similarity", ".8 · Jaccard of row sets + .2 · column-count ratio", result_set_similarity, "gold"
)
EXECUTION_SUCCESS = _metric("execution_success", "1 if the engine ran it else 0", execution_success, "gold")
EMPTY_RESULT_PENALTY = replace(
    _metric("empty_result_penalty", "0 if rows were expected and none came else 1", empty_result_penalty, "gold"),
    options=("expected_nonempty",),
    check=_check_expected,
)
EFFICIENCY_SCORE = _metric(
    "efficiency_score",
    "1 if the interval of gold / predicted seconds holds 1, else min(median over timed rounds, 1)",
    efficiency_score,
    "gold",
    "timings:5",
)
DATA_SCAN_EFFICIENCY = _metric(
    "data_scan_efficiency",
    "1 − .2 (*) − .3 (a table read whole for nothing: no condition, GROUP BY, LIMIT) − .3/.4 (cut or exploding) "
    "− .1 (no LIMIT, > 100 detail rows)",
    data_scan_efficiency,
    "plan",
)
