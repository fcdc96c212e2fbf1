"""Where a prediction runs: the route the agent chose, against the pack's routes and the case's expected one."""

from __future__ import annotations

from dataclasses import dataclass

from sqlassay.cases.case import Case, Prediction
from sqlassay.cases.pack import Pack


@dataclass(frozen=True, slots=True)
class Route:
    """The expected and selected route. `snapshot` is where the prediction runs, None where it is not executed.

    `home` is the case's own snapshot, whose catalogue names are read against in either case.
    """

    expected: str | None
    selected: str | None
    known: bool
    snapshot: str | None
    home: str
    reason: str = ""


def resolve_route(case: Case, prediction: Prediction | None, pack: Pack) -> Route:
    """Return the prediction's route; none given means the expected one, an unknown or null one is not executed."""
    routes = dict(pack.routes)
    selected = prediction.route if prediction is not None else None
    if selected is None:
        return Route(case.route, None, known=True, snapshot=case.snapshot, home=case.snapshot)
    if selected not in routes:
        known = ", ".join(sorted(routes)) or "none"
        reason = f"unknown route '{selected}' (routes of the pack: {known}); not executed"
        return Route(case.route, selected, known=False, snapshot=None, home=case.snapshot, reason=reason)
    target = routes[selected]
    reason = "" if target else f"route '{selected}' is not a SQL surface; not executed"
    return Route(case.route, selected, known=True, snapshot=target, home=case.snapshot, reason=reason)
