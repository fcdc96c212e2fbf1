"""MySQL and SQLite in real containers: what cannot be written, what is served, what a query may spill."""

from __future__ import annotations

from collections.abc import Iterator

import pymysql
import pytest
from sandbox_adapters import TinyMysql

from sqlassay.cases.relation import Kind
from sqlassay.cases.snapshot import ColumnDef, Snapshot, TableDef
from sqlassay.dialect_adapters import registry
from sqlassay.dialect_adapters.contract import Limits, Mode, Pins, Role
from sqlassay.sandboxes.docker.client import Engine
from sqlassay.sandboxes.docker.provider import DockerProvider
from sqlassay.sandboxes.docker.sandbox import DockerSandbox

pytestmark = pytest.mark.docker
SNAPSHOT = Snapshot(id="s", database="shop", digest="one")


def _quiet(line: str) -> None:
    """Take a phase line and say nothing."""


def _inside(engine: Engine, sandbox: DockerSandbox, script: str) -> str:
    """Run a shell script in a sandbox and return what it printed."""
    made = engine.api.exec_create(sandbox.id, ["/bin/sh", "-c", script])
    return str(engine.api.exec_start(made["Id"]).decode())


def test_mysql_cannot_be_written_even_by_root(provider: DockerProvider) -> None:
    """In READ mode InnoDB itself refuses; in WRITE mode the copy takes the change and the image does not."""
    adapter = TinyMysql()
    image = provider.prepare(adapter, [SNAPSHOT], _quiet)
    reading = provider.start(adapter, image, Mode.READ, "tests")
    with adapter.login(reading.endpoint) as connection, connection.cursor() as cursor:
        cursor.execute("SET GLOBAL super_read_only = 0")
        cursor.execute("SET GLOBAL read_only = 0")
        with pytest.raises(pymysql.Error):
            cursor.execute("INSERT INTO shop.t VALUES (4)")
    reading.destroy()
    for _ in range(2):
        writing = provider.start(adapter, image, Mode.WRITE, "tests")
        with adapter.login(writing.endpoint) as connection, connection.cursor() as cursor:
            cursor.execute("INSERT INTO shop.t VALUES (4)")
            cursor.execute("SELECT count(*) FROM shop.t")
            assert cursor.fetchone() == (4,)
        writing.destroy()


def test_mysql_knows_named_time_zones(provider: DockerProvider) -> None:
    """A fresh server's zone tables are empty; ours answer for daylight saving."""
    adapter = TinyMysql()
    sandbox = provider.start(adapter, provider.prepare(adapter, [SNAPSHOT], _quiet), Mode.READ, "tests")
    with adapter.login(sandbox.endpoint) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT CAST(CONVERT_TZ('2026-07-01 12:00:00', 'UTC', 'Europe/Paris') AS CHAR)")
        assert cursor.fetchone() == ("2026-07-01 14:00:00",)
    sandbox.destroy()


def test_what_a_mysql_query_spills_stays_in_its_sized_scratch(provider: DockerProvider) -> None:
    """A query that spills too much fails with the engine's words; the host's disk is never written."""
    adapter = TinyMysql()
    sandbox = provider.start(adapter, provider.prepare(adapter, [SNAPSHOT], _quiet), Mode.READ, "tests")
    numbers = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400000)"
    with adapter.login(sandbox.endpoint) as connection, connection.cursor() as cursor:
        cursor.execute("USE shop")
        cursor.execute("SET cte_max_recursion_depth = 1000000")
        with pytest.raises(pymysql.Error, match="is full"):
            cursor.execute(f"{numbers} SELECT max(l) FROM (SELECT DISTINCT concat(repeat(hex(i), 150), i) l FROM n) z")
    assert sandbox.died_of_memory() is False
    sandbox.destroy()


class Rows:
    """Three rows."""

    def rows(self, table: str) -> Iterator[tuple[object, ...]]:
        yield from ((1, "a"), (2, "b"), (3, None))


def test_a_sqlite_worker_serves_files_it_cannot_write(engine: Engine, provider: DockerProvider) -> None:
    """Its image is baked without a server; inside, root owns the files and the root folder is read-only."""
    table = TableDef("t", (ColumnDef("n", Kind.INT), ColumnDef("name", Kind.TEXT)))
    snapshot = Snapshot(id="s", database="shop", digest="w", tables=(table,), source=Rows())
    sqlite = registry.adapter("sqlite")
    image = provider.prepare(sqlite, [snapshot], _quiet)
    sandbox = provider.start(sqlite, image, Mode.READ, "tests")
    session = sandbox.open("shop", Role.READER, Pins())
    session.begin_read(Limits())
    assert session.fetch("SELECT n, name FROM t ORDER BY n", Limits()).rows == ((1, "a"), (2, "b"), (3, None))
    session.close()
    assert sqlite.state_digest(sandbox.endpoint, "shop") == image.catalog("s").state_digest
    assert engine.inspect(sandbox.id)["HostConfig"]["ReadonlyRootfs"] is True
    sandbox.destroy()
    writing = provider.start(sqlite, image, Mode.WRITE, "tests")
    script = "for f in /data-live/*; do : >> $f && echo writable; done; (: >> /data/x) 2>&1"
    assert _inside(engine, writing, script).splitlines()[0] == "writable"
    assert "Read-only" in _inside(engine, writing, script)
    writing.destroy()
