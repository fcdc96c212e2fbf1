"""SQLAS's metrics of what came back: accuracy without timing, similarity, success, emptiness, pace and scans."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from cases.outcome import Rows
from cases.verdicts import Verdict
from harness.metrics.bird import NOT_TIMED, ratio
from harness.metrics.contract import Ask, Metric
from harness.metrics.outcomes import RAN, both, by_name, keys, last, unscorable
from harness.metrics.sqlas_context import CITATION
from harness.results.evidence import Evidence, Score

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
    missing = unscorable(evidence)
    if missing is not None:
        return missing
    ran = evidence.verdict in RAN
    return Score(float(ran), "it ran" if ran else f"{evidence.verdict}: {evidence.reason}")


def empty_result_penalty(evidence: Evidence, _ask: Ask | None = None) -> Score:
    """Return 0 where the gold has rows and the prediction none, else 1."""
    missing = unscorable(evidence)
    if missing is not None:
        return missing
    execution = last(evidence)
    if execution is None or not isinstance(execution.gold, Rows):
        return Score(None, "whether rows are expected is not known")
    rows = len(execution.predicted.relation.rows) if isinstance(execution.predicted, Rows) else 0
    came = rows > 0 or evidence.verdict in _CUT
    if execution.gold.relation.rows and not came:
        return Score(0.0, f"no rows where {len(execution.gold.relation.rows)} were expected")
    return Score(1.0, "rows came" if came else "no rows, and none were expected")


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
    cut, joined = evidence.verdict in _CUT, bool(parsed.joins or "join" in parsed.nodes)
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
EMPTY_RESULT_PENALTY = _metric(
    "empty_result_penalty", "0 if rows were expected and none came else 1", empty_result_penalty, "gold"
)
EFFICIENCY_SCORE = _metric(
    "efficiency_score", "min(median gold seconds / median predicted seconds, 1)", efficiency_score, "gold", "timings:5"
)
DATA_SCAN_EFFICIENCY = _metric(
    "data_scan_efficiency",
    "1 − .2 (*) − .3 (no WHERE, GROUP BY, LIMIT) − .3/.4 (cut or exploding) − .1 (no LIMIT, > 100 detail rows)",
    data_scan_efficiency,
)
