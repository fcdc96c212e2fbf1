"""A jailed DuckDB gives exact values, runs what the role may and nothing else, and has no way to a file."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from math import isinf, isnan
from typing import Any
from uuid import UUID

import pytest
from duckdb_servers import installed, served

from sqlassay.cases.outcome import Failure, Rows
from sqlassay.cases.policy import Policy
from sqlassay.cases.relation import Column, FarTemporal, Interval, Json, Kind, Relation
from sqlassay.cases.typed_json import relation_from_json, relation_to_json
from sqlassay.cases.verdicts import FailureKind
from sqlassay.dialect_adapters.conformance import run_on
from sqlassay.dialect_adapters.contract import Limits, Mode, Pins, Role, StatementError
from sqlassay.harness.verdict import GoldRows, judge_rows
from sqlassay.sandboxes.contract import Sandbox

pytestmark = [pytest.mark.jail, installed]
LIMITS = Limits(timeout=10.0)
_UUID = "12345678-1234-5678-1234-567812345678"


@pytest.fixture(scope="module")
def server() -> Iterator[Sandbox]:
    """A READ-mode worker."""
    with served(Mode.READ) as sandbox:
        yield sandbox


def cell(server: Sandbox, expression: str) -> tuple[Kind, Any]:
    """Return the kind and the value of one expression."""
    outcome = run_on(server, f"SELECT {expression} AS v", LIMITS).outcome
    assert isinstance(outcome, Rows), outcome
    return outcome.relation.columns[0].kind, outcome.relation.rows[0][0]


@pytest.mark.parametrize(
    ("expression", "kind", "value"),
    [
        ("170141183460469231731687303715884105727::HUGEINT", Kind.INT, 2**127 - 1),
        ("18446744073709551615::UBIGINT", Kind.INT, 2**64 - 1),
        ("'99999999999999999999999999999999999999999'::BIGNUM", Kind.INT, 10**41 - 1),
        ("-1.10::DECIMAL(38,10)", Kind.DECIMAL, Decimal("-1.1000000000")),
        ("0.1::FLOAT", Kind.FLOAT32, 0.10000000149011612),
        ("'infinity'::DATE", Kind.DATE, FarTemporal("infinity")),
        ("'9999-12-31'::DATE", Kind.DATE, dt.date(9999, 12, 31)),
        ("'-infinity'::TIMESTAMP", Kind.TIMESTAMP, FarTemporal("-infinity")),
        ("'0044-03-15 (BC)'::DATE", Kind.DATE, FarTemporal("0044-03-15 BC")),
        ("'24:00:00'::TIME", Kind.TIME, FarTemporal("24:00:00")),
        ("'01:02:03-02'::TIMETZ", Kind.TIMETZ, dt.time(1, 2, 3, tzinfo=dt.timezone(dt.timedelta(hours=-2)))),
        ("'2024-01-01 00:00:00+02'::TIMESTAMPTZ", Kind.TIMESTAMPTZ, dt.datetime(2023, 12, 31, 22, tzinfo=dt.UTC)),
        (
            "'2024-01-01 00:00:00.123456789'::TIMESTAMP_NS",
            Kind.TIMESTAMP,
            FarTemporal("2024-01-01 00:00:00.123456789"),
        ),
        ("INTERVAL '13 months -2 days 3 seconds'", Kind.INTERVAL, Interval(13, -2, 3_000_000)),
        ("'\\x00\\xFF'::BLOB", Kind.BYTES, b"\x00\xff"),
        ("'0101'::BIT", Kind.BITS, "0101"),
        (f"'{_UUID}'::UUID", Kind.UUID, UUID(_UUID)),
        ("'a'::ENUM ('a', 'b')", Kind.TEXT, "a"),
        ("'{\"a\": [1, null]}'::JSON", Kind.JSON, Json('{"a": [1, null]}')),
        ("[1, NULL, 3]", Kind.ARRAY, (1, None, 3)),
        ("[[DATE 'infinity'], NULL]", Kind.ARRAY, ((FarTemporal("infinity"),), None)),
        ("[1.50, 2]::DECIMAL(4,2)[2]", Kind.ARRAY, (Decimal("1.50"), Decimal("2.00"))),
        ("{'a': 1.50, 'b': DATE 'infinity'}", Kind.JSON, Json('{"a": 1.50, "b": "infinity"}')),
        ("{'b': {'c': NULL, 'd': [1, 2]}, 'b b': 'x'}", Kind.JSON, Json('{"b": {"c": null, "d": [1, 2]}, "b b": "x"}')),
        ("{'b': '\\x01'::BLOB}", Kind.JSON, Json('{"b": "01"}')),
        ("MAP {'k': 1}", Kind.JSON, Json('{"k": 1}')),
        ("MAP {7: DATE '2024-01-02'}", Kind.JSON, Json('{"7": "2024-01-02"}')),
        ("MAP {1.5: 1}", Kind.OTHER, "{1.5=1}"),
        ("union_value(k := 1)", Kind.OTHER, "1"),
        ("[{'a': 1}]", Kind.ARRAY, (Json('{"a": 1}'),)),
        ("'x' || chr(0) || 'y'", Kind.TEXT, "x\x00y"),
    ],
)
def test_every_type_comes_back_exact(server: Sandbox, expression: str, kind: Kind, value: object) -> None:
    """Neither months, nor nanoseconds, nor the end of time, nor the last digit is lost on the way."""
    found = cell(server, expression)
    assert (found[0], repr(found[1])) == (kind, repr(value))


@pytest.mark.parametrize(
    ("one", "other", "verdict"),
    [
        ("{'a': 1.50, 'b': DATE '2024-01-02'}", "{'b': DATE '2024-01-02', 'a': 1.5::DECIMAL(9,3)}", "match"),
        ("{'a': 1, 'b': 2}", "{'a': 2, 'b': 1}", "mismatch"),
        ("{'a': 1}", "{'A1': 1}", "mismatch"),
        ("MAP {'k': 1, 'l': 2}", "MAP {'l': 2, 'k': 1.0::DOUBLE}", "match"),
        ("MAP {'k': 1}", "MAP {'k': 2}", "mismatch"),
        ("{'n': 12345678901234567890123456789::HUGEINT}", "{'n': 12345678901234567890123456788::HUGEINT}", "mismatch"),
    ],
)
def test_structs_and_maps_are_compared_by_content(server: Sandbox, one: str, other: str, verdict: str) -> None:
    """Fields are met by name, entries by key, numbers by value to the last digit; typed JSON keeps them."""
    sides = [Relation((Column("x", found[0]),), ((found[1],),)) for found in (cell(server, one), cell(server, other))]
    kept = [relation_from_json(relation_to_json(side)) for side in sides]
    assert kept == sides
    assert judge_rows(GoldRows(kept[0]), kept[1], Policy()).verdict == verdict


def test_numbers_past_all_bounds_stay_what_they_are(server: Sandbox) -> None:
    """NaN, infinity and the negative zero of doubles."""
    assert isnan(cell(server, "'nan'::DOUBLE")[1])
    assert isinf(cell(server, "'-inf'::DOUBLE")[1])
    assert str(cell(server, "-0.0::DOUBLE")[1]) == "-0.0"


def test_rows_keep_their_order_where_moments_travel_as_text(server: Sandbox) -> None:
    """A query with dates is asked again around itself; its order, its names and a closing comment survive."""
    sql = (
        "SELECT id, DATE '2020-01-01' + (id % 7)::INT AS d, id AS id FROM big ORDER BY id % 7 DESC, id LIMIT 900; -- ;)"
    )
    outcome = run_on(server, sql, LIMITS).outcome
    assert isinstance(outcome, Rows), outcome
    want = sorted(range(5000), key=lambda n: (-(n % 7), n))[:900]
    assert [row[0] for row in outcome.relation.rows] == want
    assert [column.name for column in outcome.relation.columns] == ["id", "d", "id"]
    assert outcome.relation.rows[0][1] == dt.date(2020, 1, 7)


@pytest.mark.parametrize(
    "sql",
    [
        "FROM big LIMIT 1",
        "TABLE hollow",
        "SHOW TABLES",
        "DESCRIBE big",
        "SUMMARIZE big",
        "EXPLAIN SELECT * FROM big",
        "PRAGMA table_info('big')",
        "PRAGMA version",
        "PIVOT (SELECT id % 2 AS odd, id FROM big) ON odd USING count(id)",
        "SELECT list_transform([1, 2], lambda x: x + 1) AS v",
        "SELECT COLUMNS(*) FROM big LIMIT 1",
        "SELECT * FROM big POSITIONAL JOIN hollow LIMIT 1",
        "SELECT name FROM big QUALIFY row_number() OVER (PARTITION BY name ORDER BY id) = 1",
        "VALUES (1, DATE '2020-01-01')",
    ],
)
def test_a_reader_reads_in_every_way_there_is(server: Sandbox, sql: str) -> None:
    """What DuckDB has beyond standard SELECT runs too."""
    outcome = run_on(server, sql, LIMITS).outcome
    assert isinstance(outcome, Rows), outcome
    assert outcome.relation.columns


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('/data/alpha.duckdb')",
        "SELECT * FROM '/data/alpha.duckdb'",
        "SELECT * FROM read_text('/opt/sqlassay/worker/child.py')",
        "SELECT * FROM read_parquet('x')",
        "SELECT * FROM glob('/*')",
        "SELECT * FROM query('SELECT * FROM read_text(''/opt/sqlassay/worker/child.py'')')",
        "COPY big TO '/tmp/x.csv'",
        "COPY big FROM '/data/alpha.duckdb'",
        "ATTACH '/data/beta.duckdb' AS beta",
        "ATTACH ':memory:' AS m",
        "EXPORT DATABASE '/tmp/x'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "UPDATE EXTENSIONS",
        "SET enable_external_access = true",
        "SET lock_configuration = false",
        "RESET max_execution_time",
        "PRAGMA memory_limit = '1TB'",
        "PRAGMA database_list",
        "SET VARIABLE x = 1",
        "CREATE SECRET s (TYPE http)",
        "CREATE TEMP TABLE x AS SELECT 1 AS a",
        "CREATE TEMP MACRO sum(a) AS 0",
        "CALL enable_logging()",
        "PREPARE p AS SELECT 1",
        "CHECKPOINT",
        "VACUUM",
        "EXPLAIN ANALYZE DELETE FROM big",
        "WITH d AS (DELETE FROM big RETURNING id) SELECT * FROM d",
    ],
)
def test_a_reader_reaches_no_file_and_changes_nothing(server: Sandbox, sql: str) -> None:
    """Without any guard, role and settings alone refuse files, settings, extensions and every change."""
    outcome = run_on(server, sql, LIMITS).outcome
    assert isinstance(outcome, Failure), outcome
    assert outcome.kind is FailureKind.ERROR
    assert "sqlassay" not in outcome.message or "Cannot access" in outcome.message
    assert isinstance(run_on(server, "SELECT count(*) AS n FROM big", LIMITS).outcome, Rows)


def test_a_session_that_wants_too_much_memory_is_stopped_by_a_limit(server: Sandbox) -> None:
    """Nothing is spilled to disk, and the statement is told that it was the memory."""
    sql = "SELECT list(a.name || b.name || c.id) AS v FROM big a, big b, big c"
    outcome = run_on(server, sql, Limits(timeout=60.0)).outcome
    assert isinstance(outcome, Failure), outcome
    assert outcome.kind is FailureKind.RESOURCE_LIMIT


def test_every_function_that_reads_the_clock_says_the_pinned_moment(server: Sandbox) -> None:
    """Words and functions alike, an age of one argument too."""
    pins = Pins(clock=dt.datetime(2020, 2, 29, 12, 30, tzinfo=dt.UTC))
    session = server.open("alpha", Role.READER, pins)
    try:
        session.begin_read(LIMITS)
        sql = """
            SELECT now(), current_timestamp, get_current_timestamp(), transaction_timestamp(),
              current_date, today(), localtimestamp, current_localtimestamp(), current_time, get_current_time(),
              localtime, current_localtime(), age(TIMESTAMP '2020-02-28'), age(DATE '2020-03-01', DATE '2020-02-29'),
              ago(INTERVAL 1 DAY)
            """
        (row,) = session.fetch(sql, LIMITS).rows
    finally:
        session.close()
    moment, time = dt.datetime(2020, 2, 29, 12, 30, tzinfo=dt.UTC), dt.time(12, 30)
    assert row[:4] == (moment,) * 4
    assert row[4:6] == (dt.date(2020, 2, 29),) * 2
    assert row[6:8] == (moment.replace(tzinfo=None),) * 2
    assert row[8:10] == (time.replace(tzinfo=dt.UTC),) * 2
    assert row[10:12] == (time,) * 2
    assert row[12:14] == (Interval(0, 1, 0), Interval(0, 1, 0))
    assert row[14] == moment - dt.timedelta(days=1)


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE MACRO f(a) AS a",
        "CREATE SCHEMA s",
        "CREATE TYPE y AS ENUM ('a')",
        "CREATE SEQUENCE q",
        "DROP SCHEMA main CASCADE",
        "CREATE SECRET s (TYPE http)",
        "COPY big TO '/data-live/x.csv'",
        "ATTACH '/data-live/beta.duckdb' AS beta",
        "EXPORT DATABASE '/data-live/x'",
        "SET threads = 4",
        "COMMIT",
    ],
)
def test_an_owner_changes_tables_views_and_indexes_alone(sql: str, owned: Sandbox) -> None:
    """Where everything may be written, the owner's statements still make nothing else and reach no other file."""
    session = owned.open("alpha", Role.OWNER, Pins())
    try:
        session.begin_write(LIMITS)
        with pytest.raises(StatementError) as caught:
            session.fetch(sql, LIMITS)
        assert caught.value.kind is FailureKind.ERROR
    finally:
        session.close()


@pytest.fixture(scope="module")
def owned() -> Iterator[Sandbox]:
    """A WRITE-mode worker."""
    with served(Mode.WRITE) as sandbox:
        yield sandbox


def test_what_a_killed_session_had_committed_is_there_for_the_next(owned: Sandbox) -> None:
    """A kill between commit and close loses nothing, and a change that was not committed leaves nothing."""
    session = owned.open("alpha", Role.WRITER, Pins())
    session.begin_write(LIMITS)
    session.fetch("INSERT INTO hollow (id, name) VALUES (1, 'kept')", LIMITS)
    session.commit()
    session.begin_write(LIMITS)
    session.fetch("INSERT INTO hollow (id, name) VALUES (2, 'lost')", LIMITS)
    session.cancel()
    session.close()
    reader = owned.open("alpha", Role.READER, Pins())
    try:
        reader.begin_read(LIMITS)
        assert reader.fetch("SELECT id, name FROM hollow", LIMITS).rows == ((1, "kept"),)
    finally:
        reader.close()
