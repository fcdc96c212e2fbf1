"""Writes every differing cell of a failed case as CSV: one line a cell, safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from datetime import date, datetime, time
from decimal import Decimal

from sqlassay.cases.relation import FarTemporal, Json
from sqlassay.cases.typed_json import encode
from sqlassay.harness.reports.escape import csv_cell, spelled_out
from sqlassay.harness.results.verdicts import CellDifference

HEAD = ("difference", "gold_row", "predicted_row", "gold_column", "predicted_column", "gold", "predicted")


def head(*before: str) -> str:
    """Return the line of names, with those of columns that stand before them."""
    return _line([*before, *HEAD])


def lines(found: Iterable[CellDifference], *before: str) -> str:
    """Return one line a differing cell; rows are counted from 0, a side without the row is empty."""
    return "".join(
        _line(
            [
                *map(_safe, before),
                one.kind,
                "" if one.gold_row is None else str(one.gold_row),
                "" if one.predicted_row is None else str(one.predicted_row),
                _safe(one.gold_column or ""),
                _safe(one.predicted_column or ""),
                "" if one.gold_row is None else _cell(one.gold),
                "" if one.predicted_row is None else _cell(one.predicted),
            ]
        )
        for one in found
    )


def _line(cells: list[str]) -> str:
    """Return one CSV line."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerow(cells)
    return buffer.getvalue()


def _cell(value: object) -> str:
    """Return a value whole: NULL bare, a text that could be taken for it or for nothing in quotes."""
    if value is None:
        return "NULL"
    if isinstance(value, bool | int | float | Decimal):
        return str(value)
    if isinstance(value, str):
        return f"'{value}'" if value in ("", "NULL") else _safe(value)
    if isinstance(value, date | datetime | time):
        return value.isoformat(" ") if isinstance(value, datetime) else value.isoformat()
    if isinstance(value, Json | FarTemporal):
        return _safe(value.text)
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    try:
        return _safe(json.dumps(encode(value), ensure_ascii=False))
    except TypeError:
        return _safe(repr(value))


def _safe(text: str) -> str:
    """Return a text that is no formula, with every character seen."""
    return csv_cell(spelled_out(text))
