"""On a private copy a writer changes rows, an owner the schema too, and nobody anything else."""

from __future__ import annotations

import shutil
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from rows import rows_of
from sqlite_servers import WRITTEN_SCHEMA, served

from sqlassay.cases.errors import InfrastructureError
from sqlassay.cases.relation import Row
from sqlassay.cases.verdicts import FailureKind
from sqlassay.dialect_adapters.contract import Endpoint, Limits, Pins, Role, StatementError
from sqlassay.dialect_adapters.sqlite.adapter import SqliteAdapter
from sqlassay.dialect_adapters.sqlite.session import SqliteSession

ROWS = rows_of("sqlite_writers")
CASES = [(row, role) for row in ROWS for role in (Role.WRITER, Role.OWNER)]
LIMITS = Limits(timeout=2.0)
ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM r) INSERT INTO ticket (what) SELECT n FROM r"


@dataclass(frozen=True)
class Copy:
    """A worker that serves a copy which may be written, and the file as it was."""

    endpoint: Endpoint
    path: Path
    original: Path


@pytest.fixture(scope="module")
def writable(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Copy]:
    """Serve database `w` to writers."""
    folder = tmp_path_factory.mktemp("writable")
    with served(folder, WRITTEN_SCHEMA, "--writable") as endpoint:
        original = folder / "original"
        shutil.copyfile(folder / "w.sqlite", original)
        yield Copy(endpoint, folder / "w.sqlite", original)


@pytest.fixture
def copy(writable: Copy) -> Copy:
    """The worker with the database as it was at first."""
    with closing(sqlite3.connect(writable.original)) as old, closing(sqlite3.connect(writable.path)) as new:
        old.backup(new)
    return writable


def write(copy: Copy, sql: str, role: Role = Role.WRITER, *, commit: bool = True) -> tuple[Row, ...]:
    """Run one statement in a transaction of its own."""
    with closing(SqliteSession(copy.endpoint, "w", role, Pins())) as session:
        session.begin_write(LIMITS)
        rows = session.fetch(sql, LIMITS).rows
        session.commit() if commit else session.rollback()
        return rows


def read(copy: Copy, sql: str, role: Role = Role.HARNESS) -> tuple[Row, ...]:
    """Return what a login that cannot write sees."""
    with closing(SqliteSession(copy.endpoint, "w", role, Pins())) as session:
        session.begin_read(LIMITS)
        return session.fetch(sql, LIMITS).rows


@pytest.mark.parametrize(("row", "role"), CASES, ids=lambda value: value["sql"][:40] if isinstance(value, dict) else "")
def test_policy(copy: Copy, tmp_path: Path, row: dict[str, Any], role: Role) -> None:
    """A statement runs and is kept exactly where the table of rows says so; refused, it changes no byte."""
    sql = row["sql"].replace("{folder}", str(tmp_path))
    before = copy.path.read_bytes()
    if row[role.value] == "runs":
        write(copy, sql, role)
    else:
        with pytest.raises(StatementError) as caught:
            write(copy, sql, role)
        assert caught.value.kind is FailureKind.ERROR
        assert copy.path.read_bytes() == before
    assert list(tmp_path.iterdir()) == []
    assert read(copy, "PRAGMA integrity_check") == (("ok",),)
    assert {path.name for path in copy.path.parent.iterdir()} == {"w.sqlite", "original", "s"}


def test_what_is_committed_stays(copy: Copy) -> None:
    """The harness's login and a reader's see the committed state; what the snapshot's file held is gone."""
    assert write(copy, "UPDATE person SET age = 40 WHERE id = 1 RETURNING name, age") == (("Ada", 40),)
    for role in (Role.HARNESS, Role.READER):
        assert read(copy, "SELECT age FROM person WHERE id = 1", role) == ((40,),)


def test_what_is_rolled_back_never_was(copy: Copy) -> None:
    """Without commit nothing stays, and the state digest is the old one."""
    adapter = SqliteAdapter()
    before = adapter.state_digest(copy.endpoint, "w")
    write(copy, "DELETE FROM person", commit=False)
    assert adapter.state_digest(copy.endpoint, "w") == before
    write(copy, "DELETE FROM person")
    assert adapter.state_digest(copy.endpoint, "w") != before


def test_a_session_that_leaves_commits_nothing(copy: Copy) -> None:
    """Closing is no commit, and no journal is left for others to recover."""
    with closing(SqliteSession(copy.endpoint, "w", Role.WRITER, Pins())) as session:
        session.begin_write(LIMITS)
        session.fetch("DELETE FROM person", LIMITS)
        session.fetch("INSERT INTO ticket (what) VALUES (zeroblob(7000000))", LIMITS)
    assert read(copy, "SELECT count(*) FROM person") == ((3,),)
    time.sleep(0.1)
    assert copy.path.with_name("w.sqlite-journal").exists() is False


def test_a_reader_stays_a_reader(copy: Copy) -> None:
    """On a copy that writers may change a reader still may not, nor may the harness by mistake."""
    for role in (Role.READER, Role.HARNESS):
        with pytest.raises(StatementError):
            write(copy, "DELETE FROM person", role)
    assert read(copy, "SELECT count(*) FROM person") == ((3,),)


@pytest.mark.parametrize("role", [Role.WRITER, Role.OWNER])
def test_a_writers_read_transaction_is_read_only(copy: Copy, role: Role) -> None:
    """Whoever may write still cannot in a transaction opened for reading, and can again in the next one."""
    with closing(SqliteSession(copy.endpoint, "w", role, Pins())) as session:
        session.begin_read(LIMITS)
        assert session.fetch("SELECT count(*) FROM person", LIMITS).rows == ((3,),)
        with pytest.raises(StatementError, match="readonly"):
            session.fetch("DELETE FROM person", LIMITS)
        session.rollback()
        session.begin_write(LIMITS)
        session.fetch("DELETE FROM person", LIMITS)
        session.commit()
    assert read(copy, "SELECT count(*) FROM person") == ((0,),)


@pytest.mark.parametrize("role", [Role.WRITER, Role.OWNER])
def test_a_worker_in_read_mode_has_no_writers(endpoint: Endpoint, role: Role) -> None:
    """Where nothing can be written a writer's login is our own fault, never a reader in silence."""
    with pytest.raises(InfrastructureError, match="no such role"):
        SqliteSession(endpoint, "w", role, Pins())


def test_statements_of_one_session_see_each_other(copy: Copy) -> None:
    """A table made in a session can be filled and read in it, and all of it is one transaction."""
    with closing(SqliteSession(copy.endpoint, "w", Role.OWNER, Pins())) as session:
        session.begin_write(LIMITS)
        session.fetch("CREATE TABLE made (id INT)", LIMITS)
        session.fetch("INSERT INTO made VALUES (1), (2)", LIMITS)
        assert session.fetch("SELECT sum(id) FROM made", LIMITS).rows == ((3,),)
        session.rollback()
    assert read(copy, "SELECT name FROM sqlite_master WHERE name = 'made'") == ()


def test_an_endless_statement_leaves_nothing(copy: Copy) -> None:
    """A statement stopped in the middle is undone, even where its process was killed, and the next one runs."""
    for cancel in (False, True):
        with closing(SqliteSession(copy.endpoint, "w", Role.WRITER, Pins())) as session:
            session.begin_write(LIMITS)
            if cancel:
                threading.Timer(0.4, session.cancel).start()
            with pytest.raises(StatementError) as caught:
                session.fetch(ENDLESS, Limits(timeout=0.8))
            assert caught.value.kind is FailureKind.TIMEOUT
            session.rollback()
        assert read(copy, "SELECT count(*) FROM ticket") == ((0,),)
        write(copy, "INSERT INTO ticket (what) VALUES ('x')")
        write(copy, "DELETE FROM ticket")


def test_a_killed_statement_is_undone_from_its_journal(copy: Copy) -> None:
    """Pages that a killed writer had already written are restored before anyone reads."""
    with closing(SqliteSession(copy.endpoint, "w", Role.WRITER, Pins())) as session:
        session.begin_write(LIMITS)
        session.fetch("DELETE FROM person", LIMITS)
        threading.Timer(1.0, session.cancel).start()
        with pytest.raises(StatementError):
            session.fetch(ENDLESS, Limits(timeout=30))
    journal = copy.path.with_name("w.sqlite-journal")
    assert journal.exists() is True
    assert read(copy, "SELECT count(*) FROM person", Role.READER) == ((3,),)
    assert journal.exists() is False


def test_commit_without_a_transaction_is_refused(copy: Copy) -> None:
    """Nobody is told that a statement was kept whose transaction had ended."""
    with (
        closing(SqliteSession(copy.endpoint, "w", Role.WRITER, Pins())) as session,
        pytest.raises(StatementError, match="no transaction"),
    ):
        session.commit()


def test_a_second_writer_waits_or_fails(copy: Copy) -> None:
    """Two writers at once never mix: the second one's statement fails while the first one's is open."""
    with closing(SqliteSession(copy.endpoint, "w", Role.WRITER, Pins())) as first:
        first.begin_write(LIMITS)
        first.fetch("DELETE FROM person", LIMITS)
        with pytest.raises(StatementError):
            write(copy, "INSERT INTO person VALUES (9, 'x', 1)")
        first.commit()
    write(copy, "INSERT INTO person VALUES (9, 'x', 1)")
    assert read(copy, "SELECT id FROM person") == ((9,),)
