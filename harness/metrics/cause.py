"""The likely cause of a failed case, from facts and comparison alone: the first rule that holds decides."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

from cases.verdicts import Cause, Verdict
from harness.metrics.structural import same_tables
from harness.results.evidence import Evidence
from harness.results.parsed import ParsedQuery
from harness.results.verdicts import Comparison

_BY_VERDICT = {
    Verdict.INFRASTRUCTURE: Cause.INFRASTRUCTURE,
    Verdict.GOLD_ERROR: Cause.GOLD_ERROR,
    Verdict.NO_PREDICTION: Cause.NO_PREDICTION,
    Verdict.TIMEOUT: Cause.TIMEOUT,
}
_FAILED = frozenset({Verdict.ERROR, Verdict.TOO_MANY_ROWS, Verdict.TOO_MANY_BYTES, Verdict.RESOURCE_LIMIT})
_NO_CAUSE = frozenset({Verdict.MATCH, Verdict.UNAVAILABLE, Verdict.OUT_OF_SCOPE})
_VALUE = re.compile(r"'(?:[^']|'')*'|\b\d+(?:\.\d+)?\b")
_DATE_WORDS = re.compile(
    r"'\d{4}(?:-\d{2}(?:-\d{2})?)?(?:[ T][\d:.+Z-]*)?'|'(?:now|today|yesterday|tomorrow|start of \w+|[-+]?\d+ \w+)'"
    r"|\b(?:current_date|current_time|current_timestamp|now|curdate|date|datetime|julianday|strftime|interval|date_\w+"
    r"|str_to_time|strtotime|tsordsto\w+|time_to_str|to_date|to_timestamp|year|month|day|quarter|week|extract|timestamp\w*)\b",
    re.IGNORECASE,
)
_TYPE_WORDS = (
    "numbers as text",
    "text_numbers",
    "numeric text",
    "text as number",
    "type",
    "temporal",
    "scale",
    "tolerance",
)


def likely_cause(evidence: Evidence) -> Cause | None:
    """Return the likely cause of a failure, None where the case did not fail or was not the agent's to answer."""
    if evidence.verdict in _NO_CAUSE:
        return None
    if evidence.verdict in {Verdict.INFRASTRUCTURE, Verdict.GOLD_ERROR, Verdict.NO_PREDICTION}:
        return _BY_VERDICT[evidence.verdict]
    if _wrong_route(evidence):
        return Cause.WRONG_ROUTE
    if evidence.verdict is Verdict.BLOCKED:
        node = None if evidence.guard is None else evidence.guard.node
        return {"unknown_table": Cause.TABLE_MISMATCH, "unparsable": Cause.EXECUTION_FAILURE}.get(
            node or "", Cause.UNSAFE_BLOCK
        )
    if evidence.verdict in _BY_VERDICT:
        return _BY_VERDICT[evidence.verdict]
    return _from_facts(evidence)


def _wrong_route(evidence: Evidence) -> bool:
    """Return True where the agent answered from another data source than the expected one."""
    if not evidence.known_route:
        return True
    expected, selected = evidence.expected_route, evidence.selected_route
    return expected is not None and selected is not None and selected != expected


def _from_facts(evidence: Evidence) -> Cause:
    """Compare the two texts' facts; what the comparison proves (types, order) comes before what texts suggest."""
    gold, predicted = evidence.gold_parsed, evidence.predicted_parsed
    failed = evidence.verdict in _FAILED
    fallback = Cause.EXECUTION_FAILURE if failed else Cause.UNKNOWN
    if gold is None or predicted is None or gold.error is not None or predicted.error is not None:
        return fallback
    comparison = evidence.executions[-1].comparison if evidence.executions else None
    if not failed and comparison is not None and (cause := _from_comparison(comparison)) is not None:
        return cause
    if not same_tables(gold, predicted):
        return Cause.TABLE_MISMATCH
    if failed:
        return fallback
    return next((cause for rule, cause in _RULES if rule(gold, predicted)), fallback)


def _from_comparison(comparison: Comparison) -> Cause | None:
    """Return the cause a looser policy proves: it would have matched but for types, order or duplicates."""
    looser = (comparison.looser or "").lower()
    if not looser:
        return None
    if "order" in looser and "column" not in looser:
        return Cause.WRONG_ORDER
    if "multiplicity" in looser or "set" in looser.split():
        return Cause.DUPLICATES
    if any(word in looser for word in _TYPE_WORDS):
        return Cause.TYPE_ONLY
    return Cause.PROJECTION_MISMATCH if "column" in looser else None


def _filters(gold: ParsedQuery, predicted: ParsedQuery) -> tuple[list[str], list[str]]:
    """Return the filters only the gold has and those only the prediction has."""
    wanted, given = Counter(gold.filters), Counter(predicted.filters)
    return list((wanted - given).elements()), list((given - wanted).elements())


def _shape(condition: str) -> str:
    """Return a filter with its values blanked out."""
    return _VALUE.sub("?", condition)


def _temporal(gold: ParsedQuery, predicted: ParsedQuery) -> bool:
    """Return True where filters differ in a date, a year or a date function."""
    missing, extra = _filters(gold, predicted)
    return any(_DATE_WORDS.search(part) for part in missing) and any(_DATE_WORDS.search(part) for part in extra)


def _filter_value(gold: ParsedQuery, predicted: ParsedQuery) -> bool:
    """Return True where the same filters compare with other values."""
    missing, extra = _filters(gold, predicted)
    return bool(missing) and Counter(map(_shape, missing)) == Counter(map(_shape, extra))


def _missing_filter(gold: ParsedQuery, predicted: ParsedQuery) -> bool:
    """Return True where the prediction has fewer conditions than the gold."""
    missing, extra = _filters(gold, predicted)
    return len(missing) > len(extra)


def _extra_filter(gold: ParsedQuery, predicted: ParsedQuery) -> bool:
    """Return True where the prediction has conditions the gold has not."""
    missing, extra = _filters(gold, predicted)
    return len(extra) > len(missing)


def _other_filter(gold: ParsedQuery, predicted: ParsedQuery) -> bool:
    """Return True where a condition was replaced by another one."""
    return bool(_filters(gold, predicted)[0])


def _aggregation(gold: ParsedQuery, predicted: ParsedQuery) -> bool:
    """Return True where aggregates or the grouping differ; grouping matters only where both group or one aggregates."""
    if Counter(gold.aggregates) != Counter(predicted.aggregates):
        return set(gold.aggregates) != set(predicted.aggregates)
    return set(gold.group_by) != set(predicted.group_by)


def _join(gold: ParsedQuery, predicted: ParsedQuery) -> bool:
    """Return True where join conditions or kinds differ."""
    return Counter(gold.joins) != Counter(predicted.joins)


def _limit(gold: ParsedQuery, predicted: ParsedQuery) -> bool:
    """Return True where the row limits differ."""
    return gold.limit != predicted.limit


def _order(gold: ParsedQuery, predicted: ParsedQuery) -> bool:
    """Return True where a limited result is cut after another order."""
    return _keys(gold) != _keys(predicted) and gold.limit is not None


def _keys(query: ParsedQuery) -> list[tuple[str, str]]:
    """Return the order keys by what they sort and in which direction."""
    if query.order is None:
        return []
    shown = query.projections
    return [
        (
            key.sql.lower().rsplit(".", 1)[-1] if key.column is None or key.column >= len(shown) else shown[key.column],
            key.direction,
        )
        for key in query.order.keys
    ]


def _distinct(gold: ParsedQuery, predicted: ParsedQuery) -> bool:
    """Return True where only one side removes duplicates."""
    return gold.distinct != predicted.distinct


def _projection(gold: ParsedQuery, predicted: ParsedQuery) -> bool:
    """Return True where the prediction misses a selected expression or selects others."""
    return Counter(gold.projections) != Counter(predicted.projections)


_RULES: tuple[tuple[Callable[[ParsedQuery, ParsedQuery], bool], Cause], ...] = (
    (_temporal, Cause.TEMPORAL_GROUNDING),
    (_filter_value, Cause.FILTER_VALUE_MISMATCH),
    (_missing_filter, Cause.MISSING_FILTER),
    (_extra_filter, Cause.EXTRA_FILTER),
    (_join, Cause.JOIN_MISMATCH),
    (_aggregation, Cause.AGGREGATION_MISMATCH),
    (_distinct, Cause.DUPLICATES),
    (_projection, Cause.PROJECTION_MISMATCH),
    (_limit, Cause.LIMIT_MISMATCH),
    (_order, Cause.WRONG_ORDER),
    (_other_filter, Cause.FILTER_VALUE_MISMATCH),
)
"""Tried in this order: the most telling difference first."""
