"""What k trials of each case say: the share some trial passes, the share all pass, by any k, with intervals. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

_Z = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Passing:
    """pass@k and pass^k over cases, unbiased, each with a 95 % interval over the cases."""

    k: int
    some: float
    every: float
    some_interval: tuple[float, float]
    every_interval: tuple[float, float]


def passing(outcomes: Sequence[Sequence[bool]]) -> tuple[Passing, ...]:
    """Return the estimates for each k up to the fewest trials of a case.

    Of n trials with c passes, 1 − C(n − c, k) / C(n, k) of the choices of k have a pass, and C(c, k) / C(n, k) nothing
    but passes: the mean over all choices, where the plain share of one choice would depend on which it is.
    """
    fewest = min((len(trials) for trials in outcomes), default=0)
    return tuple(_estimated(k, outcomes) for k in range(1, fewest + 1))


def _estimated(k: int, outcomes: Sequence[Sequence[bool]]) -> Passing:
    """Return the estimates for one k."""
    some, every = [], []
    for trials in outcomes:
        n, passes = len(trials), sum(trials)
        some.append(1 - math.comb(n - passes, k) / math.comb(n, k))
        every.append(math.comb(passes, k) / math.comb(n, k))
    return Passing(k, _mean(some), _mean(every), interval(_mean(some), len(some)), interval(_mean(every), len(every)))


def _mean(values: Sequence[float]) -> float:
    """Return the mean."""
    return math.fsum(values) / len(values)


def interval(share: float, n: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share over n cases; a mean of values from 0 to 1 varies no more than that."""
    middle = (share + _Z * _Z / (2 * n)) / (1 + _Z * _Z / n)
    half = _Z / (1 + _Z * _Z / n) * math.sqrt(max(0.0, share * (1 - share)) / n + _Z * _Z / (4 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)
