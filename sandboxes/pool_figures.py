"""What a pool did: how many servers it started and replaced, and how long whoever asked for one had to wait."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil


@dataclass(frozen=True, slots=True)
class PoolFigures:
    """Servers started and replaced, and the seconds of every hand-out: how many, the middle, the 95th part, the worst.

    `fresh` counts hand-outs of a server that nothing had run on; the seconds of those alone are `fresh_median` and
    `fresh_p95`. A hand-out is over when its server is ready for a login.
    """

    started: int = 0
    replaced: int = 0
    handouts: int = 0
    median: float | None = None
    p95: float | None = None
    longest: float | None = None
    fresh: int = 0
    fresh_median: float | None = None
    fresh_p95: float | None = None


def figures_of(started: int, replaced: int, waits: Sequence[float], fresh: Sequence[float]) -> PoolFigures:
    """Return the figures of so many servers and these hand-outs."""
    return PoolFigures(
        started=started,
        replaced=replaced,
        handouts=len(waits),
        median=rank(waits, 0.5),
        p95=rank(waits, 0.95),
        longest=rank(waits, 1.0),
        fresh=len(fresh),
        fresh_median=rank(fresh, 0.5),
        fresh_p95=rank(fresh, 0.95),
    )


def rank(values: Sequence[float], share: float) -> float | None:
    """Return the smallest value that at least this share of all does not pass, None of none."""
    if not values:
        return None
    ordered = sorted(values)
    return round(ordered[max(0, ceil(len(ordered) * share) - 1)], 6)
