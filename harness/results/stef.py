"""What a run of STEF comes to: mean, P90 and coverage, in all and by agent, version and category (Table 4)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict

AXES = ("agent", "version", "category")
TIERS = ("Excellent", "Good", "Marginal", "Poor")
RELIABILITY = ("high", "moderate", "low")


@dataclass(frozen=True, slots=True)
class Mark:
    """One submitted row: its score, None where there is none, the signals counted, and where it belongs."""

    phi: float | None = None
    tier: str | None = None
    reliability: str | None = None
    filter_status: str | None = None
    limit: str | None = None
    faithful: bool | None = None
    agent: str | None = None
    version: str | None = None
    category: str | None = None


class Totals(BaseModel):
    """The figures of some rows. Means cover the rows with a score, coverage is those among all submitted."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    submitted: int
    evaluated: int
    coverage: float | None
    mean: float | None
    p90: float | None
    tiers: dict[str, int]
    reliability: dict[str, int]
    filter_statuses: dict[str, int]
    flagged_limits: int
    drifted: int


class RunTotals(Totals):
    """The figures of all rows, and of those of each agent, version and category."""

    by: dict[str, dict[str, Totals]]


def percentile_90(scores: Sequence[float]) -> float | None:
    """Return the 90th percentile by nearest rank: the smallest score that at least 90 % are not above."""
    if not scores:
        return None
    return sorted(scores)[math.ceil(len(scores) * 9 / 10) - 1]


def totals(rows: Sequence[Mark]) -> RunTotals:
    """Return a run's figures with their breakdown; rows that name no agent, say, are in none of its parts."""
    by: dict[str, dict[str, Totals]] = {}
    for axis in AXES:
        names = sorted({name for row in rows if (name := getattr(row, axis)) is not None})
        if names:
            by[axis] = {name: Totals(**_figures([row for row in rows if getattr(row, axis) == name])) for name in names}
    return RunTotals(**_figures(rows), by=by)


def _figures(rows: Sequence[Mark]) -> dict[str, Any]:
    """Return the figures of some rows."""
    scores = [row.phi for row in rows if row.phi is not None]
    return {
        "submitted": len(rows),
        "evaluated": len(scores),
        "coverage": len(scores) / len(rows) if rows else None,
        "mean": math.fsum(scores) / len(scores) if scores else None,
        "p90": percentile_90(scores),
        "tiers": _counted([row.tier for row in rows], TIERS),
        "reliability": _counted([row.reliability for row in rows], RELIABILITY),
        "filter_statuses": _counted([row.filter_status for row in rows], ()),
        "flagged_limits": sum(row.limit == "flagged" for row in rows),
        "drifted": sum(row.faithful is False for row in rows),
    }


def _counted(values: Sequence[str | None], order: Sequence[str]) -> dict[str, int]:
    """Count values, in a fixed order where there is one."""
    counts = Counter(value for value in values if value is not None)
    return {name: counts[name] for name in (*order, *sorted(set(counts) - set(order)))}
