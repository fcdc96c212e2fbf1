"""Agreement of two raters over classes: Wilson's interval, Cohen's kappa with its own, the best threshold. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

Counts = tuple[tuple[int, ...], ...]
"""Counts of cases: a row for each class people gave, a column for each class the judge gave."""

Table = tuple[tuple[int, int], tuple[int, int]]
"""The same for no and yes."""

Z = 1.959963984540054
"""The normal quantile of a two-sided 95 % interval."""

FOLDS = 5


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its 95 % interval; None where it cannot be computed from these counts."""

    value: float | None
    low: float | None = None
    high: float | None = None


def wilson(hits: int, n: int) -> Estimate:
    """Return a proportion with Wilson's score interval (Wilson 1927)."""
    if n == 0:
        return Estimate(None)
    share = hits / n
    middle = (share + Z * Z / (2 * n)) / (1 + Z * Z / n)
    half = Z / (1 + Z * Z / n) * math.sqrt(share * (1 - share) / n + Z * Z / (4 * n * n))
    return Estimate(share, max(0.0, middle - half), min(1.0, middle + half))


def kappa(table: Counts) -> Estimate:
    """Return Cohen's kappa (1960), (po − pe) / (1 − pe), and the large-sample interval of Fleiss et al. (1969).

    Where every rating agrees that interval has no width, however few ratings there were: its low end is then kappa at
    the low end of Wilson's interval of po. Where one rater gave one class throughout, kappa is 0 whatever the other
    said, and its interval is all there is. None where both gave one and the same class throughout (pe = 1).
    """
    n = sum(map(sum, table))
    if n == 0:
        return Estimate(None)
    share = [[count / n for count in row] for row in table]
    size = range(len(table))
    rows = [math.fsum(row) for row in share]
    columns = [math.fsum(share[i][j] for i in size) for j in size]
    observed = math.fsum(share[i][i] for i in size)
    expected = math.fsum(rows[i] * columns[i] for i in size)
    agreed = sum(table[i][i] for i in size)
    if math.isclose(expected, 1.0, abs_tol=1e-12):
        return Estimate(None)
    value = (observed - expected) / (1 - expected)
    if agreed == n:
        low = wilson(agreed, n).low
        return Estimate(1.0, ((low or 0.0) - expected) / (1 - expected), 1.0)
    if any(math.isclose(part, 1.0, abs_tol=1e-12) for part in (*rows, *columns)):
        return Estimate(0.0, -1.0, 1.0)
    error = math.sqrt(max(0.0, _variance(share, rows, columns, value, expected)) / n) / (1 - expected)
    return Estimate(value, max(-1.0, value - Z * error), min(1.0, value + Z * error))


def _variance(
    share: Sequence[Sequence[float]], rows: Sequence[float], columns: Sequence[float], value: float, expected: float
) -> float:
    """Return A + B − C of Fleiss, Cohen and Everitt."""
    size = range(len(rows))
    a = math.fsum(share[i][i] * (1 - (rows[i] + columns[i]) * (1 - value)) ** 2 for i in size)
    b = math.fsum(share[i][j] * (columns[i] + rows[j]) ** 2 for i in size for j in size if i != j)
    return a + (1 - value) ** 2 * b - (value - expected * (1 - value)) ** 2


def confusion(human: Sequence[bool], scores: Sequence[float], threshold: float) -> Table:
    """Return the 2 × 2 table: people's no and yes down, the judge's no and yes (score ≥ threshold) across."""
    counts = [[0, 0], [0, 0]]
    for label, score in zip(human, scores, strict=True):
        counts[label][score >= threshold] += 1
    return (counts[0][0], counts[0][1]), (counts[1][0], counts[1][1])


def best_threshold(human: Sequence[bool], scores: Sequence[float], now: float) -> float:
    """Return the threshold with the highest kappa, then the highest agreement, then the nearest to the one of now.

    Between two scores that occur every threshold gives the same classes; the middle between them is taken.
    """
    occurring = sorted(set(scores))
    between = [(low + high) / 2 for low, high in zip(occurring, occurring[1:], strict=False)]

    def worth(threshold: float) -> tuple[float, int, float]:
        """Return what a threshold is chosen by."""
        table = confusion(human, scores, threshold)
        value = kappa(table).value
        return (-2.0 if value is None else round(value, 12), table[0][0] + table[1][1], -abs(threshold - now))

    return max([now, *between], key=worth)


def held_out(human: Sequence[bool], scores: Sequence[float], now: float) -> Estimate:
    """Return kappa where each fifth of the labels is classed by the threshold the other four fifths choose.

    A threshold looks best on the labels it was chosen on; this is what it may be worth on others.
    """
    folds = min(FOLDS, len(human))
    if folds < 2:
        return Estimate(None)
    counts = [[0, 0], [0, 0]]
    for fold in range(folds):
        rest = [index for index in range(len(human)) if index % folds != fold]
        threshold = best_threshold([human[i] for i in rest], [scores[i] for i in rest], now)
        for index in range(fold, len(human), folds):
            counts[human[index]][scores[index] >= threshold] += 1
    return kappa(tuple(map(tuple, counts)))
