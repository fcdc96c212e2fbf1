"""Find what is installed under an entry-point group, ours registered as a stranger's, loaded only when named."""

from __future__ import annotations

from difflib import get_close_matches
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from sqlassay.cases.errors import InputError

_NEAR = 0.6
"""How alike a name must be to be the one that was meant."""


def installed(group: str) -> dict[str, EntryPoint]:
    """Return every entry point of a group by name, sorted; nothing is loaded."""
    return {point.name: point for point in sorted(entry_points(group=group), key=lambda point: point.name)}


def load(group: str, name: str, *, what: str, field: str) -> Any:
    """Return the object one entry point names.

    `what` is the word for it in the message ("dialect"), `field` where it was named ("--metrics").

    Raises:
        InputError: nothing of that name is installed; the remedy lists what is.
    """
    points = installed(group)
    if not isinstance(name, str):
        raise InputError(f"{type(name).__name__} names no {what}", field=field, remedy=f"Choose: {', '.join(points)}")
    if name not in points:
        plural = f"{what[:-1]}ies" if what.endswith("y") else f"{what}s"
        near = get_close_matches(name.lower(), points, n=1, cutoff=_NEAR)
        meant = f"Did you mean {near[0]}? " if near else ""
        remedy = f"{meant}Installed {plural}: {', '.join(points)}"
        raise InputError(f"unknown {what} '{name}'", field=field, remedy=remedy)
    return points[name].load()
