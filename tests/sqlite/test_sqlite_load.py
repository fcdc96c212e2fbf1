"""A snapshot becomes one SQLite file: typed rows, scripts, or somebody's file as it is, and a catalogue of it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import pytest

from sqlassay.cases.errors import InputError
from sqlassay.cases.relation import Json, Kind, Row
from sqlassay.cases.snapshot import ColumnDef, ForeignKey, Snapshot, TableDef
from sqlassay.dialect_adapters.contract import Endpoint
from sqlassay.dialect_adapters.sqlite.adapter import SqliteAdapter
from sqlassay.dialect_adapters.sqlite.load import stored
from sqlassay.dialect_adapters.sqlite.reflect import declared_kind, file_digest

TABLES = (
    TableDef("team", (ColumnDef("id", Kind.INT), ColumnDef("name", Kind.TEXT, nullable=False)), primary_key=("id",)),
    TableDef(
        "match day",
        (
            ColumnDef("team", Kind.INT),
            ColumnDef("played", Kind.DATE),
            ColumnDef("score", Kind.DECIMAL, precision=10, scale=2),
            ColumnDef("won", Kind.BOOL),
            ColumnDef("detail", Kind.JSON),
        ),
        foreign_keys=(ForeignKey(("team",), "team", ("id",)),),
        indexes=(("team",),),
    ),
)


class Source:
    """Rows held in memory."""

    def __init__(self, **rows: list[Row]) -> None:
        """Keep rows by table; a space in a name is written as an underscore."""
        self._rows = {name.replace("_", " "): values for name, values in rows.items()}

    def rows(self, table: str) -> Iterator[Row]:
        """Yield the rows of one table."""
        yield from self._rows[table]


TEAMS: list[Row] = [(1, "Å"), (2, "B")]
DAYS: list[Row] = [(1, date(2024, 2, 29), Decimal("12.50"), True, Json("1.0")), (2, None, None, False, None)]


def load(folder: Path, snapshot: Snapshot) -> sqlite3.Connection:
    """Write the snapshot and open its file."""
    SqliteAdapter().load(Endpoint(socket=folder), (snapshot,))
    return sqlite3.connect(folder / f"{snapshot.database}.sqlite")


def test_typed_rows(tmp_path: Path) -> None:
    """Dates are ISO text, decimals and bools numbers, JSON its own text, and the catalogue says what was declared."""
    snapshot = Snapshot("s", "d", "x", TABLES, Source(team=TEAMS, match_day=DAYS))
    with closing(load(tmp_path, snapshot)) as db:
        assert db.execute('SELECT * FROM "match day"').fetchall() == [
            (1, "2024-02-29", 12.5, 1, "1.0"),
            (2, None, None, 0, None),
        ]
        assert db.execute("SELECT name FROM team ORDER BY id").fetchall() == [("Å",), ("B",)]


def test_catalogue(tmp_path: Path) -> None:
    """The catalogue holds tables, kinds, row counts, the DDL with its references, and the file's digest."""
    snapshot = Snapshot("s", "d", "x", TABLES, Source(team=TEAMS, match_day=DAYS))
    (catalog,) = SqliteAdapter().load(Endpoint(socket=tmp_path), (snapshot,))
    assert [(table.name, table.rows) for table in catalog.tables] == [("team", 2), ("match day", 2)]
    kinds = [column.kind for column in catalog.tables[1].columns]
    assert kinds == [Kind.INT, Kind.DATE, Kind.DECIMAL, Kind.BOOL, Kind.TEXT]
    assert 'REFERENCES "team" ("id")' in catalog.ddl
    assert catalog.state_digest == file_digest(tmp_path / "d.sqlite")


def test_scripts_come_last(tmp_path: Path) -> None:
    """SQL scripts run after the tables are filled; views are in the catalogue."""
    script = tmp_path / "more.sql"
    script.write_text("CREATE VIEW names AS SELECT name FROM team; INSERT INTO team VALUES (3, 'C');")
    snapshot = Snapshot("s", "d", "x", TABLES[:1], Source(team=TEAMS), {"sqlite": (script,)})
    (catalog,) = SqliteAdapter().load(Endpoint(socket=tmp_path), (snapshot,))
    assert [(table.name, table.is_view, table.rows) for table in catalog.tables] == [
        ("team", False, 3),
        ("names", True, None),
    ]


@pytest.mark.parametrize("statement", ["ATTACH 'other.db' AS o", "VACUUM INTO 'other.db'", "SELEC"])
def test_a_script_names_its_fault(tmp_path: Path, statement: str) -> None:
    """A script that fails, or reaches for another file, is an input error naming the script."""
    script = tmp_path / "bad.sql"
    script.write_text(statement)
    with pytest.raises(InputError, match=r"bad\.sql"):
        load(tmp_path, Snapshot("s", "d", "x", scripts={"sqlite": (script,)}))


def test_a_bad_row_is_named(tmp_path: Path) -> None:
    """A row that SQLite refuses is an input error with snapshot, row and table."""
    rows: list[Row] = [(1, "A"), (1, "B")]
    with pytest.raises(InputError, match="s:2:team: UNIQUE"):
        load(tmp_path, Snapshot("s", "d", "x", TABLES[:1], Source(team=rows)))


def test_references_are_recorded_not_enforced(tmp_path: Path) -> None:
    """An orphan loads, unless the snapshot asks for enforced references."""
    orphan: list[Row] = [(9, None, None, None, None)]
    source = Source(team=TEAMS, match_day=orphan)
    load(tmp_path, Snapshot("s", "d", "x", TABLES, source)).close()
    with pytest.raises(InputError, match=r"match day: a row \(rowid 1\) refers to a missing row of 'team'"):
        load(tmp_path, Snapshot("s", "e", "x", TABLES, source, enforce_foreign_keys=True))


def test_a_file_is_copied_as_it_is(tmp_path: Path) -> None:
    """A SQLite file keeps its bytes."""
    source = tmp_path / "source.db"
    with closing(sqlite3.connect(source)) as db:
        db.executescript("CREATE TABLE t(a); INSERT INTO t VALUES (1)")
    load(tmp_path, Snapshot("s", "d", "x", sqlite_file=source)).close()
    assert (tmp_path / "d.sqlite").read_bytes() == source.read_bytes()


def test_a_file_in_wal_mode_keeps_its_last_rows(tmp_path: Path) -> None:
    """Rows that are only in the write-ahead log are in the copy, which needs no log."""
    source = tmp_path / "source.db"
    with closing(sqlite3.connect(source)) as db:
        db.execute("PRAGMA journal_mode=WAL")
        db.executescript("CREATE TABLE t(a); INSERT INTO t VALUES (1)")
        with closing(load(tmp_path, Snapshot("s", "d", "x", sqlite_file=source))) as copy:
            assert copy.execute("SELECT a FROM t").fetchall() == [(1,)]
            assert copy.execute("PRAGMA journal_mode").fetchall() == [("delete",)]


@pytest.mark.parametrize("content", [b"", b"no database at all" * 10, None])
def test_no_database(tmp_path: Path, content: bytes | None) -> None:
    """A missing file, or one that is no database, is an input error naming it."""
    source = tmp_path / "source.db"
    if content is not None:
        source.write_bytes(content)
    with pytest.raises(InputError, match=r"source\.db"):
        load(tmp_path, Snapshot("s", "d", "x", sqlite_file=source))


@pytest.mark.parametrize("names", [("d", "d"), ("", "e"), ("../d", "e"), (".d", "e")])
def test_database_names(tmp_path: Path, names: tuple[str, str]) -> None:
    """Two snapshots of one name, or a name that is a path, are refused before anything is written."""
    with pytest.raises(InputError, match="database name"):
        SqliteAdapter().load(Endpoint(socket=tmp_path), [Snapshot(name, name, "x") for name in names])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, 1),
        (Decimal(7), 7),
        (Decimal("0.1"), 0.1),
        (float("nan"), "NaN"),
        (datetime(2024, 1, 2, 3, 4, 5), "2024-01-02 03:04:05"),
        (datetime(2024, 1, 2, 3, 4, 5, 6, tzinfo=UTC), "2024-01-02 03:04:05.000006+00:00"),
        (time(1, 2), "01:02:00"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        ((1, "a"), '[1, "a"]'),
        (b"\x00", b"\x00"),
    ],
)
def test_stored(value: object, expected: object) -> None:
    """Each kind of cell is stored in the one form SQLite has for it."""
    assert stored(value) == expected
    assert type(stored(value)) is type(expected)


@pytest.mark.parametrize(
    ("declared", "kind"),
    [
        ("varchar(20)", Kind.TEXT),
        ("BIGINT UNSIGNED", Kind.INT),
        ("DOUBLE PRECISION", Kind.FLOAT64),
        ("NATIVE CHARACTER(70)", Kind.TEXT),
        ("DATETIME", Kind.TIMESTAMP),
        ("", Kind.OTHER),
        ("NUMERIC(10,2)", Kind.DECIMAL),
    ],
)
def test_declared_kind(declared: str, kind: Kind) -> None:
    """A declared type gives its kind by name, else by SQLite's affinity rules."""
    assert declared_kind(declared) is kind
