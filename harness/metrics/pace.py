"""How much faster a prediction is than its gold: the median of repeated rounds, with its interval."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean, median, pstdev

from sqlassay.harness.metrics.outcomes import last, unscorable
from sqlassay.harness.results.evidence import Evidence, Score

NOT_TIMED = "no repeated timings: one run on each of two servers says nothing about speed"
_WANTED = 0.95


@dataclass(frozen=True, slots=True)
class Pace:
    """Gold seconds / predicted seconds over the rounds that are no outliers.

    `ratio` is their median, `low` to `high` holds the true median in that share (`coverage`) of all runs. `published`
    is their mean, which BIRD's script takes; `dropped` rounds were outliers by its rule.
    """

    ratio: float
    low: float
    high: float
    coverage: float
    published: float
    rounds: int
    dropped: int


def pace(evidence: Evidence) -> Pace | Score:
    """Return the pace of a prediction that was timed beside its gold, else why there is none."""
    missing = unscorable(evidence)
    if missing is not None:
        return missing
    execution = last(evidence)
    if execution is None or not execution.timings:
        why = execution.not_timed if execution is not None else ""
        return Score(None, f"not timed: {why}" if why else NOT_TIMED)
    if not all(predicted > 0 for _, predicted in execution.timings):
        return Score(None, "the timings are too short to divide")
    return pace_of([gold / predicted for gold, predicted in execution.timings])


def pace_of(ratios: Sequence[float]) -> Pace:
    """Return the pace over the ratio of each round: a round is divided by itself, as both sides share its weather."""
    kept = sorted(usual(ratios))
    place, coverage = _place(len(kept))
    return Pace(
        ratio=median(kept),
        low=kept[place],
        high=kept[-1 - place],
        coverage=coverage,
        published=fmean(kept),
        rounds=len(kept),
        dropped=len(ratios) - len(kept),
    )


def usual(values: Sequence[float]) -> list[float]:
    """Return the values within three standard deviations of their mean, BIRD's rule; equal ones are all kept.

    Of fewer than ten values none can be further away than that: the median is what keeps an outlier from counting.
    """
    mean, spread = fmean(values), pstdev(values)
    return [value for value in values if not spread or abs(value - mean) < 3 * spread]


def _place(count: int) -> tuple[int, float]:
    """Return how many values to leave out at each end for an interval of the median, and the share it covers.

    The interval between two order statistics: it asks nothing of the shape of the values.
    """
    best = (0, _coverage(count, 0))
    for place in range(1, (count + 1) // 2):
        covered = _coverage(count, place)
        if covered < _WANTED:
            break
        best = (place, covered)
    return best


def _coverage(count: int, place: int) -> float:
    """Return how often the true median lies between the values at `place` from either end."""
    return 1.0 - 2.0 * sum(math.comb(count, below) for below in range(place + 1)) / 2.0**count


def paced(found: Pace, value: Callable[[float], float]) -> Score:
    """Return the score of a pace, with its interval, and with what the published script would have said."""
    details = (
        ("ratio", found.ratio),
        ("low", value(found.low)),
        ("high", value(found.high)),
        ("coverage", found.coverage),
        ("published", value(found.published)),
        ("rounds", float(found.rounds)),
        ("dropped", float(found.dropped)),
    )
    span = f"{found.low:.3g} to {found.high:.3g} in {found.rounds} rounds"
    return Score(value(found.ratio), f"gold takes {found.ratio:.3g} times as long ({span})", details)
