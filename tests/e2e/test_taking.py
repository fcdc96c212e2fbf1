"""A live database becomes a pack: every row comes back, nothing is written, and no message shows a password."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest

from sqlassay.cases.errors import InfrastructureError, InputError
from sqlassay.cases.formats.registry import load_pack
from sqlassay.cases.relation import Json, Row
from sqlassay.cases.snapshot import Snapshot
from sqlassay.dialect_adapters.contract import Endpoint, Mode
from sqlassay.dialect_adapters.mysql import session as mysql
from sqlassay.dialect_adapters.postgres import session as postgres
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.harness.taking.pack import plan_pack, write_plan
from sqlassay.sandboxes.opening import open_provider

ADDRESSES = {
    "postgres": f"postgresql://{postgres.ADMIN}:{{password}}@/{{database}}?host={{folder}}",
    "mysql": f"mysql://{mysql.ADMIN}:{{password}}@localhost/{{database}}?unix_socket={{socket}}",
}


def address(dialect: str, endpoint: Endpoint, database: str) -> str:
    """Return the URI of a running snapshot server."""
    assert endpoint.socket is not None
    password = quote(endpoint.password)
    places = {"folder": endpoint.socket.parent, "socket": endpoint.socket}
    return ADDRESSES[dialect].format(password=password, database=database, **places)


def plain(row: Row) -> tuple[object, ...]:
    """Return a row as an engine keeps it: truth as a number, a decimal without its scale, no JSON text."""
    return tuple(None if isinstance(cell, Json) else cell for cell in row)


def content(snapshot: Snapshot) -> dict[str, list[tuple[object, ...]]]:
    """Return every table's rows in one order."""
    assert snapshot.source is not None
    return {
        table.name: sorted((plain(row) for row in snapshot.source.rows(table.name)), key=repr)
        for table in snapshot.tables
    }


@pytest.mark.docker
@pytest.mark.parametrize("dialect", ["postgres", "mysql"])
def test_every_row_comes_back(tmp_path: Path, dialect: str) -> None:
    """The demo's database, served by a real engine, is taken with its tables, keys and rows, and runs as a pack."""
    engine, pack = adapter(dialect), load_pack(Path("demo"))
    provider = open_provider(engine.recipe, "docker", lambda _line: None, engine="auto", runtime="")
    try:
        image = provider.prepare(engine, pack.snapshots, lambda _line: None)
        sandbox = provider.start(engine, image, Mode.READ, "taking")
        database = image.catalog(pack.snapshots[0].id).database
        uri = address(dialect, sandbox.endpoint, database)
        taken = write_plan(plan_pack(uri), tmp_path / "live").taken
    finally:
        provider.close()
    again = load_pack(tmp_path / "live")
    assert content(again.snapshots[0]) == content(pack.snapshots[0])
    assert taken.rows == sum(len(rows) for rows in content(pack.snapshots[0]).values())
    keys = {table.name: table.primary_key for table in pack.snapshots[0].tables}
    assert {table.name: table.primary_key for table in again.snapshots[0].tables} == keys
    assert list(again.cases[0].gold) == [dialect]


@pytest.mark.parametrize(
    ("uri", "fault"),
    [
        ("sqlite:///x.db", "no live database is taken from 'sqlite'"),
        ("oracle://u:secret@h/d", "no live database is taken from 'oracle'"),
        ("what", "no source of data that is known here.*a SQLite file"),
        ("postgresql://u:secret@h", "the URI names no database"),
    ],
)
def test_wrong_uri_is_one_clear_line(tmp_path: Path, uri: str, fault: str) -> None:
    """What is wrong is said without the URI, and no folder is left."""
    with pytest.raises(InputError, match=fault) as caught:
        write_plan(plan_pack(uri), tmp_path / "new")
    assert "secret" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_server_that_does_not_answer(tmp_path: Path) -> None:
    """Nobody listens there: one line, without the password, and no folder."""
    uri = f"postgresql://u:s3cr3t@/d?host={tmp_path}"
    with pytest.raises(InfrastructureError, match="database 'd' cannot be read") as caught:
        write_plan(plan_pack(uri), tmp_path / "new")
    assert "s3cr3t" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_full_folder_stays(tmp_path: Path) -> None:
    """Nothing that exists is overwritten."""
    (tmp_path / "mine").touch()
    with pytest.raises(InputError, match="something is there already"):
        write_plan(plan_pack("postgresql://u@h/d"), tmp_path)
