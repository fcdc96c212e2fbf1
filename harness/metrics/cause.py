"""The likely cause of a failed case, from facts and comparison alone: the first rule that holds decides."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

from sqlassay.cases.verdicts import Cause, Verdict
from sqlassay.harness.metrics.structural import same_tables
from sqlassay.harness.results.evidence import Evidence
from sqlassay.harness.results.parsed import ParsedQuery
from sqlassay.harness.results.verdicts import GuardVerdict

_BY_VERDICT = {
    Verdict.INFRASTRUCTURE: Cause.INFRASTRUCTURE,
    Verdict.GOLD_ERROR: Cause.GOLD_ERROR,
    Verdict.NO_PREDICTION: Cause.NO_PREDICTION,
    Verdict.TIMEOUT: Cause.TIMEOUT,
}
_SLIPS = {
    "unknown_table": Cause.TABLE_MISMATCH,
    "unknown_function": Cause.EXECUTION_FAILURE,
    "reads_only": Cause.EXECUTION_FAILURE,
    "syntax_error": Cause.EXECUTION_FAILURE,
    "foreign_mark": Cause.EXECUTION_FAILURE,
    "placeholder": Cause.EXECUTION_FAILURE,
    "unterminated_quote": Cause.EXECUTION_FAILURE,
    "depth": Cause.EXECUTION_FAILURE,
    "size": Cause.TOO_LONG,
    "empty": Cause.NO_STATEMENT,
    "statements": Cause.SEVERAL_STATEMENTS,
    "unparsable": Cause.EXECUTION_FAILURE,
}
"""Refusals of the guard that name a slip or a text beyond what is read, by the node that decided."""
_FAILED = frozenset({Verdict.ERROR, Verdict.TOO_MANY_ROWS, Verdict.TOO_MANY_BYTES, Verdict.RESOURCE_LIMIT})
_NO_CAUSE = frozenset({Verdict.MATCH, Verdict.UNAVAILABLE, Verdict.OUT_OF_SCOPE})
_VALUE = re.compile(r"'(?:[^']|'')*'|\b\d+(?:\.\d+)?\b")
_DATE_WORDS = re.compile(
    r"'\d{4}(?:-\d{2}(?:-\d{2})?)?(?:[ T][\d:.+Z-]*)?'|'(?:now|today|yesterday|tomorrow|start of \w+|[-+]?\d+ \w+)'"
    r"|\b(?:current_date|current_time|current_timestamp|now|curdate|date|datetime|julianday|strftime|interval|date_\w+"
    r"|str_to_time|strtotime|tsordsto\w+|time_to_str|to_date|to_timestamp|year|month|day|quarter|week|extract|timestamp\w*)\b",
    re.IGNORECASE,
)
_INTERVAL = re.compile(r"\binterval\s*\(?\s*\Z", re.IGNORECASE)
_DATE_PART = re.compile(
    r"(?:cast\()?\s*(?:year|month|day\w*|quarter|week\w*|hour|extract|date_part|strftime|time_?to_?str|to_char)"
    r"\([^()]*(?:\([^()]*\)[^()]*)*\)(?:\s+as\s+\w+\))?\s*(?:=|<>|<|>|in\b|between\b)",
    re.IGNORECASE,
)
"""A comparison whose left side is a part of a date and nothing more."""

_PROVEN = {
    "order ignored": Cause.WRONG_ORDER,
    "numbers as text": Cause.TYPE_ONLY,
    "booleans as integers": Cause.TYPE_ONLY,
    "decimal scale ignored": Cause.TYPE_ONLY,
    "dates as text": Cause.TYPE_ONLY,
    "seconds only": Cause.TYPE_ONLY,
    "naive times as UTC": Cause.TYPE_ONLY,
}
"""What it proves that a looser policy, by the name the comparator gives it, would have matched."""

_SUGGESTED = {
    "multiplicity set": Cause.DUPLICATES,
    "columns in any order": Cause.PROJECTION_MISMATCH,
    "extra columns allowed": Cause.PROJECTION_MISMATCH,
    "extra columns allowed in any order": Cause.PROJECTION_MISMATCH,
    "relative tolerance 1e-6": Cause.TYPE_ONLY,
    "tolerance 0.01": Cause.TYPE_ONLY,
    "order ignored, columns in any order, extra allowed": Cause.PROJECTION_MISMATCH,
}
"""What it suggests where the texts show no better reason."""


def likely_cause(evidence: Evidence) -> Cause | None:
    """Return the likely cause of a failure, None where the case did not fail or was not the agent's to answer."""
    if evidence.verdict in _NO_CAUSE:
        return None
    if evidence.verdict in {Verdict.INFRASTRUCTURE, Verdict.GOLD_ERROR, Verdict.NO_PREDICTION}:
        return _BY_VERDICT[evidence.verdict]
    if evidence.answer is not None and evidence.answer.sql is None:
        return Cause.UNREADABLE_ANSWER
    if evidence.verdict is Verdict.BLOCKED and (refused := _refusal(evidence.guard)) is Cause.UNSAFE_BLOCK:
        return refused
    if _wrong_route(evidence):
        return Cause.WRONG_ROUTE
    if evidence.verdict is Verdict.BLOCKED or _judged_by_its_form(evidence.guard):
        return _refusal(evidence.guard)
    if evidence.verdict in _BY_VERDICT:
        return _BY_VERDICT[evidence.verdict]
    return _from_facts(evidence)


def _refusal(guard: GuardVerdict | None) -> Cause:
    """Return the cause of a refusal; one that names a statement kind is a danger, whatever else is wrong with it."""
    if guard is None or guard.statement is not None:
        return Cause.UNSAFE_BLOCK
    return _SLIPS.get(guard.node or "", Cause.UNSAFE_BLOCK)


def _judged_by_its_form(guard: GuardVerdict | None) -> bool:
    """Return True where a text was not run for its form alone: too long, several statements, none, no change."""
    own = {"size", "depth", "empty", "statements", "reads_only"}
    return guard is not None and not guard.allowed and guard.statement is None and guard.node in own


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
    looser = (comparison.looser or "") if comparison is not None and not failed else ""
    if looser in _PROVEN:
        return _PROVEN[looser]
    if not same_tables(gold, predicted):
        return Cause.TABLE_MISMATCH
    if failed:
        return fallback
    shown = next((cause for rule, cause in _RULES if rule(gold, predicted)), None)
    if shown in {None, Cause.WRONG_ORDER} and comparison is not None and "cut_tie" in comparison.flags:
        shown = Cause.CUT_TIE if _orders_agree(gold, predicted) else shown
    return shown or _SUGGESTED.get(looser, fallback)


def _only(gold: tuple[str, ...], predicted: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Return what only the gold has and what only the prediction has."""
    wanted, given = Counter(gold), Counter(predicted)
    return list((wanted - given).elements()), list((given - wanted).elements())


def _filters(gold: ParsedQuery, predicted: ParsedQuery) -> tuple[list[str], list[str]]:
    """Return the plain filters only one side has; a condition with a subquery may be a join written otherwise."""
    return _only(_plain(gold), _plain(predicted))


def _plain(query: ParsedQuery) -> tuple[str, ...]:
    """Return the filters without a subquery."""
    return tuple(condition for condition in query.filters if "SELECT " not in condition)


def _sets_apart(gold: ParsedQuery, predicted: ParsedQuery) -> bool:
    """Return True where only one side is an EXCEPT or INTERSECT: the other may say the same by a nested condition."""
    return bool((gold.nodes ^ predicted.nodes) & {"except", "intersect"})


def _missing_nested(gold: ParsedQuery, predicted: ParsedQuery) -> bool:
    """Return True where the prediction has fewer conditions than the gold, those with subqueries included."""
    if _sets_apart(gold, predicted):
        return False
    missing, extra = _only(gold.filters, predicted.filters)
    return len(missing) > len(extra)


def _extra_nested(gold: ParsedQuery, predicted: ParsedQuery) -> bool:
    """Return True where the prediction has more conditions than the gold, those with subqueries included."""
    if _sets_apart(gold, predicted):
        return False
    missing, extra = _only(gold.filters, predicted.filters)
    return len(extra) > len(missing)


def _shape(condition: str) -> str:
    """Return a filter with its values blanked out."""
    return _VALUE.sub("?", condition)


def _temporal(gold: ParsedQuery, predicted: ParsedQuery) -> bool:
    """Return True where filters differ in a date, a year or a date function; a number beside one is just a number."""
    missing, extra = _filters(gold, predicted)
    if missing and Counter(map(_shape, missing)) == Counter(map(_shape, extra)):
        return _dates_differ(missing, extra)
    return any(_DATE_WORDS.search(part) for part in missing) and any(_DATE_WORDS.search(part) for part in extra)


def _dates_differ(missing: list[str], extra: list[str]) -> bool:
    """Return True where of filters of the same shapes a date, an interval or a part of a date is another."""
    by_shape = {_shape(condition): condition for condition in extra}
    for condition in missing:
        other = by_shape[_shape(condition)]
        for one, two in zip(_VALUE.finditer(condition), _VALUE.finditer(other), strict=True):
            if one.group() != two.group() and _is_date(one, condition):
                return True
    return False


def _is_date(value: re.Match[str], condition: str) -> bool:
    """Return True for a date or interval, and for a number that is compared with a part of a date."""
    if _DATE_WORDS.fullmatch(value.group()) or _INTERVAL.search(condition, 0, value.start()):
        return True
    is_number = not value.group().startswith("'") or value.group().strip("'").isdigit()
    return is_number and _DATE_PART.match(condition) is not None


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
    return gold.filters != predicted.filters and bool(_only(gold.filters, predicted.filters)[0])


def _aggregation(gold: ParsedQuery, predicted: ParsedQuery) -> bool:
    """Return True where aggregates or the grouping differ; grouping matters only where both group or one aggregates."""
    if Counter(gold.aggregates) != Counter(predicted.aggregates):
        return set(gold.aggregates) != set(predicted.aggregates) and not _only_fewer_columns(gold, predicted)
    return set(gold.group_by) != set(predicted.group_by)


def _only_fewer_columns(gold: ParsedQuery, predicted: ParsedQuery) -> bool:
    """Return True where one side groups alike and selects all that the other does, and more."""
    wanted, given = Counter(gold.projections), Counter(predicted.projections)
    return set(gold.group_by) == set(predicted.group_by) and wanted != given and (wanted <= given or given <= wanted)


def _join(gold: ParsedQuery, predicted: ParsedQuery) -> bool:
    """Return True where join conditions or kinds differ."""
    return Counter(gold.joins) != Counter(predicted.joins)


def _nested_as_join(gold: ParsedQuery, predicted: ParsedQuery) -> bool:
    """Return True where the gold asks by a nested condition and the prediction joins instead (or the other way)."""
    for asked, other in ((gold, predicted), (predicted, gold)):
        nested = set(asked.filters) - set(_plain(asked)) - set(other.filters)
        if nested and not asked.joins and other.joins:
            return True
    return False


def _limit(gold: ParsedQuery, predicted: ParsedQuery) -> bool:
    """Return True where the row limits differ."""
    return gold.limit != predicted.limit


def _order(gold: ParsedQuery, predicted: ParsedQuery) -> bool:
    """Return True where a limited result is cut after another order."""
    return _keys(gold) != _keys(predicted) and gold.limit is not None


def _orders_agree(gold: ParsedQuery, predicted: ParsedQuery) -> bool:
    """Return True where one side's order keys begin with all of the other's: they differ within ties alone."""
    pairs = list(zip(_keys(gold), _keys(predicted), strict=False))
    return bool(pairs) and all(one == other for one, other in pairs)


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
    if _sets_apart(gold, predicted):
        wanted, given = set(gold.projections), set(predicted.projections)
        return not (wanted <= given or given <= wanted)
    return Counter(gold.projections) != Counter(predicted.projections)


def _column_order(gold: ParsedQuery, predicted: ParsedQuery) -> bool:
    """Return True where the same expressions are selected in another order."""
    return not _sets_apart(gold, predicted) and gold.projections != predicted.projections


_RULES: tuple[tuple[Callable[[ParsedQuery, ParsedQuery], bool], Cause], ...] = (
    (_temporal, Cause.TEMPORAL_GROUNDING),
    (_filter_value, Cause.FILTER_VALUE_MISMATCH),
    (_nested_as_join, Cause.JOIN_MISMATCH),
    (_missing_filter, Cause.MISSING_FILTER),
    (_extra_filter, Cause.EXTRA_FILTER),
    (_join, Cause.JOIN_MISMATCH),
    (_missing_nested, Cause.MISSING_FILTER),
    (_extra_nested, Cause.EXTRA_FILTER),
    (_aggregation, Cause.AGGREGATION_MISMATCH),
    (_distinct, Cause.DUPLICATES),
    (_projection, Cause.PROJECTION_MISMATCH),
    (_limit, Cause.LIMIT_MISMATCH),
    (_order, Cause.WRONG_ORDER),
    (_other_filter, Cause.FILTER_VALUE_MISMATCH),
    (_column_order, Cause.PROJECTION_MISMATCH),
)
"""Tried in this order: the most telling difference first."""
