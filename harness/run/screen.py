"""What a run tells whoever watches it, without knowing whether that is a terminal, a log or a test."""

from __future__ import annotations

from typing import Protocol


class Screen(Protocol):
    """Told each phase and each finished result; must be cheap and never raise."""

    def notice(self, line: str) -> None:
        """Show one line about a phase ("building base image for mysql, about 30 s")."""
        ...

    def progress(self, phase: str, done: int, total: int) -> None:
        """Show that `done` of `total` steps of a phase are finished."""
        ...


class Silent:
    """A screen that shows nothing: for library use and tests."""

    def notice(self, line: str) -> None:
        """Show nothing."""

    def progress(self, phase: str, done: int, total: int) -> None:
        """Show nothing."""
