"""An image made by changing an earlier one holds exactly what a bake of all would: proven on the real servers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from sqlassay.cases.outcome import TableState
from sqlassay.cases.relation import Kind, Row
from sqlassay.cases.snapshot import ColumnDef, Snapshot, TableDef
from sqlassay.dialect_adapters import registry
from sqlassay.dialect_adapters.contract import Adapter, Mode, Pins, Role
from sqlassay.dialect_adapters.state import READING, read_state
from sqlassay.sandboxes.contract import SnapshotImage
from sqlassay.sandboxes.docker.client import Engine
from sqlassay.sandboxes.docker.provider import DockerProvider
from sqlassay.sandboxes.store import Store

pytestmark = pytest.mark.docker


class Numbers:
    """Rows counted up to a limit, in two tables."""

    def __init__(self, count: int) -> None:
        self._count = count

    def rows(self, table: str) -> Iterator[Row]:
        yield from ((number, f"{table} {number}") for number in range(self._count))


def _snapshot(name: str, count: int) -> Snapshot:
    """Return a snapshot of two tables with a key and an index."""
    columns = (ColumnDef("id", Kind.INT, nullable=False), ColumnDef("word", Kind.TEXT, length=40))
    tables = tuple(TableDef(table, columns, primary_key=("id",), indexes=(("word",),)) for table in ("first", "second"))
    return Snapshot(id=name, database=f"db_{name}", digest=str(count), tables=tables, source=Numbers(count))


@pytest.mark.parametrize("dialect", ["postgres", "mysql", "mariadb"])
def test_a_changed_image_equals_one_baked_whole(engine: Engine, tmp_path: Path, dialect: str) -> None:
    """Rows, schema, keys, logins' rights and catalogues are the same; only what changed was loaded."""
    adapter = registry.adapter(dialect)
    before = [_snapshot(name, 20) for name in "abcd"]
    after = [_snapshot("a", 20), _snapshot("b", 33), _snapshot("c", 20), _snapshot("e", 20)]
    said: list[str] = []
    stepped, whole = DockerProvider(cache=tmp_path / "stepped"), DockerProvider(cache=tmp_path / "whole")
    try:
        stepped.prepare(adapter, before, said.append)
        changed = stepped.prepare(adapter, after, said.append)
        full = whole.prepare(adapter, after, said.append)
        assert [line.split(" into ")[0] for line in said if line.startswith("loading")] == [
            "loading 4 snapshots", "loading 2 of 4 snapshots", "loading 4 snapshots",
        ]  # fmt: skip
        stored = Store(tmp_path / "stepped").load(changed.key)
        assert stored is not None
        assert stored.steps == 1
        assert changed.key == full.key
        assert _bare(changed) == _bare(full)
        assert _states(stepped, adapter, changed) == _states(whole, adapter, full)
    finally:
        for provider in (stepped, whole):
            provider.close()
        _remove(engine, tmp_path)


def _bare(image: SnapshotImage) -> list[str]:
    """Return the catalogues without their digests, which cover salted secrets."""
    return [catalog.model_copy(update={"state_digest": ""}).model_dump_json() for catalog in image.catalogs]


def _states(provider: DockerProvider, adapter: Adapter, image: SnapshotImage) -> list[list[TableState]]:
    """Return every database's whole state, proven to be that of the image's own digest, and read by its reader."""
    sandbox = provider.start(adapter, image, Mode.READ, "tests-steps")
    states = []
    for catalog in image.catalogs:
        assert adapter.state_digest(sandbox.endpoint, catalog.database) == catalog.state_digest
        session = sandbox.open(catalog.database, Role.READER, Pins())
        session.begin_read(READING)
        session.fetch("SELECT count(*) FROM first", READING)
        session.close()

        def opened(role: Role, database: str = catalog.database) -> object:
            """Log in to this database."""
            return sandbox.open(database, role, Pins())

        read = read_state(opened, adapter.state, adapter.rules.identifier_quotes[0], READING)  # type: ignore[arg-type]
        states.append([_unordered(part) for part in read])
    sandbox.destroy()
    return states


def _unordered(part: TableState) -> TableState:
    """Return a part of the schema with its rows in one order: catalogues have none, tables have."""
    if part.part == "table" or part.relation is None:
        return part
    rows = tuple(sorted(part.relation.rows, key=repr))
    return replace(part, digest="", relation=replace(part.relation, rows=rows))


def _remove(engine: Engine, cache: Path) -> None:
    """Remove the images baked under these caches, the later first."""
    for name in ("stepped", "whole"):
        for image in engine.api.images(filters={"label": f"io.sqlassay.cache={cache / name}"}):
            engine.api.remove_image(image["Id"], force=True)


def test_a_step_that_fails_is_a_bake_of_all(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An earlier image that does not come up costs time, never the run."""
    import sqlassay.sandboxes.docker.builder as builder
    from sqlassay.cases.errors import InfrastructureError

    def broken(*_: object) -> None:
        """Fail as an engine does."""
        raise InfrastructureError("the earlier image is damaged")

    adapter = registry.adapter("postgres")
    said: list[str] = []
    provider = DockerProvider(cache=tmp_path / "stepped")
    try:
        provider.prepare(adapter, [_snapshot("a", 3), _snapshot("b", 3)], said.append)
        monkeypatch.setattr(builder, "_change_server", broken)
        image = provider.prepare(adapter, [_snapshot("a", 3), _snapshot("b", 4)], said.append)
        assert [catalog.tables[0].rows for catalog in image.catalogs] == [3, 4]
        assert said[-1].startswith("loading 2 snapshots")
    finally:
        provider.close()
        _remove(engine, tmp_path)
