"""The state's digest sees whatever a statement can leave behind, table by table of such changes, on every engine."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import pytest
from rows import rows_of

from sqlassay.dialect_adapters.contract import Limits, Mode, Pins, Role
from sqlassay.dialect_adapters.duckdb.worker.child import state_of as duckdb_state
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.dialect_adapters.sqlite.worker.child import state_of as sqlite_state
from sqlassay.harness.redteam.targets import find_target
from sqlassay.sandboxes.contract import Sandbox
from sqlassay.sandboxes.registry import provider

CHANGES: dict[str, list[str]] = rows_of("lasting_changes")
LIMITS = Limits(timeout=30.0)


@pytest.fixture(scope="module", params=["postgres", "mysql", "mariadb"])
def written(request: pytest.FixtureRequest) -> Iterator[tuple[str, str, Sandbox]]:
    """A server that can be written, with the red team's snapshot."""
    makes = provider("docker")
    try:
        snapshot = find_target(request.param, None).snapshot
        image = makes.prepare(adapter(request.param), (snapshot,), lambda line: None)
        sandbox = makes.start(adapter(request.param), image, Mode.WRITE, f"lasting-{uuid4().hex[:8]}")
        yield request.param, image.catalogs[0].database, sandbox
    finally:
        makes.close()


@pytest.mark.docker
def test_nothing_that_lasts_goes_unseen(written: tuple[str, str, Sandbox]) -> None:
    """After each change, made with every right there is, the digest is another one; asked twice it is the same."""
    dialect, database, sandbox = written
    listed = [*CHANGES[dialect], *CHANGES.get(f"{dialect}_alone", [])]
    changes = [sql.replace("{database}", database) for sql in listed]
    digest = adapter(dialect).state_digest(sandbox.endpoint, database)
    assert adapter(dialect).state_digest(sandbox.endpoint, database) == digest
    unseen, refused = [], []
    for sql in changes:
        session = sandbox.open(database, Role.HARNESS, Pins())
        try:
            session.fetch(sql, LIMITS)
        except Exception as error:  # noqa: BLE001 - every refusal is listed at the end
            refused.append(f"{sql}: {error}")
            continue
        finally:
            session.close()
        before, digest = digest, adapter(dialect).state_digest(sandbox.endpoint, database)
        if digest == before:
            unseen.append(sql)
    assert not [*unseen, *refused], "\n".join(["unseen:", *unseen, "refused:", *refused])


def test_a_log_beside_a_sqlite_file_counts(tmp_path: Path) -> None:
    """What a statement wrote is seen whether it stands in the file or in the log beside it."""
    path = tmp_path / "w.sqlite"
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("CREATE TABLE person (id INTEGER, name TEXT, age INT)")
        digest = sqlite_state(path)
        for sql in CHANGES["sqlite"]:
            db.execute(sql)
            before, digest = digest, sqlite_state(path)
            assert digest != before, sql


def test_a_log_beside_a_duckdb_file_counts(tmp_path: Path) -> None:
    """The same of DuckDB, which writes into its log alone until a checkpoint."""
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "w.duckdb"
    with closing(duckdb.connect(str(path))) as db:
        db.execute("CREATE TABLE made (a INT)")
        digest = duckdb_state(path)
        for sql in CHANGES["duckdb"]:
            db.execute(sql)
            before, digest = digest, duckdb_state(path)
            assert digest != before, sql
