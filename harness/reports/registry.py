"""Finds the installed reports under `sqlassay.reports` and writes them all; a stranger's fault costs its file only."""

from __future__ import annotations

import logging
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Protocol, cast

from cases.extensions import installed, load
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
    return tuple(installed(GROUP))


def report(name: str) -> Report:
    """Return one report by name, loading its module only now.

    Raises:
        InputError: no such report; the remedy lists the installed ones.
    """
    return cast(Report, load(GROUP, name, what="report", field="report"))


def write_all(run: RunResult, folder: Path) -> tuple[Path, ...]:
    """Write every installed report, in order of name, and return the paths of all files that were written."""
    return tuple(path for point in installed(GROUP).values() for path in _write(point, run, folder))


def _write(point: EntryPoint, run: RunResult, folder: Path) -> tuple[Path, ...]:
    """Write one report; a failure is one logged line, since the results themselves are safe in the run folder."""
    try:
        return tuple(cast(Report, point.load())(run, folder))
    except Exception as fault:  # noqa: BLE001 - a report is foreign code: whatever it raises, the others still appear
        _log.warning("report %s failed: %s: %s", point.name, type(fault).__name__, one_line(str(fault)))
        return ()
