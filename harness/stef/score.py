"""The composite score: Eq. 11–14 and Tables 1–3 of the paper, as pure functions."""

from __future__ import annotations

import math
from typing import Literal

from sqlassay.harness.stef.answers import Verdict
from sqlassay.harness.stef.rules import Tolerance

FilterStatus = Literal["fully_applied", "fully_applied_with_extras", "partially_applied", "not_applied"]
Tier = Literal["Excellent", "Good", "Marginal", "Poor"]
Reliability = Literal["high", "moderate", "low"]

SIGMA_FILTERS: dict[FilterStatus, int] = {
    "fully_applied": 5,
    "fully_applied_with_extras": 4,
    "partially_applied": 3,
    "not_applied": 0,
}
"""Table 1."""

SIGMA_VERDICT: dict[Verdict, int] = {"Correct": 5, "Likely Correct": 3, "Potentially Incorrect": 2, "Incorrect": 0}
"""Table 2."""

ACTIONS: dict[Tier, str] = {
    "Excellent": "No action required; suitable for automated production use.",
    "Good": "Monitor for systematic patterns; low-priority review.",
    "Marginal": "Escalate for human review; investigate failures.",
    "Poor": "Flag for immediate review.",
}
"""Table 3's recommended actions."""

_DEFAULT = Tolerance()


def reliability(confidence: float, tolerance: Tolerance = _DEFAULT) -> Reliability:
    """Return the reliability tier of a confidence γ, the segments of Eq. 13."""
    if confidence >= tolerance.high:
        return "high"
    return "moderate" if confidence >= tolerance.moderate else "low"


def multiplier(confidence: float, tolerance: Tolerance = _DEFAULT) -> float:
    """Return Γ(γ), Eq. 13.

    Raises:
        ValueError: γ is not in [0, 1].
    """
    if math.isnan(confidence) or not 0 <= confidence <= 1:
        raise ValueError(f"a confidence of {confidence} is not in [0, 1]")
    return tolerance.multipliers[("high", "moderate", "low").index(reliability(confidence, tolerance))]


def leniency(status: FilterStatus, *, benign: bool) -> int:
    """Return δ, Eq. 14: 1 where the status is with extras and every extra is benign."""
    return int(status == "fully_applied_with_extras" and benign)


def base(status: FilterStatus, verdict: Verdict, delta: int) -> int:
    """Return B = σ_filters + σ_verdict + δ, Eq. 12."""
    return SIGMA_FILTERS[status] + SIGMA_VERDICT[verdict] + delta


def composite(
    status: FilterStatus, verdict: Verdict, confidence: float, *, benign: bool, tolerance: Tolerance = _DEFAULT
) -> float:
    """Return Φ = B / 10 · 100 · Γ, Eq. 11, rounded to two decimals as Listing 8 does.

    Raises:
        ValueError: γ is not in [0, 1].
    """
    points = base(status, verdict, leniency(status, benign=benign))
    return round(points / 10 * 100 * multiplier(confidence, tolerance), 2)


def tier(phi: float, tolerance: Tolerance = _DEFAULT) -> Tier:
    """Return the quality tier of a score, Table 3."""
    if phi >= tolerance.excellent:
        return "Excellent"
    if phi >= tolerance.good:
        return "Good"
    return "Marginal" if phi >= tolerance.marginal else "Poor"
