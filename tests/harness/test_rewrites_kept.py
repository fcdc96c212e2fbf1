"""Rewritten gold is kept by everything it depends on, and written again where its file is damaged."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from sqlassay.cases.formats.databases import Found, snapshots_of
from sqlassay.cases.snapshot import Snapshot
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.harness.store import rewrites
from sqlassay.harness.store.rewrites import Rewrites

SQL = "SELECT s FROM t WHERE s LIKE 'a%'"


def snapshot_of(folder: Path, rows: str) -> Snapshot:
    """Return a snapshot of one table with these rows."""
    folder.mkdir()
    file = folder / "t.sqlite"
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(f"CREATE TABLE t (s TEXT); INSERT INTO t VALUES {rows};")
    return snapshots_of([Found("t", (file,))])[0][0]


@pytest.fixture
def written(monkeypatch) -> list[str]:
    """Return the texts that were really rewritten."""
    found: list[str] = []
    real = rewrites.rewrite

    def counted(sql, *rest):
        """Rewrite and remember."""
        found.append(sql)
        return real(sql, *rest)

    monkeypatch.setattr(rewrites, "rewrite", counted)
    return found


def test_a_rewrite_is_kept(tmp_path, written):
    """The second time it is read; other data, another engine, other text, and damage make it be written."""
    one, other = (snapshot_of(tmp_path / name, f"('{name}')") for name in ("one", "other"))
    sqlite, mysql, postgres = (adapter(name) for name in ("sqlite", "mysql", "postgres"))
    folder = tmp_path / "kept"
    first = Rewrites(folder).rewrite(SQL, one, sqlite, mysql)
    assert Rewrites(folder).rewrite(SQL, one, sqlite, mysql) == first
    assert len(written) == 1
    Rewrites(folder).rewrite(SQL, other, sqlite, mysql)
    assert Rewrites(folder).rewrite(SQL, one, sqlite, postgres) != first
    refused = Rewrites(folder).rewrite("SELECT unknown FROM t", one, sqlite, mysql)
    assert refused.sql is None
    assert Rewrites(folder).rewrite("SELECT unknown FROM t", one, sqlite, mysql) == refused
    assert len(written) == 4
    for file in folder.rglob("*.json"):
        file.write_text("{", encoding="utf-8")
    assert Rewrites(folder).rewrite(SQL, one, sqlite, mysql) == first
    assert len(written) == 5


def test_without_a_folder_nothing_is_kept(tmp_path, written):
    """An agent's statement is written anew each time."""
    snapshot = snapshot_of(tmp_path / "one", "('a')")
    for _ in range(2):
        Rewrites(None).rewrite(SQL, snapshot, adapter("sqlite"), adapter("mysql"))
    assert len(written) == 2
