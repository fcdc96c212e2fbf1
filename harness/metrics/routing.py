"""Routing: whether the agent picked the data source the question belongs to."""

from __future__ import annotations

from sqlassay.harness.metrics.contract import Ask, Metric
from sqlassay.harness.results.evidence import Evidence, Score


def _compute(evidence: Evidence, _ask: Ask | None) -> Score:
    """Compare the selected route with the expected one; without either there is nothing to score."""
    expected, selected = evidence.expected_route, evidence.selected_route
    if expected is None:
        return Score(None, "no route is expected of this case")
    if selected is None:
        return Score(None, f"the agent named no route (expected '{expected}')")
    if not evidence.known_route:
        return Score(0.0, f"route '{selected}' is unknown (expected '{expected}')")
    if selected == expected:
        return Score(1.0, f"route '{selected}' as expected")
    return Score(0.0, f"route '{selected}' instead of '{expected}'")


ROUTING = Metric(
    name="routing",
    needs=frozenset(),
    citation="Skill paper, routing signal",
    formula="1 if selected route = expected route else 0",
    range=(0.0, 1.0),
    compute=_compute,
)
"""The metric."""
