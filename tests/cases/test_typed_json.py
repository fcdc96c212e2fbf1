"""Typed JSON gives every cell back as it was."""

from __future__ import annotations

import json
import math
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlassay.cases.errors import InputError
from sqlassay.cases.relation import Column, FarTemporal, Interval, Json, Kind, Relation
from sqlassay.cases.typed_json import decode, encode, relation_from_json, relation_to_json

ZONES = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
FAR = st.sampled_from(
    ["infinity", "-infinity", "4714-11-24 BC", "0044-03-15 12:00:00+00 BC", "12026-01-01", "0000-00-00"]
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(2**53 - 2, 2**53 + 2)
    | st.floats(allow_nan=False)
    | st.text()
    | st.decimals(allow_nan=False)
    | st.binary()
    | st.dates()
    | st.datetimes()
    | st.datetimes(timezones=ZONES)
    | st.times()
    | st.times(timezones=ZONES)
    | st.timedeltas()
    | st.uuids()
    | st.builds(Interval, st.integers(), st.integers(), st.integers())
    | st.text().map(Json)
    | FAR.map(FarTemporal)
)
CELLS = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4).map(tuple), max_leaves=8)


def _same(left: object, right: object) -> bool:
    """Return True where two cells are equal in value, type and sign."""
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(_same(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, Decimal) and isinstance(right, Decimal):
        return left.as_tuple() == right.as_tuple()
    if isinstance(left, float) and isinstance(right, float):
        return left == right and math.copysign(1, left) == math.copysign(1, right)
    return type(left) is type(right) and left == right


@given(CELLS)
def test_every_cell_survives_the_round_trip(cell: object) -> None:
    """Encoding, JSON text and decoding give back value and type."""
    text = json.dumps(encode(cell), allow_nan=False)
    assert _same(decode(json.loads(text)), cell)


@given(st.lists(st.lists(CELLS, min_size=2, max_size=2).map(tuple), max_size=4))
def test_relations_survive_the_round_trip(rows: list[tuple[object, ...]]) -> None:
    """A relation keeps its columns, kinds and the order of its rows."""
    relation = Relation((Column("a", Kind.INT), Column("", Kind.OTHER)), tuple(rows))
    back = relation_from_json(json.loads(json.dumps(relation_to_json(relation), allow_nan=False)))
    assert back.columns == relation.columns
    assert _same(back.rows, relation.rows)


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        (2**53, 2**53),
        (2**53 + 1, {"$int": "9007199254740993"}),
        (Decimal("1.50"), {"$decimal": "1.50"}),
        (Decimal("NaN"), {"$decimal": "NaN"}),
        (math.inf, {"$float": "inf"}),
        (-0.0, {"$float": "-0.0"}),
        (date(2026, 1, 31), {"$date": "2026-01-31"}),
        (datetime(2026, 1, 31, 12, tzinfo=UTC), {"$datetime": "2026-01-31T12:00:00+00:00"}),
        (FarTemporal("infinity"), {"$datetime": "infinity"}),
        (time(1, 2, 3, 4), {"$time": "01:02:03.000004"}),
        (timedelta(days=-1, microseconds=1), {"$interval": "-86399.999999"}),
        (Interval(1, -2, 3), {"$interval": [1, -2, 3]}),
        (b"\x00\xff", {"$bytes": "AP8="}),
        (UUID(int=1), {"$uuid": "00000000-0000-0000-0000-000000000001"}),
        (Json('{"a": 1}'), {"$json": '{"a": 1}'}),
        ((1, None, ("x",)), {"$array": [1, None, {"$array": ["x"]}]}),
    ],
)
def test_the_vocabulary_is_the_documented_one(cell: object, value: object) -> None:
    """Each type has exactly one spelling."""
    assert encode(cell) == value
    assert type(encode(cell)) is type(value)


def test_nan_is_written_and_read() -> None:
    """NaN survives, though it equals nothing."""
    assert encode(math.nan) == {"$float": "nan"}
    assert math.isnan(decode({"$float": "nan"}))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ({"$time": "24:00:00"}, FarTemporal("24:00:00")),
        ({"$interval": 90}, timedelta(seconds=90)),
        ({"$interval": 1.5}, timedelta(seconds=1.5)),
        ({"$date": "infinity"}, FarTemporal("infinity")),
        ({"$json": {"a": [1]}}, Json('{"a": [1]}')),
    ],
)
def test_readers_accept_these_too(value: object, cell: object) -> None:
    """Seconds for an interval, infinity for a date and a document in place are read."""
    assert decode(value) == cell


@pytest.mark.parametrize(
    "value",
    [
        {},
        [],
        [1],
        {"$int": 1},
        {"$int": "1_0"},
        {"$int": "x"},
        {"$decimal": "1_0"},
        {"$decimal": " 1"},
        {"$decimal": 1.5},
        {"$float": "Infinity"},
        {"$float": 1},
        {"$date": "2026-02-30x"},
        {"$date": "tomorrow"},
        {"$date": "2024-13-01"},
        {"$date": "2024-01-32"},
        {"$date": "12024-13-01"},
        {"$datetime": "2024-01-01 25:00:00"},
        {"$datetime": "2024-01-01T10:61"},
        {"$datetime": "hello"},
        1e400,
        {"$array": [-1e400]},
        {"$datetime": None},
        {"$time": "25:00"},
        {"$time": "24:00<"},
        {"$interval": [1, 2]},
        {"$interval": [1, 2, True]},
        {"$interval": "nan"},
        {"$interval": True},
        {"$interval": "1e99"},
        {"$bytes": "@@"},
        {"$bytes": "AP8"},
        {"$uuid": "1"},
        {"$array": 1},
        {"$array": [{"$int": "y"}]},
        {"$unknown": 1},
        {"$date": "2026-01-01", "$time": "01:00"},
        {"plain": 1},
    ],
)
def test_malformed_values_are_refused(value: object) -> None:
    """A tag that does not exist or cannot hold its value names the field and never gives a value."""
    with pytest.raises(InputError, match=r"^rows\[0\]"):
        decode(value, field="rows[0]")


def test_huge_integers_and_depths() -> None:
    """Integers past Python's text limit survive; endless nesting is one clear error."""
    huge = 10**5000 + 1
    assert decode(encode(huge)) == huge
    deep: object = 1
    for _ in range(100_000):
        deep = {"$array": [deep]}
    with pytest.raises(InputError, match="deeply"):
        decode(deep)


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ([], "relation"),
        ({"columns": []}, "relation"),
        ({"columns": 1, "rows": []}, "relation"),
        ({"columns": [1], "rows": []}, r"relation.columns\[0\]"),
        ({"columns": [{"name": "a", "kind": 1}], "rows": []}, r"relation.columns\[0\]"),
        ({"columns": [{"name": "a"}], "rows": [1]}, r"relation.rows\[0\]"),
        ({"columns": [{"name": "a"}], "rows": [[1], [1, 2]]}, r"relation.rows\[1\]"),
        ({"columns": [{"name": "a"}], "rows": [[{"$x": 1}]]}, r"relation.rows\[0\]\[0\]"),
        ({"columns": [{"name": "a"}], "rows": [[1], [1e400]]}, r"relation.rows\[1\]\[0\]"),
    ],
)
def test_malformed_relations_name_the_place(value: object, place: str) -> None:
    """A relation that is none says where."""
    with pytest.raises(InputError, match=place):
        relation_from_json(value)


def test_a_cell_of_no_known_type_is_our_mistake() -> None:
    """A type outside the vocabulary is never written silently."""
    with pytest.raises(TypeError, match="object"):
        encode(object())
