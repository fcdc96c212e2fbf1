"""Somebody's SQLite file computes what it likes: the harness reads it within a deadline and heeds an interrupt."""

from __future__ import annotations

import os
import signal
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from sqlassay.cases.errors import InputError
from sqlassay.cases.snapshot import Snapshot
from sqlassay.cases.sources import sqlite_bounds
from sqlassay.cases.sources.sqlite_file import sqlite_content
from sqlassay.dialect_adapters.sqlite.rearrange import rearranged_file
from sqlassay.dialect_adapters.sqlite.reflect import read_catalog

ENDLESS = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT max(n), 'x' FROM c"
WIDE = "CREATE TABLE t (a, b AS (length(replace(hex(zeroblob(800000)), '0', 'aa')))); INSERT INTO t VALUES (1)"
BEHIND_A_VIRTUAL_TABLE = (
    f"CREATE TABLE t (a); INSERT INTO t VALUES (1); CREATE VIEW w(id, a) AS {ENDLESS};"
    "CREATE VIRTUAL TABLE f USING fts5(a, content='w', content_rowid='id')"
)


def _file(folder: Path, script: str) -> Path:
    """Return a SQLite file that a script has made."""
    with closing(sqlite3.connect(folder / "s.sqlite")) as db:
        db.executescript(script)
    return folder / "s.sqlite"


def _catalog(path: Path) -> object:
    return read_catalog(path, snapshot="s", database="s")


def _rearranged(path: Path) -> object:
    (path.parent / "copies").mkdir()
    snapshot = Snapshot("s", "s", "digest", sqlite_file=path)
    return rearranged_file(snapshot, "reversed", 1, path.parent / "copies")


def test_an_endless_view_behind_a_virtual_table_ends_at_the_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counting such a table is the file's fault, told in one line; a copy of its rows is not made."""
    monkeypatch.setattr(sqlite_bounds, "READ_SECONDS", 0.5)
    path = _file(tmp_path, BEHIND_A_VIRTUAL_TABLE)
    with pytest.raises(InputError, match=r"what it computes did not end within 0\.5 s"):
        _catalog(path)
    assert _rearranged(path) is None


@pytest.mark.parametrize("read", [_catalog, _rearranged])
def test_an_interrupt_ends_the_reading(tmp_path: Path, read: Callable[[Path], object]) -> None:
    """A signal is not swallowed by the library, nor taken for damage."""
    path = _file(tmp_path, BEHIND_A_VIRTUAL_TABLE)
    late = threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT))
    late.start()
    started = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            read(path)
    finally:
        late.join()
    assert time.monotonic() - started < 30


def test_a_value_longer_than_any_file_is_refused(tmp_path: Path) -> None:
    """A generated column cannot keep one function busy with more than the file could hold."""
    with pytest.raises(InputError, match=r"SQLite cannot read it: string or blob too big"):
        sqlite_content(_file(tmp_path, WIDE))


def test_reading_may_take_longer_than_the_deadline_in_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock starts anew with each row: a slow reader of many rows is not late."""
    monkeypatch.setattr(sqlite_bounds, "READ_SECONDS", 0.5)
    monkeypatch.setattr(sqlite_bounds, "_STEPS", 1)
    rows = sqlite_content(_file(tmp_path, "CREATE TABLE t (a); INSERT INTO t VALUES (1), (2), (3), (4)")).source.rows(
        "t"
    )
    got = []
    for row in rows:
        got.append(row)
        time.sleep(0.2)
    assert got == [(1,), (2,), (3,), (4,)]
