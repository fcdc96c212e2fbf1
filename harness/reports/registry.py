"""Finds the installed reports under `sqlassay.reports` and writes them all; a stranger's fault costs its file only."""

from __future__ import annotations

import logging
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Protocol, cast

from cases.errors import InputError
from harness.reports.escape import one_line
from harness.results.run_result import RunResult

GROUP = "sqlassay.reports"
_log = logging.getLogger("sqlassay.reports")


class Report(Protocol):
    """Writes files about a run into a folder and returns their paths."""

    def __call__(self, run: RunResult, folder: Path) -> tuple[Path, ...]:
        """Write and return the paths."""
        ...


def names() -> tuple[str, ...]:
    """Return every installed report name, sorted."""
    return tuple(sorted({point.name for point in entry_points(group=GROUP)}))


def report(name: str) -> Report:
    """Return one report by name, loading its module only now.

    Raises:
        InputError: no such report; the remedy lists the installed ones.
    """
    for point in entry_points(group=GROUP):
        if point.name == name:
            return cast(Report, point.load())
    raise InputError(f"unknown report '{name}'", field="report", remedy=f"Installed reports: {', '.join(names())}")


def write_all(run: RunResult, folder: Path) -> tuple[Path, ...]:
    """Write every installed report, in order of name, and return the paths of all files that were written."""
    points = sorted(entry_points(group=GROUP), key=lambda point: point.name)
    return tuple(path for point in points for path in _write(point, run, folder))


def _write(point: EntryPoint, run: RunResult, folder: Path) -> tuple[Path, ...]:
    """Write one report; a failure is one logged line, since the results themselves are safe in the run folder."""
    try:
        return tuple(cast(Report, point.load())(run, folder))
    except Exception as fault:  # noqa: BLE001 - a report is foreign code: whatever it raises, the others still appear
        _log.warning("report %s failed: %s: %s", point.name, type(fault).__name__, one_line(str(fault)))
        return ()
