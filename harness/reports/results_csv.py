"""Writes results.csv: one line a result, safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from sqlassay.harness.reports.escape import csv_cell
from sqlassay.harness.reports.files import write_text
from sqlassay.harness.results.case_result import CaseResult, Timing
from sqlassay.harness.results.run_result import RunResult

NAME = "results.csv"
_TEXT = (
    "case_id",
    "dialect",
    "snapshot",
    "question",
    "scenario",
    "difficulty",
    "expected_route",
    "selected_route",
    "verdict",
    "cause",
    "reason",
    "gold_sql",
    "gold_status",
    "predicted_sql",
    "policy_digest",
)
_SHAPES = ("gold_rows", "gold_columns", "predicted_rows", "predicted_columns")
_JUDGED = ("guard_allowed", "guard_reason", "rule", "missing_rows", "extra_rows", "tags", "predicted_seconds")


def write(run: RunResult, folder: Path) -> tuple[Path, ...]:
    """Write results.csv into `folder` and return its path."""
    metrics = sorted({name for result in run.results for name in result.scores} | set(run.manifest.metrics))
    timings = {(timing.case_id, timing.trial): timing for timing in run.timings}
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([csv_cell(name) for name in ("trial", *_TEXT, *metrics, *_SHAPES, *_JUDGED)])
    for result in run.results:
        writer.writerow(_line(result, metrics, timings.get(result.key)))
    return (write_text(folder / NAME, buffer.getvalue()),)


def _line(result: CaseResult, metrics: list[str], timing: Timing | None) -> list[str]:
    """Return one result's cells: numbers as they are, every text escaped; an empty cell is "not available"."""
    found = {**result.scores, **({} if timing is None else timing.scores)}
    scores = [found[name].value if name in found else None for name in metrics]
    shapes = (*(result.gold_shape or (None, None)), *(result.predicted_shape or (None, None)))
    guard, compared = result.guard, result.comparison
    judged: tuple[object, ...] = (
        None if guard is None else guard.allowed,
        None if guard is None else guard.reason,
        None if compared is None else compared.rule,
        None if compared is None else compared.missing,
        None if compared is None else compared.extra,
        " ".join(result.tags),
        None if timing is None else timing.predicted_seconds,
    )
    texts = [getattr(result, name) for name in _TEXT]
    return [_cell(value) for value in (result.trial, *texts, *scores, *shapes, *judged)]


def _cell(value: object) -> str:
    """Return one cell; numbers need no escape, an absent value is an empty cell."""
    if value is None:
        return ""
    return str(value) if isinstance(value, bool | int | float) and not isinstance(value, str) else csv_cell(str(value))
