"""Snapshot sources give typed rows without loss, and name the file, line and column of what they cannot read."""

from __future__ import annotations

import gzip
import sqlite3
from contextlib import closing
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import pytest

from sqlassay.cases.errors import InputError
from sqlassay.cases.relation import FarTemporal, Interval, Json, Kind
from sqlassay.cases.snapshot import ColumnDef, ForeignKey, TableDef
from sqlassay.cases.sources.cells import parse
from sqlassay.cases.sources.csv_rows import csv_source
from sqlassay.cases.sources.schema import read_schema
from sqlassay.cases.sources.sqlite_file import SqliteContent, sqlite_content
from sqlassay.cases.yaml_reading import read_yaml

DATABASES = Path(__file__).parents[2].parent / "shared" / "data" / "text2sql" / "databases"
TABLE = TableDef("t", (ColumnDef("id", Kind.INT, nullable=False), ColumnDef("note", Kind.TEXT)))

VALUES = [
    (Kind.BOOL, "TRUE", True),
    (Kind.BOOL, "0", False),
    (Kind.INT, "-9223372036854775808", -(2**63)),
    (Kind.DECIMAL, "1.50", Decimal("1.50")),
    (Kind.FLOAT64, "1e3", 1000.0),
    (Kind.FLOAT64, "-inf", float("-inf")),
    (Kind.TEXT, " x ", " x "),
    (Kind.DATE, "2026-01-31", date(2026, 1, 31)),
    (Kind.DATE, "infinity", FarTemporal("infinity")),
    (Kind.DATE, "0044-03-15 BC", FarTemporal("0044-03-15 BC")),
    (Kind.TIME, "01:02:03", time(1, 2, 3)),
    (Kind.TIMESTAMP, "2026-01-31 12:00:00.5", datetime(2026, 1, 31, 12, 0, 0, 500_000)),
    (Kind.TIMESTAMPTZ, "2026-01-31T12:00:00", datetime(2026, 1, 31, 12, tzinfo=UTC)),
    (Kind.TIMESTAMPTZ, "2026-01-31T14:00:00+02:00", datetime(2026, 1, 31, 12, tzinfo=UTC)),
    (Kind.INTERVAL, "P1Y2M3DT4H5M6.5S", Interval(14, 3, 14_706_500_000)),
    (Kind.INTERVAL, "-P1W", Interval(0, -7, 0)),
    (Kind.BYTES, "\\x00FF", b"\x00\xff"),
    (Kind.UUID, "00000000-0000-0000-0000-000000000001", UUID(int=1)),
    (Kind.JSON, '{"a": [1]}', Json('{"a": [1]}')),
    (Kind.ARRAY, '[1, {"$decimal": "2.0"}]', (1, Decimal("2.0"))),
    (Kind.BITS, "0101", "0101"),
    (Kind.OTHER, "anything", "anything"),
]


@pytest.mark.parametrize(("kind", "text", "cell"), VALUES)
def test_a_field_becomes_a_value_of_its_kind(kind: Kind, text: str, cell: object) -> None:
    """Each kind has its spelling."""
    found = parse(kind, text)
    assert found == cell
    assert type(found) is type(cell)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Kind.BOOL, "maybe"),
        (Kind.INT, "1.0"),
        (Kind.INT, "1_000"),
        (Kind.INT, "٣"),
        (Kind.DECIMAL, "NaN"),
        (Kind.FLOAT64, "1,5"),
        (Kind.DATE, "31.01.2026"),
        (Kind.DATE, "2026-02-30"),
        (Kind.TIMESTAMP, "2026-01-31T12:00:00+02:00"),
        (Kind.INTERVAL, "P"),
        (Kind.INTERVAL, "P1DT"),
        (Kind.BYTES, "00FF"),
        (Kind.UUID, "x"),
        (Kind.JSON, "{"),
        (Kind.JSON, "[" * 100_000),
        (Kind.ARRAY, "{}"),
        (Kind.BITS, "012"),
    ],
)
def test_a_field_that_spells_no_value_is_refused(kind: Kind, text: str) -> None:
    """A wrong spelling is never guessed at."""
    with pytest.raises(ValueError, match="is no"):
        parse(kind, text)


def _rows(folder: Path, data: bytes, table: TableDef = TABLE, name: str = "t.csv") -> list[tuple[object, ...]]:
    """Write one CSV and read it back."""
    (folder / name).write_bytes(data)
    source, _ = csv_source((table,), folder)
    return list(source.rows(table.name))


@pytest.mark.parametrize(
    ("data", "rows"),
    [
        (b'id,note\n1,a\n2,\n3,""\n', [(1, "a"), (2, None), (3, "")]),
        (b"note,id\na,1\n", [(1, "a")]),
        (b'id,note\n1,"a,""b""\nc"\n2,x', [(1, 'a,"b"\nc'), (2, "x")]),
        (b"\xef\xbb\xbfid,note\r\n1,\xc3\xa9\r\n\r\n", [(1, "é")]),
        (b'"id","note"\n"1","NULL"\n', [(1, "NULL")]),
        (b"id,note\n", []),
    ],
)
def test_csv_tells_null_from_empty_text(tmp_path: Path, data: bytes, rows: list[tuple[object, ...]]) -> None:
    """Unquoted nothing is NULL, quoted nothing is empty text; quotes, BOM and line ends are read."""
    assert _rows(tmp_path, data) == rows
    (tmp_path / "t.csv").unlink()
    assert _rows(tmp_path, gzip.compress(data), name="t.csv.gz") == rows


def test_a_blank_line_is_null_in_a_table_of_one_column(tmp_path: Path) -> None:
    """No row of a one-column table is lost."""
    assert _rows(tmp_path, b"a\nx\n\ny\n", TableDef("t", (ColumnDef("a", Kind.TEXT),))) == [("x",), (None,), ("y",)]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"id,note\nx,a\n", "t.csv:2:id: 'x' is no whole number"),
        (b'id,note\n1,"a\nb"\ny,c\n', "t.csv:4:id"),
        (b"id,note\n,a\n", "t.csv:2:id: NULL in a column"),
        (b"id,note\n1,a,b\n", "t.csv:2: record has 3 fields for 2 columns"),
        (b"id,note\n1\n", "t.csv:2: record has 1 fields"),
        (b'id,note\n1,a"b"\n', "t.csv:2:field 2: stray quote"),
        (b'id,note\n1,"a\n', "t.csv:2: quote is never closed"),
        (b"id\n", "t.csv:1: header is id where the schema has id,note"),
        (b"id,note,id\n", "t.csv:1: header"),
        (b"", "t.csv:1: header"),
        (b"id,note\n1,\xff\n", "t.csv:2: not UTF-8"),
        (b"id,note\n1,\0\n", "t.csv:2: NUL"),
    ],
)
def test_a_fault_in_a_csv_names_its_place(tmp_path: Path, data: bytes, said: str) -> None:
    """File, line and column are named."""
    with pytest.raises(InputError) as caught:
        _rows(tmp_path, data)
    assert said in str(caught.value)


def test_every_table_has_one_file(tmp_path: Path) -> None:
    """A missing file, two files, a stray file and a broken gzip are named."""
    with pytest.raises(InputError, match="0 data files for table 't'"):
        csv_source((TABLE,), tmp_path)
    (tmp_path / "t.csv").write_text("id,note\n")
    (tmp_path / "u.csv").write_text("id\n")
    with pytest.raises(InputError, match=r"u.csv: no table for this file"):
        csv_source((TABLE,), tmp_path)
    (tmp_path / "u.csv").rename(tmp_path / "t.csv.gz")
    with pytest.raises(InputError, match="2 data files"):
        csv_source((TABLE,), tmp_path)
    (tmp_path / "t.csv").unlink()
    with pytest.raises(InputError, match=r"t.csv.gz: cannot be read"):
        csv_source((TABLE,), tmp_path)


SCHEMA = """\
format: 1
enforce_foreign_keys: true
tables:
  - name: a
    columns:
      - {name: id, kind: int, nullable: false}
      - {name: price, kind: numeric, precision: 8, scale: 2}
    primary_key: [id]
    unique: [[price]]
  - name: b
    columns:
      - {name: a_id, kind: int}
    foreign_keys:
      - {columns: [a_id], table: a, references: [id]}
    indexes: [[a_id]]
"""


def test_a_schema_becomes_table_definitions(tmp_path: Path) -> None:
    """Kinds, sizes and keys arrive; aliases of kinds are read."""
    (tmp_path / "s.yaml").write_text(SCHEMA)
    tables, enforce = read_schema(read_yaml(tmp_path / "s.yaml"))
    assert enforce is True
    assert tables[0].columns[1] == ColumnDef("price", Kind.DECIMAL, True, None, 8, 2)
    assert (tables[0].primary_key, tables[0].unique) == (("id",), (("price",),))
    assert tables[1].foreign_keys == (ForeignKey(("a_id",), "a", ("id",)),)
    assert tables[1].indexes == (("a_id",),)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("kind: numeric", "kind: nmeric", "s.yaml:7:tables.0.columns.1.kind: unknown kind"),
        ("name: b", "name: A", "s.yaml:10:tables.1.name: table 'A' stands twice"),
        ("name: price", "name: ID", "column 'id' stands twice"),
        ("primary_key: [id]", "primary_key: [idd]", "s.yaml:8:tables.0.primary_key: no column 'idd'"),
        ("table: a,", "table: z,", "no table 'z'"),
        ("references: [id]", "references: [x]", "lacks a referenced column"),
        ("references: [id]", "references: [id, price]", "differ in number"),
        ("indexes: [[a_id]]", "indexes: [[x]]", "no column 'x'"),
        ("precision: 8", "precision: 0", "s.yaml:7:tables.0.columns.1.precision"),
        ("format: 1", "format: 2", "s.yaml:1:format"),
    ],
)
def test_a_fault_in_a_schema_names_its_place(tmp_path: Path, old: str, new: str, said: str) -> None:
    """Line and field are those of the fault."""
    assert old in SCHEMA
    (tmp_path / "s.yaml").write_text(SCHEMA.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        read_schema(read_yaml(tmp_path / "s.yaml"))
    assert said in str(caught.value)


def _sqlite(folder: Path, script: str) -> SqliteContent:
    """Build a SQLite file and read it."""
    file = folder / "x.sqlite"
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(script)
    return sqlite_content(file)


KINDS = [
    ("TEXT", "'a'", Kind.TEXT, "a"),
    ("VARCHAR(2)", "'longer'", Kind.TEXT, "longer"),
    ("INTEGER", "7", Kind.INT, 7),
    ("BOOLEAN", "1", Kind.INT, 1),
    ("DECIMAL(10,2)", "1.5", Kind.FLOAT64, 1.5),
    ("NUMERIC", "1), (2.5", Kind.FLOAT64, 1.0),
    ("DATE", "'2026-01-31'", Kind.TEXT, "2026-01-31"),
    ("BLOB", "x'00ff'", Kind.BYTES, b"\x00\xff"),
    ("INTEGER", "5), ('nil'", Kind.TEXT, "5"),
    ("INTEGER", "5), (''", Kind.TEXT, "5"),
    ("", "0.1), (x'ab'", Kind.TEXT, "0.1"),
    ("", "x'ab'), ('t'", Kind.TEXT, "x'ab'"),
    ("", "9007199254740993), (0.5", Kind.TEXT, "9007199254740993"),
    ("TEXT", "CAST(x'61ff62' AS TEXT)", Kind.TEXT, "a\\xffb"),
    ("TEXT", "CAST(x'610062' AS TEXT)", Kind.TEXT, "a\\x00b"),
    ("INTEGER", "NULL", Kind.INT, None),
    ("REAL", "NULL", Kind.FLOAT64, None),
    ("DATETIME", "NULL", Kind.TEXT, None),
    ("BLOB", "NULL", Kind.BYTES, None),
]


@pytest.mark.parametrize(("declared", "values", "kind", "first"), KINDS)
def test_a_column_s_kind_comes_from_its_values(
    tmp_path: Path, declared: str, values: str, kind: Kind, first: object
) -> None:
    """Integers, reals, text and bytes are told apart by what is stored; a mixture is text without loss."""
    content = _sqlite(tmp_path, f"CREATE TABLE t(a {declared}); INSERT INTO t VALUES ({values});")
    column = content.tables[0].columns[0]
    assert (column.kind, column.length) == (kind, None)
    found = next(content.source.rows("t"))[0]
    assert found == first
    assert type(found) is type(first)


def test_keys_are_kept_where_every_engine_can_hold_them(tmp_path: Path) -> None:
    """A primary key with NULLs is dropped with a note; foreign keys name their target's columns."""
    content = _sqlite(
        tmp_path,
        """
        CREATE TABLE good(id TEXT PRIMARY KEY, u INT UNIQUE, n INT NOT NULL) WITHOUT ROWID;
        CREATE TABLE loose(id TEXT PRIMARY KEY, g REFERENCES good, h REFERENCES missing);
        CREATE TABLE pair(a INT, b INT, c INT GENERATED ALWAYS AS (a + b) STORED, PRIMARY KEY (b, a));
        CREATE INDEX by_n ON good(n); CREATE INDEX part ON good(n) WHERE n > 0; CREATE INDEX expr ON good(n + 1);
        INSERT INTO good VALUES ('abc', 1, 1); INSERT INTO loose VALUES (NULL, 'abc', 1);
        INSERT INTO pair VALUES (1, 2); CREATE VIEW v AS SELECT 1; CREATE VIRTUAL TABLE f USING fts5(x);
        """,
    )
    good, loose, pair = content.tables
    assert (good.primary_key, good.unique, good.indexes) == (("id",), (("u",),), (("n",),))
    assert [column.nullable for column in good.columns] == [False, True, False]
    assert good.columns[0].length == 3
    assert loose.primary_key == ()
    assert loose.foreign_keys == (ForeignKey(("g",), "good", ("id",)),)
    assert pair.primary_key == ("b", "a")
    assert list(content.source.rows("pair")) == [(1, 2, 3)]
    assert any("primary key of 'loose'" in note for note in content.notes)
    assert any("view 'v'" in note for note in content.notes)
    assert any("virtual table 'f'" in note for note in content.notes)


def test_weird_names_and_empty_tables_are_carried(tmp_path: Path) -> None:
    """Reserved words, umlauts, quotes and blanks are names like others."""
    content = _sqlite(tmp_path, 'CREATE TABLE "sel""ect ü"("order" INT, "Größe (cm)" REAL, "a-b" TEXT);')
    assert content.tables[0].name == 'sel"ect ü'
    assert [column.name for column in content.tables[0].columns] == ["order", "Größe (cm)", "a-b"]
    assert list(content.source.rows('sel"ect ü')) == []


def test_a_wide_table_is_read_in_parts(tmp_path: Path) -> None:
    """As many columns as SQLite allows by default."""
    names = ", ".join(f"c{i} INT" for i in range(1999))
    content = _sqlite(tmp_path, f"CREATE TABLE t({names}); INSERT INTO t(c1998) VALUES ('x');")
    assert [column.kind for column in content.tables[0].columns][-2:] == [Kind.INT, Kind.TEXT]


def test_what_is_no_whole_sqlite_file_is_refused(tmp_path: Path) -> None:
    """Text, a cut file, an empty database and an open write-ahead log are each one clear error."""
    file = tmp_path / "x.sqlite"
    file.write_text("not a database, but long enough to be read as one")
    with pytest.raises(InputError, match="not a SQLite file"):
        sqlite_content(file)
    file.unlink()
    with pytest.raises(InputError, match="cannot be read"):
        sqlite_content(file)
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript("CREATE TABLE t(a); DROP TABLE t;")
    with pytest.raises(InputError, match="no table"):
        sqlite_content(file)
    (tmp_path / "x.sqlite-wal").write_bytes(b"x")
    with pytest.raises(InputError, match="write-ahead log"):
        sqlite_content(file)
    (tmp_path / "x.sqlite-wal").unlink()
    file.unlink()
    content = _sqlite(tmp_path, "CREATE TABLE t(a); INSERT INTO t SELECT randomblob(500) FROM (VALUES(1),(2),(3),(4));")
    file.write_bytes(file.read_bytes()[:4096] + b"\xff" * 4096)
    with pytest.raises(InputError, match="SQLite cannot read it"):
        list(content.source.rows("t"))
    with pytest.raises(InputError, match="SQLite cannot read it"):
        sqlite_content(file)


@pytest.mark.skipif(not DATABASES.is_dir(), reason="the shared databases are not here")
def test_every_shared_database_is_read_without_loss() -> None:
    """All files load, and each table gives as many rows as SQLite counts."""
    files = sorted(DATABASES.rglob("*.sqlite"))
    assert len(files) == 17
    for file in files:
        content = sqlite_content(file)
        with closing(sqlite3.connect(f"{file.as_uri()}?immutable=1", uri=True)) as connection:
            for table in content.tables:
                count = connection.execute(f'SELECT COUNT(*) FROM "{table.name}"').fetchone()[0]
                assert sum(1 for _ in content.source.rows(table.name)) == count


@pytest.mark.skipif(not DATABASES.is_dir(), reason="the shared databases are not here")
def test_dirty_integer_columns_become_text() -> None:
    """The German file's INTEGER columns that hold '' and 'nil' are text for every engine."""
    content = sqlite_content(DATABASES / "de_bike_1" / "de_bike_1.sqlite")
    with closing(sqlite3.connect(f"{content.source.path.as_uri()}?immutable=1", uri=True)) as connection:
        for table in content.tables:
            for column in table.columns:
                query = f'SELECT COUNT(*) FROM "{table.name}" WHERE typeof("{column.name}") = \'text\''
                texts = connection.execute(query).fetchone()[0]
                assert (column.kind is Kind.TEXT) == (texts > 0)
