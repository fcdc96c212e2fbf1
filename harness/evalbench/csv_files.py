"""Write the tables as EvalBench's CSV files, safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from sqlassay.cases.errors import InfrastructureError
from sqlassay.harness.evalbench.tables import Cell, Table
from sqlassay.harness.reports.escape import csv_cell
from sqlassay.harness.reports.files import write_text
from sqlassay.harness.store.output import make_private, mark, note


def write(tables: Sequence[Table], folder: Path) -> tuple[Path, ...]:
    """Write one file a table into `folder`, making it, and return the paths.

    Raises:
        InfrastructureError: the folder cannot be written.
    """
    try:
        make_private(folder)
        mark(folder, "evalbench")
        note(folder)
        return tuple(write_text(folder / f"{table.name}.csv", _text(table)) for table in tables)
    except OSError as error:
        reason = error.strerror or str(error)
        remedy = "Free space or name another output_directory; the run folder has every result"
        raise InfrastructureError(
            f"{folder}: EvalBench's tables cannot be written ({reason})", remedy=remedy
        ) from error


def _text(table: Table) -> str:
    """Return one table as CSV; an empty cell is nothing."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows([_cell(cell) for cell in row] for row in table.rows)
    return buffer.getvalue()


def _cell(cell: Cell) -> str:
    """Return one cell: numbers as they are, every text without what a spreadsheet would run."""
    if cell is None:
        return ""
    return str(cell) if isinstance(cell, int | float) else csv_cell(str(cell))
