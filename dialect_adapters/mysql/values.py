"""MySQL text cells to typed values. BIT(n) is its integer, TINYINT(1) an integer, ENUM and SET their text."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import TypeAlias

from sqlassay.cases.relation import Column, FarTemporal, Json, Kind, Relation
from sqlassay.dialect_adapters.mysql.wire import Field, RawResult

Loader: TypeAlias = Callable[[bytes], object]

_BINARY = 63
_TIME = re.compile(r"(-?)(\d+):(\d\d):(\d\d)(?:\.(\d+))?")


def relation_of(raw: RawResult) -> Relation:
    """Return a raw result as typed columns and rows."""
    types = [_type(field) for field in raw.fields]
    columns = tuple(Column(field.name, kind) for field, (kind, _) in zip(raw.fields, types, strict=True))
    loaders = [loader for _, loader in types]
    return Relation(
        columns,
        tuple(
            tuple(None if cell is None else load(cell) for cell, load in zip(row, loaders, strict=True))
            for row in raw.rows
        ),
    )


def _type(field: Field) -> tuple[Kind, Loader]:
    """Return kind and loader of a column; text in the binary character set is bytes."""
    known = _TYPES.get(field.type_code)
    if known is not None:
        return known
    if field.type_code == _GEOMETRY:
        return Kind.OTHER, bytes
    if field.charset == _BINARY:
        return Kind.BYTES, bytes
    return (Kind.CHAR if field.type_code == _STRING else Kind.TEXT), _text


def _text(cell: bytes) -> object:
    """Return text; bytes that are no text stay bytes, so that nothing is replaced silently."""
    try:
        return cell.decode()
    except UnicodeDecodeError:
        return cell


def _temporal(load: Callable[[str], object]) -> Loader:
    """Keep as text what the Python type cannot hold: zero dates and zero parts."""

    def loader(cell: bytes) -> object:
        """Return the value, or the engine's own text for it."""
        text = cell.decode()
        try:
            return load(text)
        except ValueError:
            return FarTemporal(text)

    return loader


def _time(text: str) -> timedelta:
    """Read a TIME, which runs from -838:59:59 to 838:59:59."""
    found = _TIME.fullmatch(text)
    if found is None:
        raise ValueError(text)
    sign, hours, minutes, seconds, fraction = found.groups()
    span = timedelta(
        hours=int(hours),
        minutes=int(minutes),
        seconds=int(seconds),
        microseconds=int((fraction or "0").ljust(6, "0")[:6]),
    )
    return -span if sign else span


def _decimal(cell: bytes) -> Decimal:
    """Read a DECIMAL."""
    return Decimal(cell.decode())


def _json(cell: bytes) -> Json:
    """Keep a JSON document as its text."""
    return Json(cell.decode())


def _bits(cell: bytes) -> int:
    """Read a BIT(n)."""
    return int.from_bytes(cell, "big")


_STRING = 254
_GEOMETRY = 255
_INT: tuple[Kind, Loader] = (Kind.INT, int)
_TYPES: dict[int, tuple[Kind, Loader]] = {
    0: (Kind.DECIMAL, _decimal),
    1: _INT,
    2: _INT,
    3: _INT,
    4: (Kind.FLOAT32, float),
    5: (Kind.FLOAT64, float),
    6: (Kind.OTHER, _text),
    7: (Kind.TIMESTAMP, _temporal(datetime.fromisoformat)),
    8: _INT,
    9: _INT,
    10: (Kind.DATE, _temporal(date.fromisoformat)),
    11: (Kind.TIME, _temporal(_time)),
    12: (Kind.TIMESTAMP, _temporal(datetime.fromisoformat)),
    13: _INT,
    16: (Kind.BITS, _bits),
    245: (Kind.JSON, _json),
    246: (Kind.DECIMAL, _decimal),
    247: (Kind.TEXT, _text),
    248: (Kind.TEXT, _text),
}
"""Field type codes to kind and loader; the string and blob codes depend on the character set."""
