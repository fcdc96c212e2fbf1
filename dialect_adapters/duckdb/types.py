"""Which type of DuckDB's holds each kind, how a value of it is handed over, and what kind a declared type is."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from uuid import UUID

from sqlassay.cases.relation import FarTemporal, Interval, Json, Kind
from sqlassay.cases.snapshot import ColumnDef

_TYPES = {
    Kind.BOOL: "BOOLEAN",
    Kind.INT: "BIGINT",
    Kind.FLOAT32: "FLOAT",
    Kind.FLOAT64: "DOUBLE",
    Kind.DATE: "DATE",
    Kind.TIME: "TIME",
    Kind.TIMETZ: "TIMETZ",
    Kind.TIMESTAMP: "TIMESTAMP",
    Kind.TIMESTAMPTZ: "TIMESTAMPTZ",
    Kind.INTERVAL: "INTERVAL",
    Kind.BYTES: "BLOB",
    Kind.UUID: "UUID",
    Kind.JSON: "JSON",
    Kind.ARRAY: "VARCHAR[]",
    Kind.BITS: "BIT",
}
_DECIMAL = "DECIMAL({},{})"
_WIDEST = 38

_DECLARED = {
    "BOOLEAN": Kind.BOOL,
    "FLOAT": Kind.FLOAT32,
    "DOUBLE": Kind.FLOAT64,
    "VARCHAR": Kind.TEXT,
    "JSON": Kind.JSON,
    "BLOB": Kind.BYTES,
    "BIT": Kind.BITS,
    "UUID": Kind.UUID,
    "DATE": Kind.DATE,
    "TIME": Kind.TIME,
    "TIME_NS": Kind.TIME,
    "TIME WITH TIME ZONE": Kind.TIMETZ,
    "TIMESTAMP WITH TIME ZONE": Kind.TIMESTAMPTZ,
    "TIMESTAMPTZ_NS": Kind.TIMESTAMPTZ,
    "INTERVAL": Kind.INTERVAL,
}
_STARTS = (
    ("DECIMAL", Kind.DECIMAL),
    ("TIMESTAMP", Kind.TIMESTAMP),
    ("ENUM", Kind.TEXT),
)
_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "BIGNUM")


def sql_type(column: ColumnDef) -> str:
    """Return the type that holds a column's values as they are; a decimal of no size gets a double's range."""
    if column.kind is Kind.DECIMAL:
        if column.precision is None or column.precision > _WIDEST:
            return _DECIMAL.format(_WIDEST, column.scale if column.scale is not None else 10)
        return _DECIMAL.format(column.precision, column.scale or 0)
    return _TYPES.get(column.kind, "VARCHAR")


def declared_kind(declared: str) -> Kind:
    """Return the kind of a type as the engine's catalogue spells it."""
    if declared.endswith("]"):
        return Kind.ARRAY
    if declared in _DECLARED:
        return _DECLARED[declared]
    if declared.removeprefix("U") in _WHOLE:
        return Kind.INT
    return next((kind for start, kind in _STARTS if declared.startswith(start)), Kind.OTHER)


def handed(value: object) -> object:
    """Return a cell as the engine's Python module takes it: numbers, text and blobs; all else as text to be cast."""
    match value:
        case None | bool() | int() | float() | str() | bytes():
            return value
        case Decimal():
            # In full: DuckDB takes -1E-38 for no decimal of 38 digits behind the point.
            return f"{value:f}" if -100 < value.adjusted() < 100 else str(value)
        case UUID():
            return str(value)
        case dt.datetime():
            return value.isoformat(sep=" ")
        case dt.date() | dt.time():
            return value.isoformat()
        case FarTemporal(text) if text.endswith(" BC"):
            day, space, rest = text.removesuffix(" BC").partition(" ")
            return f"{day} (BC){space}{rest}"
        case Json() | FarTemporal():
            return value.text
        case Interval():
            return f"{value.months} months {value.days} days {value.microseconds} microseconds"
        case dt.timedelta():
            return f"{value.days} days {value.seconds} seconds {value.microseconds} microseconds"
        case tuple() | list():
            return [None if one is None else str(handed(one)) for one in value]
        case _:
            return str(value)


def handed_type(column: ColumnDef) -> str:
    """Return the type of the list element in which a column's cells are handed over before they are cast."""
    kept = (Kind.BOOL, Kind.INT, Kind.FLOAT32, Kind.FLOAT64, Kind.BYTES, Kind.ARRAY)
    if column.kind is Kind.INT:
        return "HUGEINT"
    return _TYPES[column.kind] if column.kind in kept else "VARCHAR"
