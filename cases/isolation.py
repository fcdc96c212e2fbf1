"""How far the statements of a run are kept apart: on one server, a server a case, or a server a statement."""

from __future__ import annotations

from typing import Literal

IsolationLevel = Literal["run", "case", "statement"]

_STRICTNESS: tuple[IsolationLevel, ...] = ("run", "case", "statement")


def stricter(level: IsolationLevel, asked: IsolationLevel | None) -> IsolationLevel:
    """Return the stricter of two levels: a case may tighten what its run says, never loosen it."""
    return level if asked is None else max(level, asked, key=_STRICTNESS.index)
