"""Postgres text cells to typed values: what Python cannot hold comes back as a value, never as a crash."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import TypeAlias
from uuid import UUID

from sqlassay.cases.relation import Column, FarTemporal, Interval, Json, Kind, Relation, Row
from sqlassay.dialect_adapters.postgres.wire import RawResult

Loader: TypeAlias = Callable[[str], object]

_UNITS = {"year": (12, 0), "years": (12, 0), "mon": (1, 0), "mons": (1, 0), "day": (0, 1), "days": (0, 1)}
_CLOCK = re.compile(r"([+-]?)(\d+):(\d\d):(\d\d)(?:\.(\d+))?")


def relation_of(raw: RawResult) -> Relation:
    """Return a raw result as typed columns and rows."""
    types = [TYPES.get(field.type_oid, _UNKNOWN) for field in raw.fields]
    columns = tuple(Column(field.name, kind) for field, (kind, _) in zip(raw.fields, types, strict=True))
    loaders = [loader for _, loader in types]
    return Relation(columns, tuple(_row(cells, loaders) for cells in raw.rows))


def _row(cells: tuple[bytes | None, ...], loaders: list[Loader]) -> Row:
    """Return one row of values; NULL is None."""
    return tuple(None if cell is None else load(cell.decode()) for cell, load in zip(cells, loaders, strict=True))


def _bool(text: str) -> bool:
    """Read t or f."""
    return text == "t"


def money(text: str) -> Decimal:
    """Read an amount of money as the server's own locale spells it: `-$1,234.50`."""
    amount = Decimal(re.sub(r"[^0-9.]", "", text))
    return -amount if text.startswith(("-", "(")) else amount


def _far(load: Callable[[str], object]) -> Loader:
    """Keep as text what the Python type cannot hold: infinity, BC, years past 9999, 24:00."""

    def loader(text: str) -> object:
        """Return the value, or the engine's own text for it."""
        try:
            return load(text)
        except (ValueError, KeyError):
            return FarTemporal(text)

    return loader


def _time(text: str) -> time | timedelta:
    """Read a time of day; the end of the day, which Python's time lacks, is its length."""
    return timedelta(days=1) if text == "24:00:00" else time.fromisoformat(text)


def interval(text: str) -> Interval:
    """Read the `postgres` interval style: `1 year 2 mons -3 days 04:05:06.5`.

    Raises:
        ValueError: an infinite interval.
    """
    months = days = microseconds = 0
    words = text.split()
    if text.endswith("infinity"):
        raise ValueError(text)
    if clock := _CLOCK.fullmatch(words[-1]):
        words.pop()
        sign, hours, minutes, seconds, fraction = clock.groups()
        whole = (int(hours) * 60 + int(minutes)) * 60 + int(seconds)
        microseconds = whole * 1_000_000 + int((fraction or "0").ljust(6, "0")[:6])
        microseconds = -microseconds if sign == "-" else microseconds
    for amount, unit in zip(words[::2], words[1::2], strict=True):
        per_month, per_day = _UNITS[unit]
        months += int(amount) * per_month
        days += int(amount) * per_day
    return Interval(months, days, microseconds)


def _bytea(text: str) -> bytes:
    """Read the hex form; the escape form can only come from a changed setting."""
    return bytes.fromhex(text[2:]) if text.startswith("\\x") else text.encode()


def array(text: str, load: Loader, delimiter: str = ",") -> object:
    """Read an array literal of any depth into nested tuples; lower bounds other than 1 are dropped."""
    start = text.index("{")
    value, _ = _array_at(text, start, load, delimiter)
    return value


def _array_at(text: str, position: int, load: Loader, delimiter: str) -> tuple[tuple[object, ...], int]:
    """Read the array that opens at `position`; return it and the position after its brace."""
    items: list[object] = []
    position += 1
    while text[position] != "}":
        if text[position] == delimiter:
            position += 1
        elif text[position] == "{":
            nested, position = _array_at(text, position, load, delimiter)
            items.append(nested)
        elif text[position] == '"':
            word, position = _quoted(text, position + 1)
            items.append(load(word))
        else:
            end = position
            while text[end] not in (delimiter, "}"):
                end += 1
            word, position = text[position:end], end
            items.append(None if word == "NULL" else load(word))
    return tuple(items), position + 1


def _quoted(text: str, position: int) -> tuple[str, int]:
    """Read a quoted array element; return it and the position after its closing quote."""
    letters: list[str] = []
    while text[position] != '"':
        position += text[position] == "\\"
        letters.append(text[position])
        position += 1
    return "".join(letters), position + 1


_UNKNOWN: tuple[Kind, Loader] = (Kind.OTHER, str)

_SCALARS: tuple[tuple[int, int, Kind, Loader], ...] = (
    (16, 1000, Kind.BOOL, _bool),
    (17, 1001, Kind.BYTES, _bytea),
    (18, 1002, Kind.CHAR, str),
    (19, 1003, Kind.TEXT, str),
    (20, 1016, Kind.INT, int),
    (21, 1005, Kind.INT, int),
    (23, 1007, Kind.INT, int),
    (25, 1009, Kind.TEXT, str),
    (26, 1028, Kind.INT, int),
    (114, 199, Kind.JSON, Json),
    (700, 1021, Kind.FLOAT32, float),
    (701, 1022, Kind.FLOAT64, float),
    (705, 0, Kind.TEXT, str),
    (790, 791, Kind.DECIMAL, money),
    (1042, 1014, Kind.CHAR, str),
    (1043, 1015, Kind.TEXT, str),
    (1082, 1182, Kind.DATE, _far(date.fromisoformat)),
    (1083, 1183, Kind.TIME, _far(_time)),
    (1114, 1115, Kind.TIMESTAMP, _far(datetime.fromisoformat)),
    (1184, 1185, Kind.TIMESTAMPTZ, _far(datetime.fromisoformat)),
    (1186, 1187, Kind.INTERVAL, _far(interval)),
    (1266, 1270, Kind.TIMETZ, _far(time.fromisoformat)),
    (1560, 1561, Kind.BITS, str),
    (1562, 1563, Kind.BITS, str),
    (1700, 1231, Kind.DECIMAL, Decimal),
    (2950, 2951, Kind.UUID, UUID),
    (3802, 3807, Kind.JSON, Json),
)


def _array_of(load: Loader) -> Loader:
    """Return the loader of an array whose elements `load` reads."""
    return lambda text: array(text, load)


TYPES: dict[int, tuple[Kind, Loader]] = {
    **{oid: (kind, load) for oid, _, kind, load in _SCALARS},
    **{array_oid: (Kind.ARRAY, _array_of(load)) for _, array_oid, _, load in _SCALARS if array_oid},
}
"""Type oid to kind and loader. A type of the snapshot's own (enum, composite, range) is its text, kind OTHER."""
