"""Whether two equally long lists of rows are equal as bags, by Python's own equality, as cheaply as it goes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from itertools import chain
from operator import eq, itemgetter

from cases.relation import Row

_SCALARS = {type(None), bool, int, float, Decimal, str, bytes, date, datetime}
_SORTED_FROM = 10_000
_LOOK = 1_000


def same_rows(ours: Sequence[Row], theirs: Sequence[Row]) -> bool:
    """Tell whether rows are equal as bags: many of them side by side in the order of a unique integer, if there is one.

    Sorting touches memory in order and hashes one cell a row, where a set hashes and looks up each row at random.
    """
    key = _unique_integers(ours) if len(ours) >= _SORTED_FROM else None
    if key is None:
        return same_bag(ours, theirs)
    by_key = itemgetter(key)
    try:
        return all(map(eq, sorted(ours, key=by_key), sorted(theirs, key=by_key)))
    except TypeError:  # a NULL or a text among the keys: no order, and nothing the unique integers could equal
        return False


def same_bag(ours: Sequence[object], theirs: Sequence[object]) -> bool:
    """Tell whether two equally long lists of hashable items are equal as bags."""
    distinct = set(ours)
    if len(distinct) == len(ours):
        distinct.difference_update(theirs)  # each of ours met one of theirs, and there are no more of those
        return not distinct
    return dict.__eq__(Counter(ours), Counter(theirs))  # Counter's own equality walks both in Python


def _unique_integers(rows: Sequence[Row]) -> int | None:
    """Return the first column of integers none of which repeats; None also where a cell is no plain scalar.

    Containers must be hashed: those that cannot be compare by other rules than Python's.
    """
    for column in range(len(rows[0])):
        head = [row[column] for row in rows[:_LOOK]]
        if set(map(type, head)) != {int} or len(set(head)) < len(head):
            continue
        cells = list(map(itemgetter(column), rows))
        if set(map(type, cells)) == {int} and len(set(cells)) == len(cells):
            return column if set(map(type, chain.from_iterable(rows))) <= _SCALARS else None
    return None
