"""A WRITE container of SQLite: the copy that the provider makes in memory is what writers change."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import pytest
from rows import rows_of
from sqlite_servers import WRITTEN_SCHEMA

from sqlassay.cases.relation import Row
from sqlassay.cases.snapshot import Snapshot
from sqlassay.cases.verdicts import FailureKind
from sqlassay.dialect_adapters.conformance_data import ALPHA, BETA
from sqlassay.dialect_adapters.contract import Limits, Mode, Pins, Role, StatementError
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.dialect_adapters.sqlite.session import SqliteSession
from sqlassay.sandboxes.contract import Sandbox
from sqlassay.sandboxes.docker.provider import DockerProvider

pytestmark = pytest.mark.docker
ROWS = rows_of("sqlite_writers")
LIMITS = Limits(timeout=20.0)
FILL = (
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM r LIMIT 90) "
    "INSERT INTO big (id, name) SELECT -n, hex(randomblob(500000)) FROM r"
)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    """A WRITE container with 16 MiB of room."""
    provider, spoken = DockerProvider(write_room_mb=16), adapter("sqlite")
    try:
        image = provider.prepare(spoken, (ALPHA, BETA), lambda line: None)
        yield provider.start(spoken, image, Mode.WRITE, f"sqlite-write-{uuid4().hex[:8]}")
    finally:
        provider.close()


def run(sandbox: Sandbox, sql: str, role: Role) -> tuple[Row, ...]:
    """Run one statement, and keep what it did where the role may change something."""
    session = sandbox.open("alpha", role, Pins())
    assert isinstance(session, SqliteSession)
    with closing(session):
        writes = role in (Role.WRITER, Role.OWNER)
        session.begin_write(LIMITS) if writes else session.begin_read(LIMITS)
        rows = session.fetch(sql, LIMITS).rows
        if writes:
            session.commit()
        return rows


def test_writers_change_the_copy(sandbox: Sandbox) -> None:
    """Rows and schema change, stay, and are read by the harness."""
    before = int(str(run(sandbox, "SELECT count(*) FROM big", Role.HARNESS)[0][0]))
    assert len(run(sandbox, "DELETE FROM big WHERE id BETWEEN 10 AND 19 RETURNING id", Role.WRITER)) == 10
    run(sandbox, "ALTER TABLE big ADD COLUMN extra INT NOT NULL DEFAULT 1 CHECK (extra > 0)", Role.OWNER)
    assert run(sandbox, "SELECT count(extra) FROM big", Role.HARNESS) == ((before - 10,),)


def test_the_policy_holds_in_the_containers_own_sqlite(tmp_path: Path) -> None:
    """Another version of SQLite and of Python draws the line where the table of rows draws it."""
    script = tmp_path / "schema.sql"
    script.write_text(WRITTEN_SCHEMA, encoding="utf-8")
    snapshot = Snapshot("w", "w", hashlib.sha256(WRITTEN_SCHEMA.encode()).hexdigest(), scripts={"sqlite": (script,)})
    provider, spoken = DockerProvider(), adapter("sqlite")
    try:
        image = provider.prepare(spoken, (snapshot,), lambda line: None)
        running = provider.start(spoken, image, Mode.WRITE, f"sqlite-write-{uuid4().hex[:8]}")
        for row in ROWS:
            for role in (Role.WRITER, Role.OWNER):
                assert (row["sql"], role, fate(running, row["sql"], role)) == (row["sql"], role, row[role.value])
    finally:
        provider.close()


def fate(sandbox: Sandbox, sql: str, role: Role) -> str:
    """Return whether a statement runs; nothing of it is kept."""
    session = sandbox.open("w", role, Pins())
    assert isinstance(session, SqliteSession)
    with closing(session):
        session.begin_write(LIMITS)
        try:
            session.fetch(sql, LIMITS)
        except StatementError:
            return "refused"
        session.rollback()
        return "runs"


@pytest.mark.parametrize("sql", ["ATTACH '/tmp/x' AS x", "VACUUM INTO '/tmp/x'", "PRAGMA writable_schema=1"])
def test_ways_out_stay_closed(sandbox: Sandbox, sql: str) -> None:
    """Not even an owner reaches another file or the schema's own rows."""
    with pytest.raises(StatementError):
        run(sandbox, sql, Role.OWNER)


def test_a_full_disk_is_the_statements_failure(sandbox: Sandbox) -> None:
    """A statement that needs more room fails by a limit and is undone, and the worker goes on."""
    before = run(sandbox, "SELECT count(*), min(id) FROM big", Role.HARNESS)
    with pytest.raises(StatementError) as caught:
        run(sandbox, FILL, Role.WRITER)
    assert caught.value.kind is FailureKind.RESOURCE_LIMIT
    assert run(sandbox, "SELECT count(*), min(id) FROM big", Role.HARNESS) == before
