"""The quick way to key columns: cells whose own equality is the policy's, and ordinary numbers beside them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from datetime import date
from decimal import Decimal
from itertools import pairwise
from typing import cast

from sqlassay.harness.compare.cells import Rules
from sqlassay.harness.compare.numbers import (
    NOISE,
    NOISE_RELATIVE,
    Number,
    Tolerance,
    amount,
    near,
    spelled_apart,
    whole,
)

Cells = Sequence[object]
Keys = Sequence[Hashable]

_NUMBERS = {int, float, Decimal, bool}
_TEXTS = {str, type(None)}
_QUICK = {int, float}
_EXACT = 2**52  # below it an integer is a float without loss


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
    dates = date in kinds and policy.temporal_text  # then no text may look like an ISO date
    return all(_texts_plain(column, dates=dates) for column in columns)


def _texts_plain(column: Cells, *, dates: bool) -> bool:
    """Tell whether the texts of a column are ASCII, and none may be a date where dates stand beside them."""
    kinds = set(map(type, column))
    if str not in kinds:
        return True
    texts = {cell for cell in (set(column) if kinds <= _TEXTS else column) if isinstance(cell, str)}
    joined = "".join(texts)
    return joined.isascii() and not (dates and "-" in joined and any(text[4:5] == "-" for text in texts))


def numeric_keys(
    kinds: frozenset[type], columns: Sequence[Cells], rules: Rules
) -> tuple[list[Keys], frozenset[Hashable]] | None:
    """Return the keys of each column and the loose clusters, where numbers stand beside plain cells only.

    None where the slower way is needed: Decimal scales count, or a number cannot be hashed.
    """
    policy = rules.policy
    if not kinds & {float, Decimal} or policy.coarse_scale or not policy.bool_as_int or not rules.tolerance.monotone:
        return None
    if (rules.texts_may_be_numbers and str in kinds) or not plain(kinds - {float, Decimal}, columns, rules):
        return None
    counted = [bool(_NUMBERS & set(map(type, column))) for column in columns]
    try:
        cells = set().union(*(column for column, counts in zip(columns, counted, strict=True) if counts))
    except TypeError:  # a signalling NaN refuses to be hashed
        return None
    table, loose = _number_keys(cells, rules)
    find = table.__getitem__
    keyed = (list(map(find, column)) if counts else column for column, counts in zip(columns, counted, strict=True))
    return cast(list[Keys], list(keyed)), loose


def _number_keys(cells: set[object], rules: Rules) -> tuple[dict[object, Hashable], frozenset[Hashable]]:
    """Return the key of each cell of columns that hold numbers, and the clusters that do not decide."""
    table: dict[object, Hashable] = {cell: cell for cell in cells if not isinstance(cell, int | float | Decimal)}
    values = cast(set[Number], cells - table.keys() if table else cells)
    if set(map(type, values)) != {float} or not math.isfinite(sum(values)):  # a sum is finite only if all its items are
        special: dict[object, Hashable] = {value: key for value in values if (key := _special(value)) is not None}
        values = values - special.keys()
        table.update(special)
    clusters, loose = chained(values, rules.tolerance)
    clusters.update(cast(dict[Number, int], table))
    return cast(dict[object, Hashable], clusters), loose


def _special(value: Number) -> Hashable | None:
    """Return the key of NaN or an infinity; None for a finite number."""
    if value != value:  # only NaN differs from itself
        return ("nan",)
    return ("inf", value > 0) if value in (math.inf, -math.inf) else None


def chained(values: set[Number], tolerance: Tolerance) -> tuple[dict[Number, int], frozenset[Hashable]]:
    """Number the chains of near neighbours, and tell which of them do not decide equality.

    Such a chain has members that are not all near each other, or several that must be equal to the last digit.
    """
    clusters: dict[Number, int] = {}
    loose: set[Hashable] = set()
    ordered = sorted(values)
    number = begin = 0
    for place, joined in enumerate(_joined(ordered, tolerance), 1):
        clusters[ordered[place - 1]] = number
        if joined:
            continue
        if place - begin > 1:
            members = ordered[begin:place]
            if tolerance.fine and all(map(amount, members)):
                places = spelled_apart(members)
                clusters.update((value, number + apart) for value, apart in zip(members, places, strict=True))
                number += places[-1]
            elif not _clique(members, tolerance):
                loose.add(number)
        number, begin = number + 1, place
    return clusters, frozenset(loose)


def _joined(ordered: list[Number], tolerance: Tolerance) -> Iterator[bool]:
    """Tell of each ascending number whether the next one is near it; the last has none."""
    absolute, relative = tolerance.absolute, tolerance.relative
    sure, fine = relative > 1e-13, tolerance.fine
    for left, right in cast(Iterator[tuple[float, float]], pairwise(ordered)):  # Decimals too
        if type(left) in _QUICK and type(right) in _QUICK and left > -_EXACT and right < _EXACT:
            gap, size = right - left, abs(left) + abs(right)
            if gap > 2 * (absolute + relative * size):
                yield False
                continue
            reach = relative * size
            if fine and reach > NOISE:
                reach = min(reach, max(NOISE, NOISE_RELATIVE * size))
            if sure and 1e-290 < 8 * gap < reach:  # the larger is at least half the sum
                yield True
                continue
        yield near(left, right, tolerance)
    if ordered:
        yield False


def _clique(members: list[Number], tolerance: Tolerance) -> bool:
    """Tell whether ascending numbers are all near each other, and fewer than two of them may be compared exactly."""
    if tolerance.fine:
        precise = sum(isinstance(value, Decimal) or amount(value) or whole(value) for value in members)
        return precise < 2 and near(members[0], members[-1], tolerance)
    if len(members) == 2:
        return not (whole(members[0]) and whole(members[1]))
    return sum(map(whole, members)) < 2 and near(members[0], members[-1], tolerance)
