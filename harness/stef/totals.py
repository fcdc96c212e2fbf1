"""A run's aggregates, as Table 4 has them: mean, P90 and coverage, in all and by agent, version and category."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict

from harness.stef.assessment import Assessment
from harness.stef.score import ACTIONS

AXES = ("agent", "version", "category")


@dataclass(frozen=True, slots=True)
class Assessed:
    """One submitted row: where it belongs, and its assessment, None where the line could not be read."""

    assessment: Assessment | None
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


def totals(rows: Sequence[Assessed]) -> RunTotals:
    """Return a run's figures with their breakdown; rows that name no agent, say, are in none of its parts."""
    by: dict[str, dict[str, Totals]] = {}
    for axis in AXES:
        names = sorted({name for row in rows if (name := getattr(row, axis)) is not None})
        if names:
            by[axis] = {name: Totals(**_figures([row for row in rows if getattr(row, axis) == name])) for name in names}
    return RunTotals(**_figures(rows), by=by)


def _figures(rows: Sequence[Assessed]) -> dict[str, Any]:
    """Return the figures of some rows."""
    found = [row.assessment for row in rows if row.assessment is not None]
    scores = [each.phi for each in found if each.phi is not None]
    return {
        "submitted": len(rows),
        "evaluated": len(scores),
        "coverage": len(scores) / len(rows) if rows else None,
        "mean": math.fsum(scores) / len(scores) if scores else None,
        "p90": percentile_90(scores),
        "tiers": _counted([each.tier for each in found], tuple(ACTIONS)),
        "reliability": _counted([each.reliability for each in found], ("high", "moderate", "low")),
        "filter_statuses": _counted([each.filter_status for each in found], ()),
        "flagged_limits": sum(each.signals is not None and each.signals.limit == "flagged" for each in found),
        "drifted": sum(each.drift is not None and each.drift.faithful is False for each in found),
    }


def _counted(values: Sequence[str | None], order: Sequence[str]) -> dict[str, int]:
    """Count values, in a fixed order where there is one."""
    counts = Counter(value for value in values if value is not None)
    return {name: counts[name] for name in (*order, *sorted(set(counts) - set(order)))}
