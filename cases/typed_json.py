"""Typed JSON: the one spelling of cell values wherever values are stored, without loss of type or precision.

Plain null, booleans, integers up to 2^53, finite floats and text stand for themselves. Everything else is an object
with one tag: $int, $decimal, $float, $date, $datetime, $time, $interval, $bytes, $uuid, $json, $array.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from typing import NoReturn, TypeGuard
from uuid import UUID

from sqlassay.cases.errors import InputError
from sqlassay.cases.relation import Column, FarTemporal, Interval, Json, Kind, Relation, kind_of

_SAFE_INTEGER = 2**53
_SAY_THEMSELVES = frozenset({str, int, float, bool, type(None)})
_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?(Infinity|s?NaN[0-9]*)")
_FAR = re.compile(r"[+-]?infinity|(?=.*[0-9])[0-9T:+. Z-]{1,60}( BC)?")
_PARTS = re.compile(r"[0-9]{4,}-([0-9]{2})-([0-9]{2})(?:[T ]([0-9]{2}):([0-9]{2})(?::([0-9]{2}))?)?")
_REMEDY = "Write values as docs/formats.md says under Typed JSON"


def encode(cell: object) -> object:
    """Return the JSON value of one cell; `decode` gives the same cell back.

    Raises:
        TypeError: the cell is of no type that `sqlassay.cases.relation` knows.
    """
    if cell is None or isinstance(cell, bool | str):
        return cell
    if isinstance(cell, int):
        return int(cell) if abs(cell) <= _SAFE_INTEGER else {"$int": str(Decimal(cell))}
    if isinstance(cell, float):
        return _encode_float(float(cell))
    if isinstance(cell, tuple | list):
        return {"$array": [encode(item) for item in cell]}
    return _encode_tagged(cell)


def _encode_float(value: float) -> object:
    """Return a finite float as itself and the four that JSON cannot write as tags."""
    if math.isnan(value):
        return {"$float": "nan"}
    if math.isinf(value):
        return {"$float": "inf" if value > 0 else "-inf"}
    if value == 0 and math.copysign(1, value) < 0:
        return {"$float": "-0.0"}
    return value


def _encode_tagged(cell: object) -> dict[str, object]:
    """Return the tagged object of a cell JSON has no type for."""
    match cell:
        case Decimal():
            return {"$decimal": str(cell)}
        case datetime():
            return {"$datetime": cell.isoformat()}
        case date():
            return {"$date": cell.isoformat()}
        case time():
            return {"$time": cell.isoformat()}
        case Interval():
            return {"$interval": [cell.months, cell.days, cell.microseconds]}
        case timedelta():
            return {"$interval": _seconds(cell)}
        case bytes() | bytearray() | memoryview():
            return {"$bytes": base64.b64encode(bytes(cell)).decode("ascii")}
        case UUID():
            return {"$uuid": str(cell)}
        case Json():
            return {"$json": cell.text}
        case FarTemporal():
            return {"$datetime": cell.text}
        case _:
            raise TypeError(f"no typed JSON for a cell of type {type(cell).__name__}")


def _seconds(value: timedelta) -> str:
    """Return a duration as exact seconds in text, since a float would lose microseconds."""
    micros = (value.days * 86_400 + value.seconds) * 1_000_000 + value.microseconds
    whole, rest = divmod(abs(micros), 1_000_000)
    return f"{'-' if micros < 0 else ''}{whole}" + (f".{rest:06d}" if rest else "")


def decode(value: object, *, field: str | None = None) -> object:
    """Return the cell a JSON value stands for.

    Raises:
        InputError: a tag that does not exist, or a value its tag cannot hold; `field` says where.
    """
    try:
        return _decode(value, field)
    except RecursionError:
        raise InputError("value is nested too deeply", field=field, remedy=_REMEDY) from None


def _decode(value: object, field: str | None) -> object:
    """Decode one value; split from `decode` so that only one frame a level is spent."""
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, float):
        if math.isinf(value):
            _refuse("a number no float can hold", field)
        return value
    if not isinstance(value, dict) or len(value) != 1:
        _refuse(f"{json.dumps(value, default=str)[:80]} is no typed JSON value", field)
    ((tag, inner),) = value.items()
    if tag == "$array":
        if not isinstance(inner, list):
            _refuse("$array wants a list", field)
        return tuple([_decode(item, field) for item in inner])
    reader = _READERS.get(tag)
    if reader is None:
        _refuse(f"unknown tag '{tag}'", field)
    try:
        return reader(inner)
    except (ValueError, TypeError, InvalidOperation, OverflowError, binascii.Error):
        _refuse(f"{tag} cannot hold {json.dumps(inner, default=str)[:80]}", field)


def _refuse(message: str, field: str | None) -> NoReturn:
    """Raise the one error every malformed value ends in."""
    raise InputError(message, field=field, remedy=_REMEDY)


def _text(value: object) -> str:
    """Return a tag's value that must be text."""
    if not isinstance(value, str):
        raise TypeError("text expected")
    return value


def _int(value: object) -> int:
    """Read $int; Decimal in between, as int() refuses more than 4,300 digits."""
    text = _text(value)
    if not _INTEGER.fullmatch(text):
        raise ValueError(text)
    return int(Decimal(text))


def _decimal(value: object) -> Decimal:
    """Read $decimal with its exponent, so 1.50 stays 1.50."""
    text = _text(value)
    if not _NUMBER.fullmatch(text):
        raise ValueError(text)
    return Decimal(text)


def _float(value: object) -> float:
    """Read $float: one of the four values JSON cannot write."""
    return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf, "-0.0": -0.0}[_known_float(value)]


def _known_float(value: object) -> str:
    """Return the float's spelling, or fail as a ValueError rather than a KeyError."""
    text = _text(value)
    if text not in ("nan", "inf", "-inf", "-0.0"):
        raise ValueError(text)
    return text


def _far(text: str) -> FarTemporal:
    """Read a moment Python cannot hold: infinity, BC, a year past 9999, a zero date, 24:00."""
    found = _PARTS.match(text)
    if not _FAR.fullmatch(text) or (found and not _on_a_calendar(found)):
        raise ValueError(text)
    return FarTemporal(text)


def _on_a_calendar(parts: re.Match[str]) -> bool:
    """Tell whether some engine keeps such a month, day and clock: zeros and 24:00 yes, a thirteenth month no."""
    month, day, hour, minute, second = (int(part or 0) for part in parts.groups())
    return month <= 12 and day <= 31 and hour <= 24 and minute <= 59 and second <= 60


def _date(value: object) -> date | FarTemporal:
    """Read $date."""
    text = _text(value)
    try:
        return date.fromisoformat(text)
    except ValueError:
        return _far(text)


def _datetime(value: object) -> datetime | FarTemporal:
    """Read $datetime, zoned where the text has an offset."""
    text = _text(value)
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return _far(text)


def _time(value: object) -> time | FarTemporal:
    """Read $time, zoned where the text has an offset; the 24:00 that ends a day is kept as text."""
    text = _text(value)
    return _far(text) if text.startswith("24:00") else time.fromisoformat(text)


def _interval(value: object) -> Interval | timedelta:
    """Read $interval: three whole parts, or seconds as a number or exact text."""
    if isinstance(value, list):
        if len(value) != 3 or any(isinstance(part, bool) or not isinstance(part, int) for part in value):
            raise ValueError(value)
        return Interval(*value)
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise TypeError("seconds expected")
    text = str(value)
    if not _NUMBER.fullmatch(text) or "n" in text.lower():
        raise ValueError(text)
    return timedelta(microseconds=int((Decimal(text) * 1_000_000).to_integral_value()))


def _json(value: object) -> Json:
    """Read $json: the document's text; a document written out in place is accepted and put into text."""
    return Json(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


_READERS: dict[str, Callable[[object], object]] = {
    "$int": _int,
    "$decimal": _decimal,
    "$float": _float,
    "$date": _date,
    "$datetime": _datetime,
    "$time": _time,
    "$interval": _interval,
    "$bytes": lambda value: base64.b64decode(_text(value), validate=True),
    "$uuid": lambda value: UUID(_text(value)),
    "$json": _json,
}


def relation_to_json(relation: Relation) -> dict[str, object]:
    """Return {"columns": [{name, kind}], "rows": [[cell]]} for a relation."""
    return {
        "columns": [{"name": column.name, "kind": str(column.kind)} for column in relation.columns],
        "rows": [[encode(cell) for cell in row] for row in relation.rows],
    }


def relation_from_json(value: object, *, field: str = "relation") -> Relation:
    """Return the relation that `relation_to_json` wrote.

    Raises:
        InputError: a malformed relation, naming the row and the cell.
    """
    if not isinstance(value, dict) or set(value) != {"columns", "rows"}:
        _refuse('a relation is {"columns": […], "rows": […]}', field)
    if not isinstance(value["columns"], list) or not isinstance(value["rows"], list):
        _refuse("columns and rows are lists", field)
    columns = tuple(_column(column, f"{field}.columns[{i}]") for i, column in enumerate(value["columns"]))
    width = len(columns)
    rows = tuple(
        [
            tuple(row) if _says_itself(row, width) else _row(row, width, f"{field}.rows[{i}]")
            for i, row in enumerate(value["rows"])
        ]
    )
    return Relation(columns, rows)


def _says_itself(row: object, width: int) -> TypeGuard[list[object]]:
    """Tell whether a row is as wide as it must be and each of its cells stands for itself, as most do."""
    if type(row) is not list or len(row) != width or not _SAY_THEMSELVES.issuperset(map(type, row)):
        return False
    return math.inf not in row and -math.inf not in row  # 1e400 is read as infinity: `_row` refuses it


def _column(value: object, field: str) -> Column:
    """Read one column: an object with a name and, where known, a kind; also its name, or NAME:KIND, as text."""
    if isinstance(value, str):
        name, _, kind = value.rpartition(":")
        known = bool(name) and (kind_of(kind) is not Kind.OTHER or kind.strip().lower() in ("other", "any"))
        return Column(name, kind_of(kind)) if known else Column(value)
    if not isinstance(value, dict) or not isinstance(value.get("name"), str) or set(value) - {"name", "kind"}:
        _refuse('a column is {"name": text, "kind": kind}', field)
    kind = value.get("kind", str(Kind.OTHER))
    if not isinstance(kind, str):
        _refuse("a kind is text", field)
    return Column(value["name"], kind_of(kind))


def _row(value: object, width: int, field: str) -> tuple[object, ...]:
    """Read one row, as wide as there are columns."""
    if not isinstance(value, list):
        _refuse("a row is a list", field)
    if len(value) != width:
        _refuse(f"row has {len(value)} cells for {width} columns", field)
    return tuple([decode(cell, field=f"{field}[{i}]") for i, cell in enumerate(value)])
