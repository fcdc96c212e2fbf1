"""Which Postgres type holds each kind, and how a value is written in COPY's text form."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from sqlalchemy import types as sql
from sqlalchemy.dialects import postgresql

from sqlassay.cases.relation import FarTemporal, Interval, Json, Kind
from sqlassay.cases.snapshot import ColumnDef

_FIXED: dict[Kind, sql.TypeEngine[Any]] = {
    Kind.BOOL: sql.Boolean(),
    Kind.INT: sql.BigInteger(),
    Kind.FLOAT32: sql.REAL(),
    Kind.FLOAT64: sql.DOUBLE_PRECISION(),
    Kind.TEXT: sql.Text(),
    Kind.DATE: sql.Date(),
    Kind.TIME: sql.Time(),
    Kind.TIMETZ: sql.Time(timezone=True),
    Kind.TIMESTAMP: sql.TIMESTAMP(),
    Kind.TIMESTAMPTZ: sql.TIMESTAMP(timezone=True),
    Kind.INTERVAL: postgresql.INTERVAL(),
    Kind.BYTES: postgresql.BYTEA(),
    Kind.UUID: postgresql.UUID(),
    Kind.JSON: postgresql.JSONB(),
    Kind.ARRAY: postgresql.ARRAY(sql.Text()),
    Kind.OTHER: sql.Text(),
}
_ESCAPES = str.maketrans({"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def type_of(column: ColumnDef, _keyed: bool) -> sql.TypeEngine[Any]:  # noqa: FBT001 - the shape of a TypeMap
    """Return the type of a column; text has no length, as a length could only lose data."""
    if column.kind is Kind.DECIMAL:
        return sql.Numeric(column.precision, column.scale)
    if column.kind is Kind.CHAR:
        return sql.CHAR(column.length or 1)
    if column.kind is Kind.BITS:
        return postgresql.BIT(column.length, varying=True)
    return _FIXED[column.kind]


def copy_cell(value: object, kind: Kind) -> str:
    """Return a cell as COPY's text format wants it."""
    if value is None:
        return "\\N"
    return literal(value, kind).translate(_ESCAPES)


def literal(value: object, kind: Kind) -> str:
    """Return a value as Postgres reads it, without quotes."""
    if isinstance(value, bool):
        return str(value).lower() if kind is Kind.BOOL else str(int(value))
    if isinstance(value, float) and kind is Kind.INT and value.is_integer():
        return str(int(value))
    if isinstance(value, (Json, FarTemporal)):
        return value.text
    if isinstance(value, (bytes, bytearray)):
        return f"\\x{value.hex()}"
    if isinstance(value, Interval):
        return f"{value.months} months {value.days} days {value.microseconds} microseconds"
    if isinstance(value, timedelta):
        return _clock(value) if kind is Kind.TIME else f"{value // timedelta(microseconds=1)} microseconds"
    if isinstance(value, tuple):
        return "{" + ",".join(_element(item, kind) for item in value) + "}"
    return str(value)


def _clock(value: timedelta) -> str:
    """Return the length of a day's part as a time of day; the whole day is 24:00:00."""
    seconds, microseconds = divmod(value // timedelta(microseconds=1), 1_000_000)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{microseconds:06}"


def _element(value: object, kind: Kind) -> str:
    """Return an array's element, quoted."""
    if value is None:
        return "NULL"
    if isinstance(value, tuple):
        return literal(value, kind)
    escaped = literal(value, kind).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
