"""Which MySQL type holds each kind, and how a value is written for LOAD DATA and read by it."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from sqlalchemy import types as sql
from sqlalchemy.dialects import mysql

from sqlassay.cases.relation import FarTemporal, Interval, Json, Kind
from sqlassay.cases.snapshot import ColumnDef

_KEY_LENGTH = 255
_LONGEST_KEY = 768
"""Characters of utf8mb4 in InnoDB's 3,072 bytes of key."""
_FIXED: dict[Kind, sql.TypeEngine[Any]] = {
    Kind.BOOL: mysql.TINYINT(display_width=1),
    Kind.INT: sql.BigInteger(),
    Kind.FLOAT32: mysql.FLOAT(),
    Kind.FLOAT64: mysql.DOUBLE(),
    Kind.DATE: sql.Date(),
    Kind.TIMETZ: sql.String(32),
    Kind.INTERVAL: sql.String(96),
    Kind.UUID: sql.CHAR(36),
    Kind.JSON: mysql.JSON(),
    Kind.ARRAY: mysql.JSON(),
}
NAMED_KINDS = {
    "FLOAT": Kind.FLOAT32,
    **dict.fromkeys(("TINYBLOB", "BLOB", "MEDIUMBLOB", "LONGBLOB"), Kind.BYTES),
    "YEAR": Kind.INT,
    "SET": Kind.TEXT,
}
"""What MySQL means by type names that SQLAlchemy's classes leave open."""
_ESCAPES = str.maketrans({"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\0": "\\0"})


def type_of(column: ColumnDef, keyed: bool) -> sql.TypeEngine[Any]:  # noqa: FBT001 - the shape of a TypeMap
    """Return the type of a column; text in a key needs a length, as LONGTEXT cannot be indexed."""
    if column.kind is Kind.DECIMAL:
        return sql.Numeric(column.precision or 65, 30 if column.precision is None else column.scale or 0)
    if column.kind is Kind.CHAR:
        return sql.CHAR(column.length or 1)
    if column.kind is Kind.BITS:
        return mysql.BIT(column.length or 64)
    if column.kind is Kind.TIME:
        return mysql.TIME(fsp=6 if column.precision is None else column.precision)
    if column.kind in (Kind.TIMESTAMP, Kind.TIMESTAMPTZ):
        return mysql.DATETIME(fsp=6 if column.precision is None else column.precision)
    if column.kind is Kind.BYTES:
        return mysql.VARBINARY(min(column.length or _KEY_LENGTH, _LONGEST_KEY)) if keyed else mysql.LONGBLOB()
    if column.kind in (Kind.TEXT, Kind.OTHER):
        return sql.String(min(column.length or _KEY_LENGTH, _LONGEST_KEY)) if keyed else mysql.LONGTEXT()
    return _FIXED[column.kind]


def reading(kind: Kind, variable: str) -> str | None:
    """Return the expression that turns LOAD DATA's text into the column, or None where the text itself does."""
    if kind is Kind.BYTES:
        return f"FROM_BASE64({variable})"
    if kind is Kind.BITS:
        return f"CAST(CONV({variable}, 2, 10) AS UNSIGNED)"
    return None


def load_cell(value: object, kind: Kind) -> str:
    """Return a cell as LOAD DATA's default format wants it."""
    if value is None:
        return "\\N"
    return _plain(value, kind).translate(_ESCAPES)


def _plain(value: object, kind: Kind) -> str:
    """Return a value's text."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float) and kind is Kind.INT and value.is_integer():
        return str(int(value))
    if isinstance(value, (Json, FarTemporal)):
        return value.text
    if isinstance(value, (bytes, bytearray)):
        return base64.b64encode(value).decode()
    if kind is Kind.BYTES:
        return base64.b64encode(str(value).encode()).decode()
    if isinstance(value, Interval):
        return f"{value.months} months {value.days} days {value.microseconds} microseconds"
    if isinstance(value, timedelta):
        return _span(value) if kind is Kind.TIME else f"{value // timedelta(microseconds=1)} microseconds"
    if isinstance(value, datetime) and value.tzinfo is not None:
        return str(value.astimezone(UTC).replace(tzinfo=None))
    if isinstance(value, tuple):
        return json.dumps(value, ensure_ascii=False, default=_json_element)
    return str(value)


def _json_element(value: object) -> object:
    """Return an array's element as JSON can hold it."""
    return float(value) if isinstance(value, Decimal) else str(value)


def _span(value: timedelta) -> str:
    """Return a time span as MySQL's TIME."""
    total = abs(value) // timedelta(microseconds=1)
    seconds, microseconds = divmod(total, 1_000_000)
    sign = "-" if value < timedelta(0) else ""
    return f"{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{microseconds:06}"
