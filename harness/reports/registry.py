"""Finds the installed reports under `sqlassay.reports` and writes them all; a stranger's fault costs its file only."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Protocol, cast

from sqlassay.cases.errors import InfrastructureError
from sqlassay.cases.extensions import installed, load
from sqlassay.harness.reports.escape import one_line
from sqlassay.harness.results.run_result import RunResult

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
    """Write every installed report, in order of name, and return the paths of all files that were written.

    A stranger's report that fails costs its own files and one logged line.

    Raises:
        InfrastructureError: the folder cannot be written; every report was tried.
    """
    written: list[Path] = []
    unwritable: list[str] = []
    for point in installed(GROUP).values():
        try:
            written += cast(Report, point.load())(run, folder)
        except OSError as fault:
            unwritable.append(f"{point.name} ({fault.strerror or one_line(str(fault))})")
        except Exception as fault:  # noqa: BLE001 - a report is foreign code: whatever it raises, the others still appear
            _log.warning("report %s failed: %s: %s", point.name, type(fault).__name__, one_line(str(fault)))
    if unwritable:
        raise InfrastructureError(
            f"reports could not be written: {', '.join(unwritable)}",
            remedy="Free space or mend that; results.jsonl holds every result; another run can go elsewhere with --out",
        )
    return tuple(written)
