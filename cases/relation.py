"""The result of a query as typed values: kinds, columns, rows and the cell values drivers lack."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

Row: TypeAlias = tuple[object, ...]
"""One row. A cell is None, bool, int, float, Decimal, str, bytes, date, datetime, time, timedelta,
UUID, Interval, Json, FarTemporal, or a tuple of cells (array)."""


class Kind(StrEnum):
    """What a column holds, in one vocabulary for every engine."""

    BOOL = "bool"
    INT = "int"
    DECIMAL = "decimal"
    FLOAT32 = "float32"
    FLOAT64 = "float64"
    TEXT = "text"
    CHAR = "char"
    DATE = "date"
    TIME = "time"
    TIMETZ = "timetz"
    TIMESTAMP = "timestamp"
    TIMESTAMPTZ = "timestamptz"
    INTERVAL = "interval"
    BYTES = "bytes"
    UUID = "uuid"
    JSON = "json"
    ARRAY = "array"
    BITS = "bits"
    OTHER = "other"


_ALIASES = {
    "boolean": Kind.BOOL,
    "integer": Kind.INT,
    "bigint": Kind.INT,
    "smallint": Kind.INT,
    "tinyint": Kind.INT,
    "numeric": Kind.DECIMAL,
    "float": Kind.FLOAT64,
    "double": Kind.FLOAT64,
    "real": Kind.FLOAT64,
    "float8": Kind.FLOAT64,
    "float4": Kind.FLOAT32,
    "str": Kind.TEXT,
    "string": Kind.TEXT,
    "varchar": Kind.TEXT,
    "datetime": Kind.TIMESTAMP,
    "blob": Kind.BYTES,
    "bytea": Kind.BYTES,
    "binary": Kind.BYTES,
    "jsonb": Kind.JSON,
    "bit": Kind.BITS,
}


def kind_of(name: str) -> Kind:
    """Return the kind a file or an engine calls `name`; unknown names are OTHER, as kinds never decide equality."""
    lowered = name.strip().lower()
    try:
        return Kind(lowered)
    except ValueError:
        return _ALIASES.get(lowered, Kind.OTHER)


@dataclass(frozen=True, slots=True)
class Interval:
    """A calendar interval in the three parts that do not convert into each other."""

    months: int
    days: int
    microseconds: int


@dataclass(frozen=True, slots=True)
class Json:
    """A JSON document as the engine wrote it; compared by value, never by text. JSON null is not SQL NULL."""

    text: str


@dataclass(frozen=True, slots=True)
class FarTemporal:
    """A date or timestamp Python cannot hold (infinity, BC, year > 9999), kept as the engine's ISO text."""

    text: str


@dataclass(frozen=True, slots=True)
class Column:
    """A result column: its name as the engine gave it and its kind."""

    name: str
    kind: Kind = Kind.OTHER


@dataclass(frozen=True, slots=True)
class Relation:
    """A whole result: columns × rows. Never a cut one; a result past a limit is a Failure instead."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """Return (rows, columns)."""
        return len(self.rows), len(self.columns)
