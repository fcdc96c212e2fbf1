"""Show a run's phases: a progress bar on a terminal, plain lines elsewhere. Everything goes to standard error."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Protocol

_EVERY = 5.0


class LiveScreen(Protocol):
    """A screen that is opened and closed around a run."""

    def __enter__(self) -> LiveScreen:
        """Start showing."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop showing."""
        ...

    def notice(self, line: str) -> None:
        """Show one phase line."""
        ...

    def progress(self, phase: str, done: int, total: int) -> None:
        """Show how far a phase is."""
        ...


class PlainScreen:
    """One line a phase, and one every few seconds while a phase lasts: for logs and CI."""

    def __init__(self) -> None:
        """Say nothing yet."""
        self._last = time.monotonic()

    def __enter__(self) -> PlainScreen:
        """Nothing to start."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing to stop."""

    def notice(self, line: str) -> None:
        """Write the line."""
        sys.stderr.write(line + "\n")
        sys.stderr.flush()

    def progress(self, phase: str, done: int, total: int) -> None:
        """Write a line at the end of a phase, and every few seconds on the way."""
        now = time.monotonic()
        if done == total or now - self._last >= _EVERY:
            self._last = now
            self.notice(f"{phase}: {done} of {total}")


class BarScreen:
    """A progress bar a phase, for terminals."""

    def __init__(self) -> None:
        """Prepare the bars; rich is imported only here."""
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        self._console = Console(stderr=True)
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
        )
        self._tasks: dict[str, object] = {}

    def __enter__(self) -> BarScreen:
        """Start drawing."""
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop drawing and give the terminal back."""
        self._bars.stop()

    def notice(self, line: str) -> None:
        """Print a line above the bars, as plain text."""
        self._console.print(line, markup=False, highlight=False)

    def progress(self, phase: str, done: int, total: int) -> None:
        """Move the phase's bar."""
        task = self._tasks.get(phase)
        if task is None:
            task = self._tasks[phase] = self._bars.add_task(phase, total=total)
        self._bars.update(task, completed=done)  # type: ignore[arg-type]


def screen() -> LiveScreen:
    """Return the screen that fits where standard error goes."""
    return BarScreen() if sys.stderr.isatty() else PlainScreen()
