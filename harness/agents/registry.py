"""Find a kind of agent by name among the installed `sqlassay.agents` entry points."""

from __future__ import annotations

from sqlassay.cases.extensions import installed, load
from sqlassay.harness.agents.contract import Agent

GROUP = "sqlassay.agents"


def names() -> tuple[str, ...]:
    """Return every installed kind of agent, sorted."""
    return tuple(installed(GROUP))


def agent(kind: str, target: str) -> Agent:
    """Return an agent of one kind for a target: a prediction file, or `module:function`.

    Raises:
        InputError: no such kind, or a target it cannot use.
    """
    made: Agent = load(GROUP, kind, what="agent", field="agent").of(target)
    return made
