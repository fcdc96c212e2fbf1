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
    """Tell whether rows are equal as bags: many of them side by side in the order of an integer column, if it serves.

    Sorting hashes nothing and touches memory in order, where a set hashes and looks up each row at random.
    """
    column = _key_column(ours) if len(ours) >= _SORTED_FROM else None
    if column is None:
        return same_bag(ours, theirs)
    key = itemgetter(column)
    try:
        if all(map(eq, sorted(ours, key=key), sorted(theirs, key=key))):
            return True
        if len(set(map(key, ours))) == len(ours) and {int} == set(map(type, map(key, theirs))):
            return False  # rows with unique keys have no other pairing
    except TypeError:  # a NULL or a text among the keys has no place in their order
        pass
    return same_bag(ours, theirs)


def same_bag(ours: Sequence[object], theirs: Sequence[object]) -> bool:
    """Tell whether two equally long lists of hashable items are equal as bags."""
    distinct = set(ours)
    if len(distinct) == len(ours):
        distinct.difference_update(theirs)  # each of ours met one of theirs, and there are no more of those
        return not distinct
    return dict.__eq__(Counter(ours), Counter(theirs))  # Counter's own equality walks both in Python


def _key_column(rows: Sequence[Row]) -> int | None:
    """Return the first column that begins with integers none of which repeats; None also where a cell is no scalar.

    Containers must be hashed: those that cannot be compare by other rules than Python's.
    """
    for column in range(len(rows[0])):
        head = [row[column] for row in rows[:_LOOK]]
        if set(map(type, head)) == {int} and len(set(head)) == len(head):
            return column if set(map(type, chain.from_iterable(rows))) <= _SCALARS else None
    return None
