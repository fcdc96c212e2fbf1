"""Postgres text cells become typed values; what Python cannot hold is still a value."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from uuid import UUID

import pytest

from sqlassay.cases.relation import Column, FarTemporal, Interval, Json, Kind
from sqlassay.dialect_adapters.postgres.values import TYPES, relation_of
from sqlassay.dialect_adapters.postgres.wire import Field, RawResult

UTC = dt.UTC
CASES = [
    (16, "t", Kind.BOOL, True),
    (20, "-9223372036854775808", Kind.INT, -(2**63)),
    (1700, "1.50", Kind.DECIMAL, Decimal("1.50")),
    (1700, "-Infinity", Kind.DECIMAL, Decimal("-Infinity")),
    (790, "$1,234.50", Kind.DECIMAL, Decimal("1234.50")),
    (790, "-$0.05", Kind.DECIMAL, Decimal("-0.05")),
    (790, "($3.00)", Kind.DECIMAL, Decimal("-3.00")),
    (700, "0.1", Kind.FLOAT32, 0.1),
    (701, "1e+10", Kind.FLOAT64, 1e10),
    (25, "ü", Kind.TEXT, "ü"),
    (1042, "ab   ", Kind.CHAR, "ab   "),
    (17, "\\xdead", Kind.BYTES, b"\xde\xad"),
    (1082, "2024-02-29", Kind.DATE, dt.date(2024, 2, 29)),
    (1082, "0044-03-15 BC", Kind.DATE, FarTemporal("0044-03-15 BC")),
    (1082, "12024-01-01", Kind.DATE, FarTemporal("12024-01-01")),
    (1083, "24:00:00", Kind.TIME, dt.timedelta(days=1)),
    (1083, "01:02:03.5", Kind.TIME, dt.time(1, 2, 3, 500_000)),
    (1114, "2024-01-01 00:00:00.25", Kind.TIMESTAMP, dt.datetime(2024, 1, 1, 0, 0, 0, 250_000)),  # noqa: DTZ001
    (1184, "infinity", Kind.TIMESTAMPTZ, FarTemporal("infinity")),
    (1184, "2024-01-01 00:00:00+00", Kind.TIMESTAMPTZ, dt.datetime(2024, 1, 1, tzinfo=UTC)),
    (1186, "1 year 2 mons -3 days +04:05:06.7", Kind.INTERVAL, Interval(14, -3, 14_706_700_000)),
    (1186, "-1 mons +1 day -00:00:01", Kind.INTERVAL, Interval(-1, 1, -1_000_000)),
    (1186, "00:00:00", Kind.INTERVAL, Interval(0, 0, 0)),
    (1186, "@ 1 fortnight", Kind.INTERVAL, FarTemporal("@ 1 fortnight")),
    (1186, "infinity", Kind.INTERVAL, FarTemporal("infinity")),
    (2950, "12345678-1234-5678-1234-567812345678", Kind.UUID, UUID("12345678-1234-5678-1234-567812345678")),
    (3802, '{"a": 1}', Kind.JSON, Json('{"a": 1}')),
    (114, "null", Kind.JSON, Json("null")),
    (1560, "0101", Kind.BITS, "0101"),
    (1007, "{1,NULL,3}", Kind.ARRAY, (1, None, 3)),
    (1007, "{}", Kind.ARRAY, ()),
    (1007, "[0:1]={1,2}", Kind.ARRAY, (1, 2)),
    (1009, '{{a,"b,\\"c\\\\"},{"NULL",NULL}}', Kind.ARRAY, (("a", 'b,"c\\'), ("NULL", None))),
    (999_999, "mood", Kind.OTHER, "mood"),
]


@pytest.mark.parametrize(("oid", "text", "kind", "value"), CASES)
def test_a_cell_becomes_its_value(oid: int, text: str, kind: Kind, value: object) -> None:
    """Each type's text is read as the value it stands for."""
    relation = relation_of(RawResult((Field("v", oid),), [(text.encode(),), (None,)]))
    assert relation.columns == (Column("v", kind),)
    assert relation.rows == ((value,), (None,))
    assert type(relation.rows[0][0]) is type(value)


def test_nan_comes_back() -> None:
    """NaN is a decimal and a float value."""
    assert all(TYPES[oid][1]("NaN") != TYPES[oid][1]("NaN") for oid in (700, 701, 1700))
