"""The snapshots the conformance suite runs on, and how a returned value counts as the one that was loaded."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from decimal import Decimal
from math import isclose
from uuid import UUID

from sqlassay.cases.relation import Interval, Json, Kind, Row
from sqlassay.cases.snapshot import ColumnDef, Snapshot, TableDef

MARKER = "only_in_beta_7f3a"
"""A text that no session on the database alpha may ever see."""

BIG_ROWS = 5_000
WIDE_BYTES = 20_000

VALUES: dict[Kind, object] = {
    Kind.BOOL: True,
    Kind.INT: -(2**53) - 1,
    Kind.DECIMAL: Decimal("12345.670"),
    Kind.FLOAT32: 1.5,
    Kind.FLOAT64: 0.1,
    Kind.TEXT: "tab\t back\\slash 'quote' \"double\" % :x ü 😀\nline",
    Kind.CHAR: "ab",
    Kind.DATE: dt.date(2024, 2, 29),
    Kind.TIME: dt.time(1, 2, 3),
    Kind.TIMETZ: dt.time(1, 2, 3, tzinfo=dt.UTC),
    Kind.TIMESTAMP: dt.datetime(2024, 2, 29, 1, 2, 3, 250_000),  # noqa: DTZ001 - a naive timestamp is meant
    Kind.TIMESTAMPTZ: dt.datetime(2024, 2, 29, 1, 2, 3, tzinfo=dt.UTC),
    Kind.INTERVAL: Interval(13, 2, 3_000_000),
    Kind.BYTES: b"\x00\xff\\'",
    Kind.UUID: UUID("12345678-1234-5678-1234-567812345678"),
    Kind.JSON: Json('{"a": [1, null, "ü"]}'),
    Kind.ARRAY: ("a", None, 'b,"c"'),
    Kind.BITS: "01010",
    Kind.OTHER: "x",
}


def _column(kind: Kind) -> ColumnDef:
    """Return the column that holds one kind."""
    length = 5 if kind in (Kind.CHAR, Kind.BITS) else None
    decimal = kind is Kind.DECIMAL
    return ColumnDef(
        f"c_{kind.value}", kind, length=length, precision=12 if decimal else None, scale=3 if decimal else None
    )


_ID = ColumnDef("id", Kind.INT, nullable=False)
_NAME = ColumnDef("name", Kind.TEXT)
ALL_TYPES = TableDef("all_types", (_ID, *(_column(kind) for kind in VALUES)), primary_key=("id",))
BIG = TableDef("big", (_ID, _NAME), primary_key=("id",))
WIDE = TableDef("wide", (_ID, ColumnDef("body", Kind.TEXT)), primary_key=("id",))
HOLLOW = TableDef("hollow", (_ID, _NAME), primary_key=("id",))
ORDER = TableDef("order", (ColumnDef("group", Kind.TEXT, nullable=False), _NAME), primary_key=("group",))
SECRET = TableDef("secret", (_ID, _NAME), primary_key=("id",))


class Source:
    """The rows of the suite's tables."""

    def rows(self, table: str) -> Iterator[Row]:
        """Yield the rows of one table."""
        if table == "all_types":
            yield (1, *VALUES.values())
            yield (2, *(None for _ in VALUES))
        elif table == "big":
            yield from ((number, f"name {number % 7}") for number in range(BIG_ROWS))
        elif table == "wide":
            yield from ((number, "w" * WIDE_BYTES) for number in range(10))
        elif table == "order":
            yield ("a key", "a name")
        elif table == "secret":
            yield (1, MARKER)


ALPHA = Snapshot("alpha", "alpha", "conformance-alpha-1", (ALL_TYPES, BIG, WIDE, HOLLOW, ORDER), Source())
BETA = Snapshot("beta", "beta", "conformance-beta-1", (SECRET,), Source())


def same(kind: Kind, got: object, sent: object) -> bool:
    """Return whether an engine gave back the value that was loaded, in the form its own type has."""
    if got is None or isinstance(sent, bool):
        return got == sent
    if isinstance(sent, (int, float, Decimal)):
        return isinstance(got, (int, float, Decimal)) and isclose(got, sent, rel_tol=1e-12)
    if isinstance(sent, (Json, tuple)):
        return _document(got) == _document(sent)
    if kind is Kind.BITS:
        return got in (sent, int(str(sent), 2))
    if isinstance(sent, bytes):
        return got == sent
    if isinstance(sent, Interval):
        return got == sent or str(got) == f"{sent.months} months {sent.days} days {sent.microseconds} microseconds"
    if kind in (Kind.TIME, Kind.TIMETZ, Kind.TIMESTAMP, Kind.TIMESTAMPTZ):
        return _moment(got) == _moment(sent)
    return str(got).rstrip() == str(sent).rstrip()


def _document(value: object) -> object:
    """Return a JSON document or an array as plain lists."""
    if isinstance(value, Json):
        return json.loads(value.text)
    return list(value) if isinstance(value, tuple) else json.loads(str(value))


def _moment(value: object) -> object:
    """Return a moment in UTC without its zone, a time of day as its text."""
    if isinstance(value, dt.timedelta):
        return str(value).zfill(8)
    if isinstance(value, dt.time):
        return value.replace(tzinfo=None).isoformat()
    if isinstance(value, str) and len(value) < len("2024-02-29"):
        return value
    if isinstance(value, str) and "-" not in value[:8]:
        return dt.time.fromisoformat(value).replace(tzinfo=None).isoformat()
    moment = value if isinstance(value, dt.datetime) else dt.datetime.fromisoformat(str(value))
    return moment.astimezone(dt.UTC).replace(tzinfo=None) if moment.tzinfo else moment
