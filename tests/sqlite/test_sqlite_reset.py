"""A login that is used again: the worker opens the database anew, and every limit and policy holds as before."""

from __future__ import annotations

import time
from contextlib import closing
from datetime import UTC, datetime

import pytest

from sqlassay.dialect_adapters.contract import Endpoint, Limits, Pins, Role, StatementError
from sqlassay.dialect_adapters.sqlite.session import SqliteSession

SHORT = Limits(timeout=1.0)
ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM r) SELECT max(n) FROM r"


def ask(session: SqliteSession, sql: str, limits: Limits = SHORT) -> tuple[object, ...]:
    """Return the first row of a statement, its transaction undone."""
    session.begin_read(limits)
    try:
        return session.fetch(sql, limits).rows[0]
    finally:
        session.rollback()


def test_a_reset_leaves_nothing_of_what_a_connection_can_hold(endpoint: Endpoint) -> None:
    """Settings that even our own session may make are gone; the pinned clock stays."""
    day = datetime(2024, 2, 29, tzinfo=UTC)
    with closing(SqliteSession(endpoint, "w", Role.HARNESS, Pins(clock=day))) as session:
        session.begin_read(SHORT)
        for setting in ("reverse_unordered_selects = 1", "cache_size = 7", "case_sensitive_like = 1"):
            session.fetch(f"PRAGMA {setting}", SHORT)
        assert ask(session, "SELECT 'A' LIKE 'a'") == (0,)
        assert ask(session, "SELECT id FROM person") == (3,)
        assert session.reset() is True
        assert ask(session, "SELECT 'A' LIKE 'a'") == (1,)
        assert ask(session, "SELECT id FROM person") == (1,)
        assert ask(session, "PRAGMA cache_size") != (7,)
        assert ask(session, "SELECT date('now')") == ("2024-02-29",)


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("ATTACH 'x' AS y", "not authorized"),
        ("PRAGMA query_only = 0", "not authorized"),
        ("CREATE TEMP TABLE a (b)", "not authorized"),
        ("INSERT INTO person VALUES (9, 'x', 1)", "not authorized"),
        ("SELECT load_extension('x')", "not authorized"),
        ("SELECT zeroblob(9000000)", "too big"),
        (ENDLESS, "timeout"),
        ("SELECT 1; SELECT 2", "only one statement"),
    ],
)
def test_every_limit_holds_after_a_reset(endpoint: Endpoint, sql: str, said: str) -> None:
    """What a fresh login refuses, one that was reset refuses too, and goes on to answer."""
    with closing(SqliteSession(endpoint, "w", Role.READER, Pins())) as session:
        for _ in range(2):
            assert ask(session, "SELECT name FROM person WHERE id = 1") == ("Ada",)
            assert session.reset() is True
            with pytest.raises(StatementError, match=said):
                ask(session, sql)
            assert session.reset() is True


def test_a_process_gets_its_cpu_seconds_a_statement_and_not_a_life(endpoint: Endpoint) -> None:
    """Many statements on one login use more CPU together than one may alone."""
    busy = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM r WHERE n < 200000) SELECT max(n) FROM r"
    with closing(SqliteSession(endpoint, "w", Role.READER, Pins())) as session:
        until = time.monotonic() + 4.0
        while time.monotonic() < until:
            assert ask(session, busy, SHORT) == (200_000,)
            assert session.reset() is True


def test_a_session_whose_process_was_ended_is_not_reset(endpoint: Endpoint) -> None:
    """Killed, or gone with a statement still running: there is nothing to put back."""
    session = SqliteSession(endpoint, "w", Role.READER, Pins())
    try:
        session.begin_read(SHORT)
        session.cancel()
        with pytest.raises(StatementError, match="cancelled"):
            session.fetch("SELECT 1", SHORT)
        assert session.reset() is False
    finally:
        session.close()
