"""Disagreement: structure and execution tell different stories about one case."""

from __future__ import annotations

from sqlassay.harness.metrics.contract import Ask, Metric
from sqlassay.harness.metrics.structural import STRUCTURAL
from sqlassay.harness.results.evidence import Evidence, Score


def _compute(evidence: Evidence, ask: Ask | None) -> Score:
    """Return 1 where |structural − execution score| > t; the rate over a run is the mean of these."""
    from sqlassay.harness.metrics.execution import EXECUTION_SCORE

    structural = STRUCTURAL.compute(evidence, ask)
    execution = EXECUTION_SCORE.compute(evidence, ask)
    threshold = evidence.settings.disagreement
    if structural.value is None:
        return Score(None, f"no structural score: {structural.reason}")
    if execution.value is None:
        return Score(None, f"no execution score: {execution.reason}")
    gap = abs(structural.value - execution.value)
    reason = f"|{structural.value:.3g} − {execution.value:.3g}| = {gap:.3g}, t = {threshold:g}"
    details = (("structural", structural.value), ("execution_score", execution.value), ("gap", gap), ("t", threshold))
    return Score(float(gap > threshold), reason, details)


DISAGREEMENT = Metric(
    name="disagreement",
    needs=frozenset({"gold"}),
    citation="Skill paper, disagreement rate (t is not given there; default 0.1)",
    formula="1 if |structural − execution_score| > t else 0",
    range=(0.0, 1.0),
    compute=_compute,
    higher_is_better=False,
)
"""The metric."""
