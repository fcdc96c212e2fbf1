"""A WRITE sandbox of the process provider: a private copy in memory, of fixed size, in the same jail."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from test_process_provider import SNAPSHOT

from sqlassay.cases.relation import Row
from sqlassay.cases.verdicts import FailureKind
from sqlassay.dialect_adapters.contract import Limits, Mode, Pins, Role, StatementError
from sqlassay.dialect_adapters.sqlite.adapter import SqliteAdapter
from sqlassay.dialect_adapters.sqlite.session import SqliteSession
from sqlassay.sandboxes.contract import Sandbox
from sqlassay.sandboxes.process import files as room
from sqlassay.sandboxes.process.jail import Jailer
from sqlassay.sandboxes.process.provider import ProcessProvider
from sqlassay.sandboxes.process.syscalls import filter_program

pytestmark = pytest.mark.jail
LIMITS = Limits(timeout=10.0)
FILL = (
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM r LIMIT 30) "
    "INSERT INTO t SELECT randomblob(1000000) FROM r"
)


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ProcessProvider]:
    """A provider with room for 8 MiB, that jails as this machine does."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    provider = ProcessProvider(write_room_mb=8)
    yield provider
    provider.close()


@pytest.fixture(params=["any", "namespaces"])
def provider(
    request: pytest.FixtureRequest, small: ProcessProvider, monkeypatch: pytest.MonkeyPatch
) -> ProcessProvider:
    """The same provider, with and without bubblewrap."""
    if request.param == "namespaces":
        monkeypatch.setenv("PATH", "/nonexistent")
    return small


def started(provider: ProcessProvider) -> Sandbox:
    """Return a WRITE sandbox."""
    adapter = SqliteAdapter()
    return provider.start(adapter, provider.prepare(adapter, [SNAPSHOT], print), Mode.WRITE, "run-1")


def run(sandbox: Sandbox, sql: str, role: Role) -> tuple[Row, ...]:
    """Run one statement, and keep what it did where the role may change something."""
    session = sandbox.open("w", role, Pins())
    assert isinstance(session, SqliteSession)
    with closing(session):
        writes = role in (Role.WRITER, Role.OWNER)
        session.begin_write(LIMITS) if writes else session.begin_read(LIMITS)
        rows = session.fetch(sql, LIMITS).rows
        if writes:
            session.commit()
        return rows


def fill(session: SqliteSession) -> None:
    """Write until the room is used up."""
    for _ in range(40):
        session.fetch("INSERT INTO t VALUES (randomblob(400000))", LIMITS)
    session.commit()


def test_rows_and_schema_change_and_stay(provider: ProcessProvider) -> None:
    """What a writer and an owner commit is what the harness reads; the report says where it was written."""
    sandbox = started(provider)
    run(sandbox, "UPDATE t SET n = n + 1", Role.WRITER)
    run(sandbox, "CREATE TABLE made AS SELECT max(n) AS most FROM t", Role.OWNER)
    assert run(sandbox, "SELECT most FROM made", Role.HARNESS) == ((10,),)
    assert run(sandbox, "SELECT sum(n) FROM t", Role.READER) == ((55,),)
    assert "a copy of the data in memory, 8 MiB at most" in sandbox.isolation.limits
    assert "no file may be written" not in sandbox.isolation.limits


@pytest.mark.parametrize("method", ["bubblewrap", "namespaces"])
def test_a_user_who_is_not_root_has_the_same(
    small: ProcessProvider, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """In a user namespace, too, the copy can be written and nothing else."""
    if shutil.which("bwrap") is None and method == "bubblewrap":
        pytest.skip("bubblewrap is not installed")
    filtered = filter_program(platform.machine()) is not None
    monkeypatch.setattr(room, "find_jailer", lambda _: Jailer(method, as_root=False, filtered=filtered))
    sandbox = started(small)
    assert sandbox.isolation.method == f"{method} in a user namespace"
    run(sandbox, "UPDATE t SET n = n + 1", Role.WRITER)
    assert run(sandbox, "SELECT sum(n) FROM t", Role.READER) == ((55,),)
    with pytest.raises(StatementError) as caught:
        run(sandbox, FILL, Role.WRITER)
    assert caught.value.kind is FailureKind.RESOURCE_LIMIT


def test_every_sandbox_has_a_copy_of_its_own(provider: ProcessProvider) -> None:
    """What one sandbox changes is seen in no other, nor in the image."""
    first, second = started(provider), started(provider)
    run(first, "DELETE FROM t", Role.WRITER)
    assert run(first, "SELECT count(*) FROM t", Role.HARNESS) == ((0,),)
    assert run(second, "SELECT count(*) FROM t", Role.HARNESS) == ((10,),)
    assert run(started(provider), "SELECT count(*) FROM t", Role.HARNESS) == ((10,),)


def test_a_full_disk_is_the_statements_failure(provider: ProcessProvider) -> None:
    """A statement that needs more room than there is fails by a limit, is undone, and the next one runs."""
    sandbox = started(provider)
    with pytest.raises(StatementError) as caught:
        run(sandbox, FILL, Role.WRITER)
    assert caught.value.kind is FailureKind.RESOURCE_LIMIT
    assert run(sandbox, "SELECT count(*), sum(n) FROM t", Role.HARNESS) == ((10, 45),)
    run(sandbox, "INSERT INTO t VALUES (10)", Role.WRITER)
    assert run(sandbox, "SELECT sum(n) FROM t", Role.HARNESS) == ((55,),)


def test_a_disk_that_fills_at_commit_undoes_all(provider: ProcessProvider) -> None:
    """Many small statements in one transaction end the same way, wherever the room runs out."""
    sandbox = started(provider)
    session = sandbox.open("w", Role.WRITER, Pins())
    assert isinstance(session, SqliteSession)
    with closing(session):
        session.begin_write(LIMITS)
        with pytest.raises(StatementError) as caught:
            fill(session)
        assert caught.value.kind is FailureKind.RESOURCE_LIMIT
    assert run(sandbox, "SELECT count(*), sum(n) FROM t", Role.HARNESS) == ((10, 45),)
