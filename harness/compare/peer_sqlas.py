"""SQLAS's execution accuracy, version 2.8, with both statements taken to be equally fast."""

from __future__ import annotations

from collections.abc import Sequence

from sqlassay.cases.relation import Row
from sqlassay.harness.compare.peer_spider import PeerUnavailableError

_MOST_PAIRS = 4_000_000
_TOLERANCE = 0.5


def sqlas_score(gold: Sequence[Row], pred: Sequence[Row]) -> float:
    """Return 0.6 output + 0.2 row counts + 0.2 speed, to four digits; speed is a fact of the machine, so 1 here.

    Raises: PeerUnavailableError where its row by row matching would not end in reasonable time.
    """
    if len(gold) * len(pred) > _MOST_PAIRS:
        raise PeerUnavailableError(f"it would match {len(gold)} rows one by one with {len(pred)}")
    scalar = _scalar(gold), _scalar(pred)
    if scalar[0] is not None and scalar[1] is not None:
        output = _scalar_score(scalar[0], scalar[1])
    else:
        output = _rows_score(gold, pred)
    counts = 1.0 if len(gold) == len(pred) else 0.0
    if not counts and gold and pred:
        counts = min(len(gold), len(pred)) / max(len(gold), len(pred))
    return round(0.6 * output + 0.2 * counts + 0.2, 4)


def _scalar(rows: Sequence[Row]) -> float | None:
    """Return the only cell where it is a number, else None."""
    if len(rows) != 1 or len(rows[0]) != 1 or not isinstance(rows[0][0], int | float):
        return None
    return float(rows[0][0])


def _scalar_score(gold: float, pred: float) -> float:
    """Return the score of one number: ten times the relative error is taken off."""
    if gold == 0:
        return 1.0 if pred == 0 else 0.0
    return max(0.0, 1.0 - abs(gold - pred) / abs(gold) * 10)


def _rows_score(gold: Sequence[Row], pred: Sequence[Row]) -> float:
    """Return the mean over gold rows of the best unused predicted row's score, taken greedily."""
    if not gold:
        return 1.0 if not pred else 0.5
    theirs = [_numbers(row) for row in pred]
    used: set[int] = set()
    total = 0.0
    for row in gold:
        ours = _numbers(row)
        best, at = 0.0, -1
        for index, other in enumerate(theirs):
            score = 0.0 if index in used else _row_score(ours, other)
            if score > best:
                best, at = score, index
        if at >= 0:
            used.add(at)
        total += best
    return total / len(gold)


def _numbers(row: Row) -> list[float]:
    """Return a row's ints, floats and booleans to two digits, sorted; Decimals, texts and dates are not looked at."""
    return sorted(round(float(cell), 2) for cell in row if isinstance(cell, int | float))


def _row_score(gold: list[float], pred: list[float]) -> float:
    """Return how far one row's numbers are found in the other's, the shorter in the longer."""
    if not gold:
        return 0.8 if pred else 1.0
    if not pred:
        return 0.0
    if len(pred) < len(gold):
        share = _found(pred, gold)
        return 1.0 if share >= 0.99 else share
    return _found(gold, pred)


def _found(needle: list[float], haystack: list[float]) -> float:
    """Return the share of numbers with an unused one within 0.5, the nearest taken first."""
    left = list(haystack)
    matched = 0
    for value in needle:
        best, at = float("inf"), -1
        for index, other in enumerate(left):
            gap = abs(value - other)
            if gap < best:
                best, at = gap, index
        if at >= 0 and best <= _TOLERANCE:
            left.pop(at)
            matched += 1
    return matched / len(needle)
