"""Whether two equally long lists of rows are equal as bags, by Python's own equality, as cheaply as it goes."""

from __future__ import annotations

import gc
import math
import random
from collections import Counter, deque
from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import chain
from operator import itemgetter
from typing import Any, TypeAlias
from uuid import UUID

from sqlassay.cases.relation import Row

Key: TypeAlias = Callable[[Row], Any]  # what sorts rows: a cell of any type that has an order
Places: TypeAlias = list[Row | None]

_SCALARS = {type(None), bool, int, float, Decimal, str, bytes, date, datetime, time, timedelta, UUID}
_KEYS = (int, float, str)  # by how quickly they sort
_ALIGNED_FROM = 10_000
_SAMPLE = 1_000
_BLOCK = 500
_SPREAD = 4


def same_rows(ours: Sequence[Row], theirs: Sequence[Row]) -> bool:
    """Tell whether two equally long lists of rows are equal as bags: many of them side by side, where a column serves.

    Rows brought into one order meet a block at a time; a set hashes each row and looks each up at a random place.
    Only equal bags are accepted whatever the column holds: an order that does not serve them costs an acceptance.
    """
    column = _key_column(ours) if len(ours) >= _ALIGNED_FROM else None
    if column is None or not _scalar(ours):
        return same_bag(ours, theirs)
    key: Key = itemgetter(column)
    try:
        places = _placed(ours, theirs, key)
        if places is not None:
            return _met(*places)
        if isinstance(key(ours[0]), float) and math.isnan(sum(map(key, ours))):
            return same_bag(ours, theirs)  # NaN has no place in an order
        return _aligned(sorted(ours, key=key), sorted(theirs, key=key), key)
    except IndexError:  # a key past all of ours is the key of no row of ours
        return False
    except TypeError:  # a NULL or a text among the keys has no place in their order
        return same_bag(ours, theirs)


def same_bag(ours: Sequence[object], theirs: Sequence[object]) -> bool:
    """Tell whether two equally long lists of hashable items are equal as bags."""
    distinct = set(ours)
    if len(distinct) == len(ours):
        distinct.difference_update(theirs)  # each of ours met one of theirs, and there are no more of those
        return not distinct
    return dict.__eq__(Counter(ours), Counter(theirs))  # Counter's own equality walks both in Python


def _key_column(rows: Sequence[Row]) -> int | None:
    """Return the column of one sortable type that tells a sample of rows apart; None where none does.

    Where it tells apart the sample but not all rows, the verdict stands and takes longer.
    """
    sample = random.Random(0).sample(rows, _SAMPLE)  # noqa: S311 (a fixed choice of rows, nothing secret)
    found: dict[type, int] = {}
    for column in range(len(rows[0])):
        cells = [row[column] for row in sample]
        kind = type(cells[0])
        if kind in _KEYS and set(map(type, cells)) == {kind} and len(set(cells)) == _SAMPLE:
            found.setdefault(kind, column)
    return next((found[kind] for kind in _KEYS if kind in found), None)


def _scalar(rows: Sequence[Row]) -> bool:
    """Tell whether no cell is a container: those must be hashed, for a dict compares by other rules than Python's.

    Python's collector lets go of a tuple once it has found that it holds nothing to be collected, so the cells of
    such a row need no look; the others are looked at one by one.
    """
    return set(map(type, chain.from_iterable(filter(gc.is_tracked, rows)))) <= _SCALARS


def _placed(ours: Sequence[Row], theirs: Sequence[Row], key: Key) -> tuple[Places, Places] | None:
    """Put the rows of both sides at the places their keys number; None where ours are not numbers close together.

    Raises: IndexError for a number past ours, TypeError for a key of theirs that is no integer.
    """
    keys = list(map(key, ours))
    if set(map(type, keys)) != {int}:
        return None
    low, high = min(keys), max(keys)
    if low < 0 or high >= _SPREAD * len(ours):
        return None
    left: Places = [None] * (high + 1)
    right: Places = [None] * (high + 1)
    deque(map(left.__setitem__, keys, ours), 0)
    if left.count(None) != high + 1 - len(ours):
        return None  # a place was taken twice
    deque(map(right.__setitem__, map(key, theirs), theirs), 0)
    return left, right


def _met(left: Places, right: Places) -> bool:
    """Tell whether the same rows stand at the same places, a block at a time: a slice has its rows fetched at once."""
    return all(left[begin : begin + _BLOCK] == right[begin : begin + _BLOCK] for begin in range(0, len(left), _BLOCK))


def _aligned(left: list[Row], right: list[Row], key: Key) -> bool:
    """Tell whether sorted rows are equal block by block; where keys repeat in a block the rest is met as a bag."""
    for begin in range(0, len(left), _BLOCK):
        if left[begin : begin + _BLOCK] == right[begin : begin + _BLOCK]:
            continue
        keys = list(map(key, left[begin : begin + _BLOCK + 1]))
        return len(set(keys)) < len(keys) and same_bag(left[begin:], right[begin:])
    return True
