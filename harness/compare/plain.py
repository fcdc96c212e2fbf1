"""The quick way to key columns: cells whose own equality is the policy's, and ordinary numbers beside them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from datetime import date
from decimal import Decimal
from typing import cast

from harness.compare.cells import Rules
from harness.compare.numbers import Number, link, near, whole

Cells = Sequence[object]
Keys = Sequence[Hashable]


def kinds_of(columns: Sequence[Cells]) -> frozenset[type]:
    """Return the types of all cells but NULL."""
    return frozenset(kind for column in columns for kind in set(map(type, column))) - {type(None)}


def plain(kinds: frozenset[type], columns: Sequence[Cells], rules: Rules) -> bool:
    """Tell whether Python's own equality of these cells is already the policy's."""
    policy = rules.policy
    rest = kinds - {int, bytes, date} - ({bool} if policy.bool_as_int else set())
    if not rest:
        return True
    if rest != {str} or policy.text_case != "exact" or policy.text_trim != "none":
        return False
    if rules.texts_may_be_numbers and len(kinds) > 1:
        return False
    texts = [cell for column in columns for cell in column if isinstance(cell, str)]
    dates = date in kinds and policy.temporal_text  # then no text may look like an ISO date
    return all(text.isascii() and not (dates and text[4:5] == "-") for text in texts)


def numeric_keys(
    kinds: frozenset[type], columns: Sequence[Cells], rules: Rules
) -> tuple[dict[object, Hashable], frozenset[Hashable]] | None:
    """Return the key of each distinct cell and the loose clusters, where numbers stand beside plain cells only.

    None where the slower way is needed: Decimal scales count, or a number cannot be hashed.
    """
    policy = rules.policy
    if not kinds & {float, Decimal} or policy.scale_aware or not policy.bool_as_int or not rules.tolerance.monotone:
        return None
    if (rules.texts_may_be_numbers and str in kinds) or not plain(kinds - {float, Decimal}, columns, rules):
        return None
    try:
        cells = set().union(*columns)
    except TypeError:  # a signalling NaN refuses to be hashed
        return None
    table: dict[object, Hashable] = {cell: cell for cell in cells if not isinstance(cell, int | float | Decimal)}
    special: dict[object, Hashable] = {
        cell: key for cell in cells if isinstance(cell, float | Decimal) and (key := _special(cell)) is not None
    }
    values = cast(set[Number], cells - table.keys() - special.keys())
    clusters = link(values, rules.tolerance, None)
    table.update(special)
    table.update(clusters.items())
    return table, _loose(clusters, rules)


def _special(value: float | Decimal) -> Hashable | None:
    """Return the key of NaN or an infinity; None for a finite number."""
    if value != value:  # only NaN differs from itself
        return ("nan",)
    return ("inf", value > 0) if value in (math.inf, -math.inf) else None


def _loose(clusters: dict[Number, int], rules: Rules) -> frozenset[Hashable]:
    """Return the clusters whose members are not all near each other, or hold whole numbers that must be equal."""
    loose: set[Hashable] = set()
    first: Number | None = None
    members: list[Number] = []
    for value in (*clusters, None):
        if value is None or first is None or clusters[value] != clusters[first]:
            if len(members) > 1 and not _clique(members, rules):
                loose.add(clusters[members[0]])
            first, members = value, []
        if value is not None:
            members.append(value)
    return frozenset(loose)


def _clique(members: list[Number], rules: Rules) -> bool:
    """Tell whether ascending numbers are all near each other; whole ones of unknown type must be fewer than two."""
    return sum(map(whole, members)) < 2 and near(members[0], members[-1], rules.tolerance)
