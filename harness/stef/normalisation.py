"""The production normalisation rules R1–R4 (section 5, Eq. 15–18): what looks unasked for and is harmless."""

from __future__ import annotations

from typing import Literal

from sqlassay.harness.stef.rules import Tolerance
from sqlassay.harness.stef.specification import Filter, Grouping, Sort, SqlSpec, Wanted

OrderSignal = Literal["none", "as_requested", "missing", "differs", "sensible_default", "flagged"]
LimitSignal = Literal["none", "as_requested", "missing", "differs", "safety_default", "flagged"]


def required_groups(groupings: tuple[Grouping, ...]) -> frozenset[str]:
    """Return the keys rule 1 exempts (Eq. 15): outputs beside an aggregate, where the GROUP BY covers them all."""
    found: set[str] = set()
    for grouping in groupings:
        if grouping.aggregates >= 1 and grouping.plain and set(grouping.keys) >= set(grouping.plain):
            found |= set(grouping.plain)
    return frozenset(found)


def pinned_groups(keys: tuple[str, ...], filters: tuple[Filter, ...], tolerance: Tolerance) -> frozenset[str]:
    """Return the keys rule 2 exempts (Eq. 16): those an equality with a constant, or a LIKE of it, holds at one value.

    `strict` asks for an equality, since a pattern with a wildcard leaves several values; `paper` takes any pattern.
    """
    pins = {"=", "like"} if tolerance.pinned == "paper" else {"="}
    held = {each.lhs for each in filters if each.op in pins and each.literal and len(each.rhs) == 1}
    return frozenset(key for key in keys if key in held)


def order_signal(sql: SqlSpec, wanted: Wanted, *, asked: bool) -> OrderSignal:
    """Return how the ORDER BY stands to the question (rule 3, Eq. 17 with the three conditions of its text)."""
    if not sql.order_by:
        return "missing" if asked else "none"
    if not asked:
        return "sensible_default" if all(_is_default(key, sql) for key in sql.order_by) else "flagged"
    if not wanted.order_by:
        return "as_requested"
    given = [(each.key, each.direction) for each in sql.order_by]
    same = len(given) >= len(wanted.order_by) and all(
        direction == wished[1] and _named(key, wished[0], sql)
        for (key, direction), wished in zip(given, wanted.order_by, strict=False)
    )
    return "as_requested" if same else "differs"


def _is_default(key: Sort, sql: SqlSpec) -> bool:
    """Return whether a key is an aggregate, highest first, or a group key, lowest first."""
    return key.direction == "desc" if key.aggregate else key.direction == "asc" and key.key in sql.group_by


def _named(key: str, wished: str, sql: SqlSpec) -> bool:
    """Return whether a sort key is the wished expression, or the output of that name."""
    return key == wished or any(each.expression == key and each.name == wished for each in sql.projections)


def limit_signal(sql: SqlSpec, wanted: Wanted, tolerance: Tolerance, *, one: bool) -> LimitSignal:
    """Return how the LIMIT stands to the question (rule 4, Eq. 18); `one` where a superlative asks for a best one."""
    if wanted.top_k is not None:
        if not sql.limited:
            return "missing"
        return "as_requested" if sql.limit == wanted.top_k else "differs"
    if not sql.limited:
        return "none"
    if sql.limit is not None and sql.limit >= tolerance.lambda_min:
        return "safety_default"
    return "as_requested" if one and sql.limit == 1 else "flagged"
