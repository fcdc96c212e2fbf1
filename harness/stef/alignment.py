"""Stage 3: both specifications laid beside each other, filter by filter and dimension by dimension."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlassay.harness.stef.normalisation import (
    LimitSignal,
    OrderSignal,
    limit_signal,
    order_signal,
    pinned_groups,
    required_groups,
)
from sqlassay.harness.stef.rules import RuleProfile
from sqlassay.harness.stef.score import FilterStatus
from sqlassay.harness.stef.specification import Aggregation, Filter, Output, Projection, SqlSpec, Wanted, Writer


@dataclass(frozen=True, slots=True)
class FilterAlignment:
    """Which required filters are met, wrong (required, given) or absent, and which were not asked for."""

    status: FilterStatus
    matched: tuple[Filter, ...]
    mismatched: tuple[tuple[Filter, Filter], ...]
    missing: tuple[Filter, ...]
    extras: tuple[Filter, ...]
    benign: tuple[Filter, ...]
    ignored: tuple[Filter, ...]

    @property
    def all_benign(self) -> bool:
        """Return whether every extra filter is among the profile's benign ones."""
        return set(self.extras) <= set(self.benign)


@dataclass(frozen=True, slots=True)
class Alignment:
    """The comparison record: filters, three binary signals with what is behind them, order and limit."""

    filters: FilterAlignment
    projection: bool
    aggregation: bool
    grouping: bool
    missing_outputs: tuple[str, ...]
    extra_outputs: tuple[str, ...]
    missing_aggregations: tuple[str, ...]
    extra_aggregations: tuple[str, ...]
    missing_groups: tuple[str, ...]
    extra_groups: tuple[str, ...]
    required_groups: tuple[str, ...]
    pinned_groups: tuple[str, ...]
    order: OrderSignal
    limit: LimitSignal


def align_filters(required: Sequence[Filter], given: Sequence[Filter], profile: RuleProfile) -> FilterAlignment:
    """Classify the filters (section 3.3): ignored dimensions leave both sides first, then benign extras are told."""
    writer = Writer(profile)
    dimensions = {writer.name(each) for each in profile.ignore_filters}
    wanted = [each for each in required if each.lhs not in dimensions]
    actual = [each for each in given if each.lhs not in dimensions]
    ignored = tuple(each for each in given if each.lhs in dimensions)
    matched = tuple(each for each in wanted if each in actual)
    spare = [each for each in actual if each not in matched]
    mismatched: list[tuple[Filter, Filter]] = []
    missing: list[Filter] = []
    for each in (each for each in wanted if each not in matched):
        near = next((other for other in spare if other.lhs and other.lhs == each.lhs), None)
        if near is None:
            missing.append(each)
        else:
            spare.remove(near)
            mismatched.append((each, near))
    benign = set(writer.filters(profile.benign_filters))
    return FilterAlignment(
        status=_status(len(wanted), len(matched), len(spare)),
        matched=matched,
        mismatched=tuple(mismatched),
        missing=tuple(missing),
        extras=tuple(spare),
        benign=tuple(each for each in spare if each in benign),
        ignored=ignored,
    )


def _status(wanted: int, matched: int, extras: int) -> FilterStatus:
    """Return the status of so many required, met and unasked filters; where none is required all of none are met."""
    if matched < wanted:
        return "partially_applied" if matched else "not_applied"
    return "fully_applied_with_extras" if extras else "fully_applied"


def align(wanted: Wanted, sql: SqlSpec, profile: RuleProfile, *, order_asked: bool, one_asked: bool) -> Alignment:
    """Return the comparison record of two specifications."""
    missing, extra = _outputs(wanted, sql)
    needed = _needed(wanted, sql)
    absent = [each for each in needed if not any(_same(each, other) for other in sql.aggregations)]
    unasked = [each for each in sql.projected if not any(_same(other, each) for other in needed)]
    pinned = pinned_groups((*sql.group_by, *wanted.group_by), sql.filters, profile.tolerance)
    required = required_groups(sql.groupings)
    ungrouped = [each for each in wanted.group_by if each not in sql.group_by and each not in pinned]
    overgrouped = [each for each in sql.group_by if each not in {*wanted.group_by, *pinned, *required}]
    return Alignment(
        filters=align_filters(wanted.filters, sql.filters, profile),
        projection=not missing,
        aggregation=not absent and not unasked,
        grouping=not ungrouped and not overgrouped,
        missing_outputs=tuple(each.words for each in missing),
        extra_outputs=tuple(each.expression for each in extra),
        missing_aggregations=tuple(map(str, absent)),
        extra_aggregations=tuple(map(str, unasked)),
        missing_groups=tuple(ungrouped),
        extra_groups=tuple(overgrouped),
        required_groups=tuple(sorted(required)),
        pinned_groups=tuple(sorted(pinned)),
        order=order_signal(sql, wanted, asked=order_asked or bool(wanted.order_by)),
        limit=limit_signal(sql, wanted, profile.tolerance, one=one_asked),
    )


def _outputs(wanted: Wanted, sql: SqlSpec) -> tuple[list[Output], list[Projection]]:
    """Return requested outputs that nothing gives, and given ones that nobody asked for."""
    missing = [each for each in wanted.outputs if not any(_gives(got, each, sql) for got in sql.projections)]
    extra = [
        got
        for got in sql.projections
        if got.expression != "*" and not any(_gives(got, each, sql) for each in wanted.outputs)
    ]
    return missing, extra


def _gives(got: Projection, output: Output, sql: SqlSpec) -> bool:
    """Return whether a projection is a requested output; an alias alone never stands for an implied aggregate."""
    if got.expression == output.name or (got.expression == "*" and output.implied is None):
        return True
    if output.implied is not None:
        calls = [each for each in sql.projected if each.folded in got.expression]
        return any(_same(output.implied, each) for each in calls)
    aggregated = got.aggregate and any(
        each.column == output.name and each.folded in got.expression for each in sql.projected
    )
    return aggregated or (bool(got.name) and got.name == output.name)


def _needed(wanted: Wanted, sql: SqlSpec) -> list[Aggregation]:
    """Return the aggregates asked for: the specification's, and those that outputs imply which are no plain column."""
    plain = {each.expression for each in sql.projections if not each.aggregate}
    implied = [each.implied for each in wanted.outputs if each.implied is not None and each.name not in plain]
    return list(dict.fromkeys((*wanted.aggregations, *implied)))


def _same(wanted: Aggregation, given: Aggregation) -> bool:
    """Return whether two aggregates are one; a count of rows is a count of any column that is not DISTINCT."""
    if (wanted.function, wanted.distinct) != (given.function, given.distinct):
        return False
    rows = wanted.function == "count" and not wanted.distinct and "*" in (wanted.column, given.column)
    return rows or wanted.column == given.column
