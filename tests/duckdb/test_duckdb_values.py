"""What a worker sends becomes exact values, and what it may not send breaks the session."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from sqlassay.cases.relation import FarTemporal, Interval, Json, Kind
from sqlassay.dialect_adapters.contract import SessionLostError
from sqlassay.dialect_adapters.duckdb.session import _described, _rows
from sqlassay.dialect_adapters.duckdb.values import reader_of

_UUID = "12345678-1234-5678-1234-567812345678"


@pytest.mark.parametrize(
    ("spec", "cell", "kind", "value"),
    [
        ("int", 2**70, Kind.INT, 2**70),
        ("bignum", "9" * 400, Kind.INT, int("9" * 400)),
        ("bignum", "9" * 5000, Kind.INT, Decimal("9" * 5000)),
        ("decimal", "-0.10", Kind.DECIMAL, Decimal("-0.10")),
        ("date", "2024-02-29", Kind.DATE, dt.date(2024, 2, 29)),
        ("date", "infinity", Kind.DATE, FarTemporal("infinity")),
        ("date", "0044-03-15 (BC)", Kind.DATE, FarTemporal("0044-03-15 BC")),
        ("timestamp", "0044-03-15 (BC) 01:02:03", Kind.TIMESTAMP, FarTemporal("0044-03-15 01:02:03 BC")),
        ("time", "24:00:00", Kind.TIME, FarTemporal("24:00:00")),
        ("time", "01:02:03.5", Kind.TIME, dt.time(1, 2, 3, 500_000)),
        ("time", "01:02:03.123456789", Kind.TIME, FarTemporal("01:02:03.123456789")),
        ("timetz", "01:02:03+05:30", Kind.TIMETZ, dt.time(1, 2, 3, tzinfo=dt.timezone(dt.timedelta(hours=5.5)))),
        ("timestamp", "2024-01-01 00:00:00.000001", Kind.TIMESTAMP, dt.datetime(2024, 1, 1, 0, 0, 0, 1)),  # noqa: DTZ001
        ("timestamp", "2024-01-01 00:00:00.123456789", Kind.TIMESTAMP, FarTemporal("2024-01-01 00:00:00.123456789")),
        ("timestamp", "12024-01-01 00:00:00", Kind.TIMESTAMP, FarTemporal("12024-01-01 00:00:00")),
        ("timestamptz", "2024-01-01 00:00:00+00", Kind.TIMESTAMPTZ, dt.datetime(2024, 1, 1, tzinfo=dt.UTC)),
        ("timestamptz", "-infinity", Kind.TIMESTAMPTZ, FarTemporal("-infinity")),
        ("interval", "1 year 2 months -3 days -04:05:06.5", Kind.INTERVAL, Interval(14, -3, -14_706_500_000)),
        ("interval", "00:00:00", Kind.INTERVAL, Interval(0, 0, 0)),
        ("interval", "-1 month", Kind.INTERVAL, Interval(-1, 0, 0)),
        ("interval", "2562047788:00:00", Kind.INTERVAL, Interval(0, 0, 2562047788 * 3_600_000_000)),
        ("uuid", _UUID, Kind.UUID, UUID(_UUID)),
        ("json", '{"a": 1}', Kind.JSON, Json('{"a": 1}')),
        ("bytes", b"\x00\xff", Kind.BYTES, b"\x00\xff"),
        ("bits", "0101", Kind.BITS, "0101"),
        (["array", "date"], ["infinity", None], Kind.ARRAY, (FarTemporal("infinity"), None)),
        (["array", ["array", "decimal"]], [["1.50"], None], Kind.ARRAY, ((Decimal("1.50"),), None)),
    ],
)
def test_a_cell_is_read_by_the_kind_of_its_column(spec: Any, cell: Any, kind: Kind, value: object) -> None:
    """Nothing is rounded, cut or taken for something else on the way."""
    found, read = reader_of(spec)
    assert found is kind
    assert repr(read(cell)) == repr(value)


@pytest.mark.parametrize("spec", ["colour", ["list", "int"], ["array"], 5, [], ["array"] * 3])
def test_columns_of_another_shape_break_the_session(spec: Any) -> None:
    """A kind that is not known, or no kind at all, is a worker gone wrong."""
    with pytest.raises(SessionLostError, match="columns of another shape"):
        _described([["a", spec]])


def test_columns_nested_past_reason_break_the_session() -> None:
    """A hostile worker cannot make the host recurse without end."""
    spec: Any = "int"
    for _ in range(100):
        spec = ["array", spec]
    with pytest.raises(SessionLostError, match="columns of another shape"):
        _described([["a", spec]])


@pytest.mark.parametrize(
    ("spec", "row"),
    [
        ("int", [1, 2]),
        ("int", "no row"),
        ("int", [{"a": 1}]),
        ("decimal", ["one"]),
        ("interval", ["soon"]),
        ("interval", [""]),
        ("uuid", ["x"]),
        (["array", "int"], [5]),
        ("date", [["x"]]),
    ],
)
def test_a_value_that_its_column_cannot_hold_breaks_the_session(spec: Any, row: Any) -> None:
    """Rows of another width and cells of another form are never taken for values."""
    columns, readers = _described([["a", spec]])
    assert [column.name for column in columns] == ["a"]
    with pytest.raises(SessionLostError):
        list(_rows([row], readers))
