"""Carry a SQLite column by its declared type where a pack asks for it and every value is one of that type.

SQLite has neither dates nor booleans nor decimals: it keeps them as text and numbers, whatever the table says. A column
is carried as what it is declared only where each of its values can be had back from that type as it is stored.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from sqlassay.cases.relation import Kind
from sqlassay.cases.sources.sqlite_keys import quoted
from sqlassay.cases.sources.sqlite_values import Storage

BY_TYPE = frozenset({Kind.DATE, Kind.TIMESTAMP, Kind.BOOL, Kind.DECIMAL})
"""Kinds that a column of a SQLite file has only where its declared type is asked for."""

_DECIMAL = re.compile(r"(?:DECIMAL|NUMERIC)\s*\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)")
_MOMENT = re.compile(r"(?:DATETIME|TIMESTAMP(?: WITHOUT TIME ZONE)?)(?:\s*\(\d\))?")
_MOST_DIGITS = 65
"""Digits of a decimal that every engine has; 30 of them behind the point."""


@dataclass(frozen=True, slots=True)
class Declared:
    """The kind a column is declared to be, with its sizes; `held` says whether a stored value is one of it."""

    kind: Kind
    held: Callable[[Any], bool]
    precision: int | None = None
    scale: int | None = None


def declared_kind(
    connection: sqlite3.Connection, table: str, column: str, declared: str, storage: Storage
) -> Declared | None:
    """Return what a column is declared to be, None where its values or its type do not say so."""
    for wanted in _wanted(" ".join(declared.upper().split()), storage):
        if all(wanted.held(value) for value in _values(connection, table, column)):
            return wanted
    return None


def _wanted(declared: str, storage: Storage) -> tuple[Declared, ...]:
    """Return the kinds that a declared type names, where the column's storage classes may hold them."""
    numbers = storage.integers + storage.reals
    if storage.blobs or (storage.texts and numbers):
        return ()
    if declared in ("BOOLEAN", "BOOL"):
        return (Declared(Kind.BOOL, lambda value: value in (0, 1)),) if not storage.reals + storage.texts else ()
    sized = _DECIMAL.fullmatch(declared)
    if sized is not None:
        return _decimal(int(sized[1]), int(sized[2] or 0)) if not storage.texts else ()
    if numbers:
        return ()
    if declared == "DATE":
        return (Declared(Kind.DATE, _is_date),)
    if _MOMENT.fullmatch(declared):
        whole = Declared(Kind.TIMESTAMP, lambda value: _is_moment(value) and "." not in value, precision=0)
        return (whole, Declared(Kind.TIMESTAMP, _is_moment, precision=6))
    return ()


def _decimal(precision: int, scale: int) -> tuple[Declared, ...]:
    """Return a decimal of these sizes, where every engine has it."""
    if not 0 < precision <= _MOST_DIGITS or scale > min(precision, 30):
        return ()
    return (Declared(Kind.DECIMAL, lambda value: _fits(value, precision, scale), precision, scale),)


def _values(connection: sqlite3.Connection, table: str, column: str) -> Iterator[object]:
    """Yield each value of a column that is not NULL."""
    name = quoted(column)
    query = f"SELECT {name} FROM {quoted(table)} NOT INDEXED WHERE {name} IS NOT NULL"  # noqa: S608
    return (value for (value,) in connection.execute(query))


def _is_date(value: str) -> bool:
    """Return whether a text is a day, spelled as the day itself is."""
    try:
        return date.fromisoformat(value).isoformat() == value
    except ValueError:
        return False


def _is_moment(value: str) -> bool:
    """Return whether a text is a moment, spelled as the moment itself is: no fraction of a second, or six digits."""
    try:
        found = datetime.fromisoformat(value)
    except ValueError:
        return False
    return found.tzinfo is None and str(found) == value


def _fits(value: float, precision: int, scale: int) -> bool:
    """Return whether a number has no more digits than the type allows, before and behind the point."""
    number = Decimal(repr(value))
    if not number.is_finite():
        return False
    return number == round(number, scale) and abs(number) < Decimal(10) ** (precision - scale)
