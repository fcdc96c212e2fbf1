"""The worker answers typed rows, refuses what its policy does not list, and ends every statement in time."""

from __future__ import annotations

import contextlib
import threading
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from rows import rows_of

from sqlassay.cases.errors import InfrastructureError
from sqlassay.cases.relation import Kind, Relation
from sqlassay.cases.verdicts import FailureKind
from sqlassay.dialect_adapters.contract import Endpoint, Limits, Pins, Role, SessionLostError, StatementError
from sqlassay.dialect_adapters.sqlite.adapter import SqliteAdapter
from sqlassay.dialect_adapters.sqlite.session import SqliteSession
from sqlassay.dialect_adapters.sqlite.worker.policy import (
    FUNCTIONS,
    PRAGMA_TABLES,
    PRAGMAS_BARE,
    PRAGMAS_WITH_ARGUMENT,
    TABLE_FUNCTIONS,
)

ROWS = rows_of("sqlite_authorizer")
SHORT = Limits(timeout=1.0)
ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM r) SELECT max(n) FROM r"
ONE_LONG_STEP = "SELECT instr(hex(zeroblob(4000000)), hex(zeroblob(1999999)) || '1')"


def run(
    endpoint: Endpoint, sql: str, limits: Limits = SHORT, *, role: Role = Role.READER, pins: Pins | None = None
) -> Relation:
    """Run one statement in a session of its own."""
    with closing(SqliteSession(endpoint, "w", role, pins or Pins())) as session:
        session.begin_read(limits)
        relation = session.fetch(sql, limits)
        session.rollback()
        return relation


def failure(endpoint: Endpoint, sql: str, limits: Limits = SHORT) -> StatementError:
    """Return the failure of one statement."""
    with pytest.raises(StatementError) as caught:
        run(endpoint, sql, limits)
    return caught.value


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["sql"][:40])
def test_policy(endpoint: Endpoint, row: dict[str, Any]) -> None:
    """A statement runs exactly where the table of rows says so, with no guard in front of the worker."""
    if row["verdict"] == "runs":
        assert run(endpoint, row["sql"]).rows
    else:
        assert failure(endpoint, row["sql"]).kind is FailureKind.ERROR


def test_policy_holds_outside_a_transaction(endpoint: Endpoint) -> None:
    """VACUUM INTO is refused by the policy itself, not only because a transaction is open."""
    with closing(SqliteSession(endpoint, "w", Role.READER, Pins())) as session:
        for _ in range(2):
            with pytest.raises(StatementError, match="authoriz"):
                session.fetch("VACUUM INTO '/tmp/never.db'", SHORT)
            session.begin_read(SHORT)
            session.fetch("SELECT 1", SHORT)
            session.rollback()


def test_policy_covers_the_grammar_rules() -> None:
    """Whatever the guard lets through, the worker's policy lets through too."""
    rules = SqliteAdapter().rules
    assert rules.functions - FUNCTIONS - {"cast", *TABLE_FUNCTIONS, *PRAGMA_TABLES} == set()
    assert rules.pragmas - PRAGMAS_BARE - PRAGMAS_WITH_ARGUMENT == set()


def test_values_keep_their_types(endpoint: Endpoint) -> None:
    """Integers, floats with infinities, text, blobs, NULL and text that is no UTF-8 arrive as what they are."""
    relation = run(endpoint, "SELECT 9223372036854775807, -0.0, 9e999, 'é\u2028', x'00ff', NULL, CAST(x'ff' AS TEXT)")
    assert relation.rows == ((9223372036854775807, 0.0, float("inf"), "é\u2028", b"\x00\xff", None, b"\xff"),)
    kinds = [column.kind for column in relation.columns]
    assert kinds == [Kind.INT, Kind.FLOAT64, Kind.FLOAT64, Kind.TEXT, Kind.BYTES, Kind.OTHER, Kind.BYTES]


def test_a_mixed_column_is_other(endpoint: Endpoint) -> None:
    """A column whose values differ in type has the kind other, and NULLs do not count."""
    relation = run(endpoint, "SELECT 1 AS a, 1 AS b UNION ALL SELECT 'x', NULL")
    assert [column.kind for column in relation.columns] == [Kind.OTHER, Kind.INT]


def test_no_rows_keep_their_columns(endpoint: Endpoint) -> None:
    """An empty result still names its columns."""
    relation = run(endpoint, "SELECT id, name FROM person WHERE 0")
    assert [column.name for column in relation.columns] == ["id", "name"]
    assert relation.rows == ()


def test_many_chunks_arrive_whole(endpoint: Endpoint) -> None:
    """A result of several frames is joined in order."""
    sql = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM r LIMIT 50000) SELECT n, 'some text ' || n FROM r"
    rows = run(endpoint, sql, Limits(timeout=10)).rows
    assert len(rows) == 50000
    assert rows[49_999] == (50000, "some text 50000")


def test_row_limit(endpoint: Endpoint) -> None:
    """A result of exactly the limit is whole; one row more is too_many_rows."""
    assert len(run(endpoint, "SELECT id FROM person", Limits(rows=3)).rows) == 3
    assert failure(endpoint, "SELECT id FROM person", Limits(rows=2)).kind is FailureKind.TOO_MANY_ROWS


@pytest.mark.parametrize(
    ("sql", "limits"),
    [
        ("SELECT 'aaaaaaaaaaa'", Limits(cell_bytes=10)),
        ("SELECT 'éééééé'", Limits(cell_bytes=10)),
        ("SELECT zeroblob(9000000)", Limits()),
        ("SELECT hex(zeroblob(400000000))", Limits()),
        ("SELECT zeroblob(1000) FROM person", Limits(result_bytes=2500)),
    ],
)
def test_byte_limits(endpoint: Endpoint, sql: str, limits: Limits) -> None:
    """A cell or a result past its bytes is too_many_bytes, never a cut value."""
    assert failure(endpoint, sql, limits).kind is FailureKind.TOO_MANY_BYTES


def test_a_cell_at_the_limit_arrives(endpoint: Endpoint) -> None:
    """A cell of exactly 8 MiB is whole."""
    ((cell,),) = run(endpoint, f"SELECT zeroblob({8 * 1024 * 1024})", Limits()).rows
    assert cell == bytes(8 * 1024 * 1024)


@pytest.mark.parametrize("sql", [ENDLESS, "SELECT count(*) FROM (" + ENDLESS + ") a, person", ONE_LONG_STEP])
def test_timeout(endpoint: Endpoint, sql: str) -> None:
    """An endless statement, even one long step that never looks at the clock, ends as timeout within a second."""
    started = time.monotonic()
    assert failure(endpoint, sql, Limits(timeout=0.3)).kind is FailureKind.TIMEOUT
    assert time.monotonic() - started < 1.8


@pytest.mark.parametrize(
    "sql",
    [
        "WITH RECURSIVE r(n,s) AS (SELECT 1,zeroblob(7000000) UNION ALL SELECT n+1,zeroblob(7000000) FROM r LIMIT 500)"
        " SELECT n, length(s) FROM r ORDER BY s, n",
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT n+1 FROM r) SELECT group_concat(hex(randomblob(999999))) FROM r",
    ],
)
def test_memory_bomb(endpoint: Endpoint, sql: str) -> None:
    """A statement that eats memory ends inside its own limits and leaves the worker sound."""
    limits = Limits(timeout=5)
    kinds = {FailureKind.RESOURCE_LIMIT, FailureKind.TIMEOUT, FailureKind.TOO_MANY_BYTES}
    assert failure(endpoint, sql, limits).kind in kinds
    assert run(endpoint, "SELECT count(*) FROM person").rows == ((3,),)


@pytest.mark.parametrize(
    "sql", ["SELECT " + "(" * 5000 + "1" + ")" * 5000, "SELECT 1" + "+1" * 300, "SELECT 1" + " UNION ALL SELECT 1" * 60]
)
def test_parser_limits(endpoint: Endpoint, sql: str) -> None:
    """Deep, long and many-part statements are refused by SQLite's own limits."""
    assert failure(endpoint, sql).kind is FailureKind.ERROR


@pytest.mark.parametrize(
    "sql", ["SELECT 'a\ud800'", "SELECT 1\x00", "SELECT '\x01'", "SELEC", "SELECT nope FROM person"]
)
def test_odd_text(endpoint: Endpoint, sql: str) -> None:
    """Text that no engine can read is the statement's failure, or an answer; never a broken session."""
    with closing(SqliteSession(endpoint, "w", Role.READER, Pins())) as session:
        with contextlib.suppress(StatementError):
            session.fetch(sql, SHORT)
        assert session.fetch("SELECT 1", SHORT).rows == ((1,),)


def test_cancel_ends_a_running_statement(endpoint: Endpoint) -> None:
    """Cancel from another thread kills the session's process at once, and the worker goes on."""
    with closing(SqliteSession(endpoint, "w", Role.READER, Pins())) as session:
        threading.Timer(0.2, session.cancel).start()
        started = time.monotonic()
        with pytest.raises(StatementError) as caught:
            session.fetch(ENDLESS, Limits(timeout=30))
        assert time.monotonic() - started < 1.5
        assert caught.value.kind is FailureKind.TIMEOUT
        session.rollback()
    assert run(endpoint, "SELECT 1").rows == ((1,),)


def test_leaving_ends_the_statement(endpoint: Endpoint) -> None:
    """A session closed under a running statement leaves no process behind that burns a core."""
    session = SqliteSession(endpoint, "w", Role.READER, Pins())
    outcome: list[object] = []

    def fetch() -> None:
        """Run until cancelled."""
        try:
            session.fetch(ENDLESS, Limits(timeout=30))
        except (StatementError, SessionLostError) as error:
            outcome.append(error)

    thread = threading.Thread(target=fetch)
    thread.start()
    time.sleep(0.2)
    session.close()
    thread.join(3)
    assert len(outcome) == 1


CLOCK = Pins(clock=datetime(2020, 2, 29, 23, 30, tzinfo=UTC))


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("current_date", "2020-02-29"),
        ("current_time", "23:30:00"),
        ("CURRENT_TIMESTAMP", "2020-02-29 23:30:00"),
        ("date('now')", "2020-02-29"),
        ("date('NOW', '+1 day')", "2020-03-01"),
        ("datetime()", "2020-02-29 23:30:00"),
        ("strftime('%Y-%m', 'now')", "2020-02"),
        ("unixepoch('now')", 1583019000),
        ("julianday('now')", 2458909.4791666665),
        ("date('2001-01-31', 'start of month')", "2001-01-01"),
        ("(SELECT day FROM today)", "2020-02-29"),
    ],
)
def test_pinned_clock(endpoint: Endpoint, expression: str, value: object) -> None:
    """With a pinned clock every function that reads it answers for that moment, in views too."""
    assert run(endpoint, f"SELECT {expression}", pins=CLOCK).rows == ((value,),)


def test_free_clock(endpoint: Endpoint) -> None:
    """Without a pin the clock runs."""
    ((now,),) = run(endpoint, "SELECT unixepoch('now')").rows
    assert isinstance(now, int)
    assert abs(now - time.time()) < 5


def test_sessions_run_side_by_side(endpoint: Endpoint) -> None:
    """Four sessions at once do not wait for each other's statements."""
    slow = SqliteSession(endpoint, "w", Role.READER, Pins())
    thread = threading.Thread(target=lambda: pytest.raises(StatementError, slow.fetch, ENDLESS, Limits(timeout=1.5)))
    thread.start()
    started = time.monotonic()
    for _ in range(3):
        assert run(endpoint, "SELECT 1").rows == ((1,),)
    assert time.monotonic() - started < 1.0
    thread.join()
    slow.close()


def test_the_harness_reads_everything(endpoint: Endpoint) -> None:
    """Our own login may read what a reader may not, but not attach a file."""
    assert run(endpoint, "PRAGMA database_list", role=Role.HARNESS).rows
    with pytest.raises(StatementError):
        run(endpoint, "ATTACH ':memory:' AS m", role=Role.HARNESS)


@pytest.mark.parametrize("name", ["nope", "../w", "w/../w", ".", ""])
def test_unknown_database(endpoint: Endpoint, name: str) -> None:
    """A database that is not served, or a name that is a path, is refused as our own fault."""
    with pytest.raises(InfrastructureError, match="cannot open database"):
        SqliteSession(endpoint, name, Role.READER, Pins())


def test_the_worker_tells_its_version(endpoint: Endpoint) -> None:
    """The version is the one whose functions answer statements."""
    assert run(endpoint, "SELECT sqlite_version()").rows == ((SqliteAdapter().engine_version(endpoint),),)


def test_nobody_answers(tmp_path: Path) -> None:
    """A socket where no worker listens is a lost session, and a ping says no."""
    nowhere = Endpoint(socket=tmp_path / "s")
    assert SqliteAdapter().ping(nowhere) is False
    with pytest.raises(SessionLostError):
        SqliteAdapter().engine_version(nowhere)
    with pytest.raises(SessionLostError):
        SqliteSession(nowhere, "w", Role.READER, Pins())
