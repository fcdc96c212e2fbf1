"""MySQL text cells become typed values by type code and character set."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest

from sqlassay.cases.relation import Column, FarTemporal, Json, Kind
from sqlassay.dialect_adapters.mysql.values import relation_of
from sqlassay.dialect_adapters.mysql.wire import Field, RawResult

UTF8, BINARY = 255, 63
CASES = [
    (8, BINARY, b"18446744073709551615", Kind.INT, 2**64 - 1),
    (1, BINARY, b"1", Kind.INT, 1),
    (13, BINARY, b"2024", Kind.INT, 2024),
    (246, BINARY, b"1.6667", Kind.DECIMAL, Decimal("1.6667")),
    (4, BINARY, b"0.1", Kind.FLOAT32, 0.1),
    (5, BINARY, b"1e10", Kind.FLOAT64, 1e10),
    (10, BINARY, b"0000-00-00", Kind.DATE, FarTemporal("0000-00-00")),
    (10, BINARY, b"2024-02-29", Kind.DATE, dt.date(2024, 2, 29)),
    (12, BINARY, b"2024-00-01 00:00:00", Kind.TIMESTAMP, FarTemporal("2024-00-01 00:00:00")),
    (7, BINARY, b"2024-01-02 03:04:05.250000", Kind.TIMESTAMP, dt.datetime(2024, 1, 2, 3, 4, 5, 250_000)),  # noqa: DTZ001
    (11, BINARY, b"-838:59:59.5", Kind.TIME, -dt.timedelta(hours=838, minutes=59, seconds=59, microseconds=500_000)),
    (16, BINARY, b"\x01\x05", Kind.BITS, 261),
    (245, BINARY, '{"a": "ü"}'.encode(), Kind.JSON, Json('{"a": "ü"}')),
    (253, UTF8, "ü".encode(), Kind.TEXT, "ü"),
    (254, UTF8, b"ab", Kind.CHAR, "ab"),
    (253, BINARY, b"\xff", Kind.BYTES, b"\xff"),
    (252, UTF8, b"\xff", Kind.TEXT, b"\xff"),
    (255, BINARY, b"\x00\x01", Kind.OTHER, b"\x00\x01"),
]


@pytest.mark.parametrize(("code", "charset", "cell", "kind", "value"), CASES)
def test_a_cell_becomes_its_value(code: int, charset: int, cell: bytes, kind: Kind, value: object) -> None:
    """Each type's text is read as the value it stands for; zero dates and undecodable text stay values."""
    relation = relation_of(RawResult((Field("v", code, charset, 10),), [(cell,), (None,)]))
    assert relation.columns == (Column("v", kind),)
    assert relation.rows == ((value,), (None,))
    assert type(relation.rows[0][0]) is type(value)
