"""A crosscheck as CSV: one line a case and pair of engines, with the statement that showed the cause, never cut."""

from __future__ import annotations

import csv
import io

from sqlassay.harness.reports.escape import csv_cell
from sqlassay.harness.results.crosscheck import CrossCase, CrossResult, Pair

_HEADS = (
    "case_id", "question", "one", "other", "agreement", "cause", "also", "owner", "explained", "reason", "probe",
    "form", "one_sql", "other_sql",
)  # fmt: skip


def document(found: CrossResult) -> str:
    """Return crosscheck.csv, safe to open in a spreadsheet."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(_HEADS)
    for case in found.cases:
        for pair in case.pairs:
            writer.writerow([csv_cell(cell) for cell in _line(case, pair)])
    return buffer.getvalue()


def _line(case: CrossCase, pair: Pair) -> tuple[str, ...]:
    """Return one pair's cells; a pair that agrees has no cause."""
    told = pair.found
    sql = {cell.dialect: cell.sql or "" for cell in case.cells}
    causes = ("",) * 4 if told is None else (told.cause, ", ".join(told.also), told.owner, str(told.explained))
    proof = ("", "") if told is None else (told.probe, told.form)
    return (
        case.case_id, case.question, pair.one, pair.other, pair.agreement, *causes, pair.reason, *proof,
        sql.get(pair.one, ""), sql.get(pair.other, ""),
    )  # fmt: skip
