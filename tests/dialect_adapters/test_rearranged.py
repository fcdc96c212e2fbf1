"""The same rows in another physical order: none is lost, none is changed, and the order is the same each time."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from sqlassay.cases.formats.databases import Found, snapshots_of
from sqlassay.cases.relation import Kind, Row
from sqlassay.cases.snapshot import ColumnDef, ForeignKey, Snapshot, TableDef
from sqlassay.dialect_adapters.rearranged import ORDERS, rearranged
from sqlassay.dialect_adapters.registry import adapter

_SCRIPT = """
CREATE TABLE goods (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, half AS (id / 2.0), "integer" INTEGER);
CREATE TABLE coded (code TEXT PRIMARY KEY, n) WITHOUT ROWID;
CREATE TABLE pairs (a INTEGER, b INTEGER, PRIMARY KEY (a, b));
CREATE TABLE hidden (rowid TEXT, oid TEXT, _rowid_ TEXT);
CREATE INDEX by_name ON goods (name);
CREATE VIEW names AS SELECT name FROM goods;
CREATE TRIGGER no_loss AFTER INSERT ON goods BEGIN DELETE FROM coded; END;
PRAGMA user_version = 7;
"""


def file_of(folder: Path) -> Snapshot:
    """Return a snapshot of a file with every kind of table."""
    path = folder / "goods.sqlite"
    with closing(sqlite3.connect(path)) as db:
        db.executescript(_SCRIPT)
        db.execute("DROP TRIGGER no_loss")
        db.executemany('INSERT INTO goods (name, "integer") VALUES (?, 1)', [(f"n{i}",) for i in range(20)])
        db.execute("UPDATE goods SET name = CAST(x'ff41' AS TEXT) WHERE id = 3")
        db.executemany("INSERT INTO coded VALUES (?, ?)", [("b", 1.0), ("a", b"\0"), ("c", None)])
        db.executemany("INSERT INTO pairs VALUES (?, ?)", [(1, 2), (2, 1), (3, 3)])
        db.executemany("INSERT INTO hidden VALUES (?, ?, ?)", [("x", "y", "z"), ("1", "2", "3")])
        db.execute("CREATE TRIGGER no_loss AFTER INSERT ON goods BEGIN DELETE FROM coded; END")
        db.commit()
    (snapshot,), _ = snapshots_of([Found("goods", (path,))])
    return snapshot


def stored(path: Path | None, sql: str) -> list[Row]:
    """Return what a file holds, its texts as bytes."""
    assert path is not None
    with closing(sqlite3.connect(path)) as db:
        db.text_factory = bytes
        return db.execute(sql).fetchall()


@pytest.mark.parametrize("order", ORDERS)
def test_a_sqlite_file_keeps_its_rows_and_changes_their_order(tmp_path, order):
    """Every table holds the same rows with the same storage classes, in another order where it has rowids."""
    snapshot = file_of(tmp_path)
    other = adapter("sqlite").rearranged(snapshot, order, 0, tmp_path)
    assert other is not None
    assert (other.id, other.database) == (snapshot.id, snapshot.database)
    assert other.digest != snapshot.digest
    for table, columns in (("goods", 'id, name, half, "integer"'), ("coded", "*"), ("pairs", "*"), ("hidden", "*")):
        asked = f"SELECT {columns} FROM {table} NOT INDEXED" if table != "coded" else "SELECT * FROM coded"
        before, after = (stored(one.sqlite_file, asked) for one in (snapshot, other))
        assert sorted(before, key=repr) == sorted(after, key=repr)
        assert (before != after) is (table in ("goods", "pairs")), table
    assert stored(other.sqlite_file, "PRAGMA user_version") == [(7,)]
    kinds = "SELECT type, name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' ORDER BY name"
    assert stored(other.sqlite_file, kinds) == stored(snapshot.sqlite_file, kinds)


def test_the_same_seed_gives_the_same_order(tmp_path):
    """Two copies of one seed are alike, those of another seed are not, and the digest says so."""
    snapshot = file_of(tmp_path)
    made = []
    for number, seed in enumerate((0, 0, 1)):
        folder = tmp_path / str(number)
        folder.mkdir()
        made.append(adapter("sqlite").rearranged(snapshot, "shuffled", seed, folder))
    rows = [stored(one.sqlite_file, "SELECT id FROM goods NOT INDEXED") for one in made]
    assert rows[0] == rows[1] != rows[2]
    assert made[0].digest == made[1].digest != made[2].digest


def test_a_file_that_cannot_be_written_again_is_left_out(tmp_path):
    """A table made by a module has tables of its own that cannot be made twice: there is no copy, and no error."""
    path = tmp_path / "words.sqlite"
    with closing(sqlite3.connect(path)) as db:
        db.executescript(
            "CREATE TABLE t (a); CREATE VIRTUAL TABLE words USING fts5(word); INSERT INTO words VALUES ('a')"
        )
    snapshot = replace(file_of(tmp_path), sqlite_file=path)
    assert adapter("sqlite").rearranged(snapshot, "reversed", 0, tmp_path) is None
    assert not list(tmp_path.glob("*.stored"))


class _Source:
    """Three numbered rows in every table."""

    def rows(self, table: str) -> Iterator[Row]:
        """Yield the rows."""
        yield from ((number, None) for number in range(3))


def test_a_source_comes_in_another_order_but_where_rows_need_each_other():
    """Tables are reversed; one whose enforced references point at itself stays; scripts alone cannot be reordered."""
    columns = (ColumnDef("id", Kind.INT), ColumnDef("parent", Kind.INT))
    tree = TableDef("tree", columns, ("id",), foreign_keys=(ForeignKey(("parent",), "tree", ("id",)),))
    plain = TableDef("plain", columns)
    snapshot = Snapshot("s", "s", "d", (tree, plain), _Source(), enforce_foreign_keys=True)
    other = rearranged(snapshot, "reversed", 0)
    assert other is not None
    assert other.source is not None
    assert [row[0] for row in other.source.rows("plain")] == [2, 1, 0]
    assert [row[0] for row in other.source.rows("tree")] == [0, 1, 2]
    free = rearranged(replace(snapshot, enforce_foreign_keys=False), "reversed", 0)
    assert free is not None
    assert free.source is not None
    assert [row[0] for row in free.source.rows("tree")] == [2, 1, 0]
    assert rearranged(replace(snapshot, source=None), "reversed", 0) is None
