"""Choose what kind a SQLite column is by what it holds, and spell its values in that kind without loss."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from sqlassay.cases.relation import Kind


@dataclass(frozen=True, slots=True)
class Storage:
    """How many values of a column are stored in each of SQLite's classes; `wide` are integers past 2^53."""

    integers: int
    reals: int
    texts: int
    blobs: int
    nulls: int
    wide: int

    @property
    def mixed(self) -> bool:
        """Return True where values of several classes become text, so that distinct values may meet."""
        classes = sum(count > 0 for count in (self.integers + self.reals, self.texts, self.blobs))
        return classes > 1 or bool(self.wide and self.reals)


def choose_kind(storage: Storage, declared: str) -> Kind:
    """Return the kind of a column: from its values, or from its declared type where it holds none."""
    if storage.mixed or storage.texts:
        return Kind.TEXT
    if storage.blobs:
        return Kind.BYTES
    if storage.reals:
        return Kind.FLOAT64
    if storage.integers:
        return Kind.INT
    return _declared_kind(declared.upper())


def _declared_kind(declared: str) -> Kind:
    """Return the kind of a column without values by SQLite's own affinity rules, dates staying text."""
    if "INT" in declared or "BOOL" in declared:
        return Kind.INT
    if any(word in declared for word in ("CHAR", "CLOB", "TEXT", "DATE", "TIME")):
        return Kind.TEXT
    if "BLOB" in declared:
        return Kind.BYTES
    if any(word in declared for word in ("REAL", "FLOA", "DOUB", "NUM", "DEC")):
        return Kind.FLOAT64
    return Kind.TEXT


def to_kind(kind: Kind, value: object) -> object:
    """Return a stored value as a cell of the column's kind.

    In a mixed column numbers are written in full and bytes as x'..', so nothing is lost.
    """
    if value is None:
        return None
    if kind in _DECLARED:
        return _DECLARED[kind](value)
    if kind is Kind.FLOAT64 and isinstance(value, int):
        return float(value)
    if kind is Kind.TEXT and not isinstance(value, str):
        return f"x'{value.hex()}'" if isinstance(value, bytes) else repr(value)
    return value


_DECLARED: Mapping[Kind, Callable[[Any], object]] = {
    Kind.DATE: date.fromisoformat,
    Kind.TIMESTAMP: datetime.fromisoformat,
    Kind.BOOL: bool,
    Kind.DECIMAL: lambda value: Decimal(repr(value)),
}
"""Kinds that a column has by its declared type alone, all of whose values have been looked at."""
