"""Spider's test suite: one column permutation fits all rows, found by walking a product of candidate columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import prod

from sqlassay.cases.relation import Row

_MOST_WALKED = 50_000_000
"""Column tuples the peer walks in about half a minute; past them it hangs."""

_MOST_STEPS = 200_000
_FREE_WIDTH = 3


class PeerUnavailableError(Exception):
    """The peer itself would crash or not end on this pair, so it has no verdict."""


def spider_equal(gold: Sequence[Row], pred: Sequence[Row], *, ordered: bool) -> bool:
    """Return the peer's verdict.

    Raises: PeerUnavailableError where the tuples it would walk before its answer are too many to end.
    """
    if not gold and not pred:
        return True
    if len(gold) != len(pred) or len(gold[0]) != len(pred[0]):
        return False
    left, right = ([_unordered(row) for row in rows] for rows in (gold, pred))
    if (left != right) if ordered else (set(left) != set(right)):
        return False
    candidates = _candidates(gold, pred)
    first = next(_permutations(gold, pred, candidates, ordered=ordered), None)
    walked = prod(map(len, candidates)) if first is None else _place(first, candidates)
    if walked > _MOST_WALKED:
        raise PeerUnavailableError(f"it would walk through {walked} column tuples")
    return first is not None


def _unordered(row: Row) -> Row:
    """Return a row with its cells sorted by text and type, as the peer does to reject early."""
    return tuple(sorted(row, key=lambda cell: str(cell) + str(type(cell))))


def _candidates(gold: Sequence[Row], pred: Sequence[Row]) -> list[list[int]]:
    """Return the predicted columns each gold column may face: those without a value that the gold column lacks.

    The peer draws 20 rows by chance to learn that; all rows are what it learns at best.
    """
    width = len(gold[0])
    if width <= _FREE_WIDTH:
        return [list(range(width))] * width
    ours = [set(column) for column in zip(*gold, strict=True)]
    theirs = [set(column) for column in zip(*pred, strict=True)]
    return [[index for index, column in enumerate(theirs) if column <= known] for known in ours]


def _permutations(
    gold: Sequence[Row], pred: Sequence[Row], candidates: list[list[int]], *, ordered: bool
) -> Iterator[tuple[int, ...]]:
    """Yield the column permutations under which the rows are equal, in the peer's own order.

    Raises: PeerUnavailableError past a budget that lies below the peer's own walk.
    """
    ours, theirs = list(zip(*gold, strict=True)), list(zip(*pred, strict=True))
    bags = [Counter(column) for column in theirs]
    alike = [
        [j for j in faced if (column == theirs[j] if ordered else Counter(column) == bags[j])]
        for column, faced in zip(ours, candidates, strict=True)
    ]
    wanted = Counter(gold)
    chosen: list[int] = []
    tried: list[Iterator[int]] = [iter(alike[0])]
    steps = 0
    while tried:
        index = next(tried[-1], None)
        steps += 1
        if steps > _MOST_STEPS:
            raise PeerUnavailableError("too many columns are alike")
        if index is None:
            tried.pop()
            chosen = chosen[:-1]
        elif index not in chosen and len(chosen) + 1 < len(ours):
            chosen = [*chosen, index]
            tried.append(iter(alike[len(chosen)]))
        elif index not in chosen:
            whole = (*chosen, index)
            steps += len(gold) // 20
            if ordered or Counter(tuple(row[place] for place in whole) for row in pred) == wanted:
                yield whole


def _place(found: tuple[int, ...], candidates: list[list[int]]) -> int:
    """Return how many tuples come before this one in the product of the candidates."""
    place = 0
    for index, faced in zip(found, candidates, strict=True):
        place = place * len(faced) + faced.index(index)
    return place
