"""The servers' marks on real servers: reading leaves them alone, every kind of write moves them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import uuid4

import pytest

from sqlassay.dialect_adapters.contract import Limits, Mode, Pins, Role
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.harness.redteam.targets import find_target
from sqlassay.sandboxes.contract import Provider, Sandbox, SnapshotImage
from sqlassay.sandboxes.fingerprint import Mark
from sqlassay.sandboxes.registry import provider

pytestmark = pytest.mark.docker
LIMITS = Limits(timeout=10.0)
WRITES = (
    "SELECT nextval('seq1')",
    "SELECT setval('seq1', 7)",
    "SELECT lo_create(0)",
    "CREATE TEMP TABLE x AS SELECT 1",
    "CREATE UNLOGGED TABLE x2(a int)",
    "UPDATE orders SET amount = 0 WHERE id = 1",
    "ALTER ROLE ro SET work_mem = '4MB'",
    "COMMENT ON TABLE orders IS 'x'",
    "SELECT pg_current_xact_id()",
    "INSERT INTO x2 VALUES (1)",
)
READS = ("SELECT count(*) FROM t", "SELECT * FROM orders ORDER BY amount", "SELECT max(v) FROM t WHERE id < 100")


@dataclass
class Servers:
    """One engine's servers; each is asked over logins of the harness."""

    makes: Provider
    image: SnapshotImage
    dialect: str

    @property
    def database(self) -> str:
        return self.image.catalogs[0].database

    def start(self, mode: Mode) -> Sandbox:
        """Start one more server."""
        return self.makes.start(adapter(self.dialect), self.image, mode, f"marks-{uuid4().hex[:8]}")

    def run(self, sandbox: Sandbox, sql: str, role: Role) -> None:
        """Run one statement by itself."""
        session = sandbox.open(self.database, role, Pins())
        try:
            session.fetch(sql, LIMITS)
        finally:
            session.close()

    def mark(self, sandbox: Sandbox) -> Mark:
        """Return a mark of the server."""
        return Mark(adapter(self.dialect).recipe, lambda: sandbox.open(self.database, Role.HARNESS, Pins()))


@pytest.fixture(params=["postgres", "mysql", "mariadb"])
def servers(request: pytest.FixtureRequest) -> Iterator[Servers]:
    """The red team's snapshot on one engine."""
    makes = provider("docker")
    try:
        snapshot = find_target(request.param, None).snapshot
        yield Servers(makes, makes.prepare(adapter(request.param), (snapshot,), lambda line: None), request.param)
    finally:
        makes.close()


def test_reading_leaves_the_mark_alone(servers: Servers) -> None:
    """Any number of readers' queries on a READ server: the mark proves each time that nothing was written."""
    sandbox = servers.start(Mode.READ)
    mark = servers.mark(sandbox)
    assert mark.known is True
    for sql in READS * 3:
        servers.run(sandbox, sql, Role.READER)
        assert mark.still() is True
    mark.close()


def test_every_kind_of_write_moves_the_mark(servers: Servers) -> None:
    """Rows, schema, roles, sequences, large objects and temporary tables, on a server that can be written."""
    sandbox = servers.start(Mode.WRITE)
    mark = servers.mark(sandbox)
    writes = WRITES if servers.dialect == "postgres" else ("DELETE FROM orders", "CREATE USER x")
    for sql in writes:
        servers.run(sandbox, sql, Role.HARNESS)
        assert mark.still() is False, sql
    mark.close()


def test_the_mark_is_cheaper_than_the_digest(servers: Servers) -> None:
    """Asking for the mark costs one round trip; the whole digest reads every row."""
    sandbox = servers.start(Mode.READ)
    mark = servers.mark(sandbox)
    started = time.perf_counter()
    assert all(mark.still() for _ in range(20))
    asked = (time.perf_counter() - started) / 20
    started = time.perf_counter()
    digest = adapter(servers.dialect).state_digest(sandbox.endpoint, servers.database)
    assert asked < time.perf_counter() - started
    assert digest == servers.image.catalogs[0].state_digest
    mark.close()
