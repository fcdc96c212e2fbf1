"""Values as a worker sends them: by the kind of their column, exact, with what Python cannot hold kept as text."""

from __future__ import annotations

import datetime as dt
import json
import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, TypeAlias
from uuid import UUID

from sqlassay.cases.relation import FarTemporal, Interval, Json, Kind

Reader: TypeAlias = Callable[[Any], object]
"""Turns a cell that is not null into its value."""

_DEEPEST = 50
_LONGEST_INT = 4000
_MICROSECONDS = 6
_PARTS = re.compile(
    r"(?:(?P<years>-?\d+) years? ?)?(?:(?P<months>-?\d+) months? ?)?(?:(?P<days>-?\d+) days? ?)?"
    r"(?:(?P<sign>-?)(?P<hours>\d+):(?P<minutes>\d\d):(?P<seconds>\d\d)(?:\.(?P<part>\d{1,6}))?)?"
)


def reader_of(spec: object, depth: int = 0) -> tuple[Kind, Reader]:
    """Return the kind that a worker's spec names, and what reads its cells.

    Raises:
        ValueError: there is no such kind, or it is nested past reason.
    """
    if isinstance(spec, list):
        name, inner = spec
        if depth > _DEEPEST:
            raise ValueError(name)
        if name == "struct":
            return Kind.JSON, _struct([(str(field), reader_of(one, depth + 1)[1]) for field, one in inner])
        if name == "map":
            return Kind.JSON, _map(reader_of(inner, depth + 1)[1])
        if name != "array":
            raise ValueError(name)
        return Kind.ARRAY, _array(reader_of(inner, depth + 1)[1])
    if spec == "bignum":
        return Kind.INT, _whole
    kind = Kind(str(spec))
    return kind, _READERS.get(kind, _same)


def _array(read: Reader) -> Reader:
    """Return what reads a list of such values."""
    return lambda cell: tuple(None if one is None else read(one) for one in _listed(cell))


def _struct(fields: list[tuple[str, Reader]]) -> Reader:
    """Return what reads a STRUCT as the document of its fields."""

    def read(cell: object) -> Json:
        values = _listed(cell)
        if len(values) != len(fields):
            raise TypeError("no struct")
        return _document(
            [(name, None if value is None else one(value)) for (name, one), value in zip(fields, values, strict=True)]
        )

    return read


def _map(read: Reader) -> Reader:
    """Return what reads a MAP as the document of its keys."""

    def pairs(cell: object) -> Json:
        found = [_listed(pair) for pair in _listed(cell)]
        if any(len(pair) != 2 or not isinstance(pair[0], str) for pair in found):
            raise TypeError("no map")
        return _document([(str(key), None if value is None else read(value)) for key, value in found])

    return pairs


def _document(items: list[tuple[str, object]]) -> Json:
    """Return names and values as a JSON document, every digit kept."""
    members = (f"{json.dumps(name, ensure_ascii=False)}: {_spelled(value)}" for name, value in items)
    return Json("{" + ", ".join(members) + "}")


def _spelled(value: object) -> str:
    """Return a value as JSON writes it: numbers by their digits, what JSON has no type for as text."""
    if value is None:
        return "null"
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_spelled, value)) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Json):
        return value.text
    if isinstance(value, int | Decimal) or (isinstance(value, float) and math.isfinite(value)):
        return str(value)
    if isinstance(value, dt.datetime):
        return json.dumps(value.isoformat(" "))
    text = value.text if isinstance(value, FarTemporal) else value.hex() if isinstance(value, bytes) else str(value)
    return json.dumps(text, ensure_ascii=False)


def _listed(cell: object) -> list[object]:
    """Return a cell that has to be a list."""
    if not isinstance(cell, list):
        raise TypeError("no list")
    return cell


def _same(cell: object) -> object:
    """Return a value that travels as it is."""
    if isinstance(cell, (dict, list)):
        raise TypeError("no value")
    return cell


def _whole(cell: str) -> int | Decimal:
    """Return a number of any length; Python spells out integers up to a length only."""
    return int(cell) if len(cell) < _LONGEST_INT else Decimal(cell)


def _date(cell: str) -> dt.date | FarTemporal:
    """Return a date; one without end, before our era or past year 9999 as its text."""
    try:
        return dt.date.fromisoformat(cell)
    except ValueError:
        return _far(cell)


def _moment(cell: str) -> dt.datetime | FarTemporal:
    """Return a timestamp with its zone, where it has one; finer than a microsecond, without end or far: its text."""
    if _fraction(cell) > _MICROSECONDS:
        return FarTemporal(cell)
    try:
        return dt.datetime.fromisoformat(cell)
    except ValueError:
        return _far(cell)


def _far(cell: str) -> FarTemporal:
    """Return a moment Python cannot hold; before our era it is spelt as other engines do, the era last."""
    day, era, rest = cell.partition(" (BC)")
    return FarTemporal(f"{day}{rest} BC" if era else cell)


def _time(cell: str) -> dt.time | FarTemporal:
    """Return a time of day; the end of the day (24:00:00) and nanoseconds as their text."""
    if _fraction(cell) > _MICROSECONDS:
        return FarTemporal(cell)
    try:
        return dt.time.fromisoformat(cell)
    except ValueError:
        return FarTemporal(cell)


def _fraction(cell: str) -> int:
    """Return how many digits a text has behind its seconds."""
    found = re.search(r":\d\d\.(\d+)", cell)
    return len(found[1]) if found else 0


def _interval(cell: str) -> Interval:
    """Return a span in the three parts that DuckDB keeps."""
    found = _PARTS.fullmatch(cell)
    if not cell or found is None:
        raise ValueError(cell)
    part = {name: int(found[name] or 0) for name in ("years", "months", "days", "hours", "minutes", "seconds")}
    micro = ((part["hours"] * 60 + part["minutes"]) * 60 + part["seconds"]) * 1_000_000
    micro += int((found["part"] or "").ljust(_MICROSECONDS, "0"))
    return Interval(part["years"] * 12 + part["months"], part["days"], -micro if found["sign"] else micro)


_READERS: dict[Kind, Reader] = {
    Kind.DECIMAL: Decimal,
    Kind.DATE: _date,
    Kind.TIME: _time,
    Kind.TIMETZ: _time,
    Kind.TIMESTAMP: _moment,
    Kind.TIMESTAMPTZ: _moment,
    Kind.INTERVAL: _interval,
    Kind.UUID: UUID,
    Kind.JSON: Json,
}
