"""SQLAS's metrics of what came back: accuracy without timing, similarity, success, emptiness, pace and scans."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from cases.errors import InputError
from cases.outcome import Rows
from cases.verdicts import UNSCORABLE, Verdict
from harness.metrics.bird import NOT_TIMED, ratio
from harness.metrics.contract import Ask, Metric
from harness.metrics.outcomes import RAN, both, by_name, ending, keys, last, unscorable
from harness.metrics.sqlas_context import CITATION
from harness.results.evidence import Evidence, MetricSettings, Score

_MANY = 100
_EXPLODED = 10_000
_CUT = frozenset({Verdict.TOO_MANY_ROWS, Verdict.TOO_MANY_BYTES})


def execution_accuracy(evidence: Evidence, _ask: Ask | None = None) -> Score:
    """Return 1 on a match, else ¾ of the share of gold rows found and ¼ of the ratio of row counts.

    SQLAS gives speed a fifth of the score; without it output and row counts keep their proportion of 3 to 1.
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
    wanted, given = Counter(keys(gold.rows)), Counter(by_name(gold, predicted))
    common = sum((wanted & given).values())
    output = common / len(gold.rows) if gold.rows else float(not predicted.rows)
    counts = _ratio(len(gold.rows), len(predicted.rows))
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
    """Return median gold seconds / median predicted seconds, at most 1; 0 for what did not run."""
    missing = unscorable(evidence)
    if missing is not None:
        return missing
    if not evidence.settings.repetitions:
        return Score(None, NOT_TIMED)
    if evidence.verdict not in RAN:
        return Score(0.0, f"{evidence.verdict}: {evidence.reason}")
    found = ratio(evidence)
    if isinstance(found, Score):
        return found
    return Score(min(found, 1.0), f"gold takes {found:.3g} times as long", (("ratio", found),))


def data_scan_efficiency(evidence: Evidence, _ask: Ask | None = None) -> Score:
    """Return 1 less a penalty for each way of reading more than is needed, by the text's facts and the rows it gave."""
    parsed = evidence.predicted_parsed
    if evidence.verdict in {Verdict.OUT_OF_SCOPE, Verdict.INFRASTRUCTURE}:
        return Score(None, f"not scored: {evidence.verdict.value}")
    if parsed is None or parsed.error is not None:
        return Score(0.0, "there is no statement that can be read")
    if not parsed.tables:
        return Score(1.0, "no table is read")
    grouped, limited = "group" in parsed.nodes, bool({"limit", "fetch"} & parsed.nodes)
    cut, joined = ending(evidence) in _CUT, bool(parsed.joins or "join" in parsed.nodes)
    execution = last(evidence)
    rows = execution.predicted if execution is not None else None
    count = len(rows.relation.rows) if isinstance(rows, Rows) else 0
    found: list[tuple[float, str]] = []
    if parsed.stars:
        found.append((0.2, "every column is selected"))
    if not (grouped or limited or "where" in parsed.nodes):
        found.append((0.3, "no WHERE, GROUP BY or LIMIT"))
    if cut and (grouped or joined) and not limited:
        found.append((0.4, "a join or grouping gives more rows than are kept"))
    elif cut and not limited:
        found.append((0.3, "more rows than are kept"))
    elif not cut and joined and count > _EXPLODED:
        found.append((0.3, f"a join gives {count} rows"))
    if not (cut or grouped or limited) and count > _MANY:
        found.append((0.1, f"{count} detail rows without LIMIT"))
    value = max(0.0, 1.0 - sum(penalty for penalty, _ in found))
    return Score(value, "; ".join(why for _, why in found) or "nothing is read in vain")


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
    "efficiency_score", "min(median gold seconds / median predicted seconds, 1)", efficiency_score, "gold", "timings:5"
)
DATA_SCAN_EFFICIENCY = _metric(
    "data_scan_efficiency",
    "1 − .2 (*) − .3 (no WHERE, GROUP BY, LIMIT) − .3/.4 (cut or exploding) − .1 (no LIMIT, > 100 detail rows)",
    data_scan_efficiency,
)
