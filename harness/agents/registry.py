"""Find a kind of agent by name among the installed `sqlassay.agents` entry points."""

from __future__ import annotations

from importlib.metadata import entry_points

from cases.errors import InputError
from harness.agents.contract import Agent

GROUP = "sqlassay.agents"


def names() -> tuple[str, ...]:
    """Return every installed kind of agent, sorted."""
    return tuple(sorted(point.name for point in entry_points(group=GROUP)))


def agent(kind: str, target: str) -> Agent:
    """Return an agent of one kind for a target: a prediction file, or `module:function`.

    Raises:
        InputError: no such kind, or a target it cannot use.
    """
    for point in entry_points(group=GROUP):
        if point.name == kind:
            made: Agent = point.load().of(target)
            return made
    raise InputError(f"unknown agent '{kind}'", field="agent", remedy=f"Installed agents: {', '.join(names())}")
