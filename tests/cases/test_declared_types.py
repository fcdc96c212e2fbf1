"""A SQLite column is carried as its declared type only where every value is one and can be had back."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from sqlassay.cases.errors import InputError
from sqlassay.cases.formats.registry import load_pack
from sqlassay.cases.relation import Kind
from sqlassay.cases.snapshot import ColumnDef
from sqlassay.cases.sources.sqlite_file import sqlite_content
from sqlassay.cases.writing import write_pack

DATABASES = Path(__file__).parents[2].parent / "shared" / "data" / "text2sql" / "databases"

ROWS = [
    ("DATE", "'2026-01-31'", Kind.DATE, date(2026, 1, 31)),
    ("date", "'2026-01-31'), (NULL", Kind.DATE, date(2026, 1, 31)),
    ("DATE", "'2026-01-31'), ('soon'", Kind.TEXT, "2026-01-31"),
    ("DATE", "'2026-02-30'", Kind.TEXT, "2026-02-30"),
    ("DATE", "20260131", Kind.INT, 20260131),
    ("TEXT", "'2026-01-31'", Kind.TEXT, "2026-01-31"),
    ("DATETIME", "'2026-01-31 10:00:00'", Kind.TIMESTAMP, datetime(2026, 1, 31, 10)),
    ("TIMESTAMP", "'2026-01-31 10:00:00.000500'", Kind.TIMESTAMP, datetime(2026, 1, 31, 10, 0, 0, 500)),
    ("TIMESTAMP", "'2026-01-31 10:00:00.5'", Kind.TEXT, "2026-01-31 10:00:00.5"),
    ("TIMESTAMP", "'2026-01-31T10:00:00'", Kind.TEXT, "2026-01-31T10:00:00"),
    ("TIMESTAMP", "'2026-01-31 10:00:00+02:00'", Kind.TEXT, "2026-01-31 10:00:00+02:00"),
    ("TIMESTAMP", "'2026-01-31'", Kind.TEXT, "2026-01-31"),
    ("BOOLEAN", "1), (0", Kind.BOOL, True),
    ("BOOLEAN", "1), (2", Kind.INT, 1),
    ("BOOLEAN", "'true'", Kind.TEXT, "true"),
    ("DECIMAL(10,2)", "1.5", Kind.DECIMAL, Decimal("1.5")),
    ("NUMERIC(10, 2)", "100", Kind.DECIMAL, Decimal(100)),
    ("DECIMAL(10,2)", "1.125", Kind.FLOAT64, 1.125),
    ("DECIMAL(4,2)", "123", Kind.INT, 123),
    ("DECIMAL(10,2)", "1.5), ('n/a'", Kind.TEXT, "1.5"),
    ("DECIMAL(10,2)", "9e999", Kind.FLOAT64, float("inf")),
    ("DECIMAL(99,2)", "1.5", Kind.FLOAT64, 1.5),
    ("DECIMAL", "1.5", Kind.FLOAT64, 1.5),
]


def made(folder: Path, script: str) -> Path:
    """Return a new SQLite file."""
    file = folder / "x.sqlite"
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(script)
    return file


@pytest.mark.parametrize(("declared", "values", "kind", "first"), ROWS)
def test_a_column_has_its_declared_type_where_every_value_is_one(tmp_path, declared, values, kind, first):
    """Each type, and what keeps a column from it."""
    file = made(tmp_path, f"CREATE TABLE t (c {declared}); INSERT INTO t VALUES ({values});")
    content = sqlite_content(file, declared=True)
    assert content.tables[0].columns[0].kind is kind
    found = next(content.source.rows("t"))[0]
    assert found == first
    assert type(found) is type(first)


def test_sizes_are_kept(tmp_path):
    """A decimal has its digits; a moment has no fraction where no value has one, else six digits."""
    script = """CREATE TABLE t (a NUMERIC(8), b DECIMAL(9,3), c DATETIME, d DATETIME, e DATE);
    INSERT INTO t VALUES (1, 1.25, '2026-01-31 10:00:00', '2026-01-31 10:00:00.000001', NULL);"""
    columns = sqlite_content(made(tmp_path, script), declared=True).tables[0].columns
    assert columns == (
        ColumnDef("a", Kind.DECIMAL, precision=8, scale=0),
        ColumnDef("b", Kind.DECIMAL, precision=9, scale=3),
        ColumnDef("c", Kind.TIMESTAMP, precision=0),
        ColumnDef("d", Kind.TIMESTAMP, precision=6),
        ColumnDef("e", Kind.DATE),
    )


def test_an_image_of_other_types_is_another_image(tmp_path):
    """The digest tells a file carried by its types from one carried by its values, and only where they differ."""
    dated = made(tmp_path, "CREATE TABLE t (c DATE); INSERT INTO t VALUES ('2026-01-31');")
    assert sqlite_content(dated).digest != sqlite_content(dated, declared=True).digest
    (tmp_path / "plain").mkdir()
    plain = made(tmp_path / "plain", "CREATE TABLE t (c TEXT); INSERT INTO t VALUES ('2026-01-31');")
    assert sqlite_content(plain).digest == sqlite_content(plain, declared=True).digest


def test_a_header_asks_for_it_and_a_written_pack_keeps_it(tmp_path):
    """`types: declared` is read, refused without a SQLite file, and written again by `convert`."""
    made(tmp_path, "CREATE TABLE t (c DATE); INSERT INTO t VALUES ('2026-01-31');")
    header = """format: 1
name: p
snapshots: {s: {sqlite: x.sqlite, types: declared}}
cases: [{id: a, question: q, gold: {sqlite: SELECT 1}}]
"""
    (tmp_path / "pack.yaml").write_text(header, encoding="utf-8")
    pack = load_pack(tmp_path)
    assert pack.snapshots[0].tables[0].columns[0].kind is Kind.DATE
    again = tmp_path / "again"
    write_pack(pack, again)
    assert load_pack(again).snapshots[0].digest == pack.snapshots[0].digest
    (tmp_path / "pack.yaml").write_text(
        header.replace("sqlite: x.sqlite", "scripts: {sqlite: a.sql}"), encoding="utf-8"
    )
    with pytest.raises(InputError, match="types: declared is about a sqlite file"):
        load_pack(tmp_path)


@pytest.mark.skipif(not DATABASES.is_dir(), reason="the handed data is not beside the project")
@pytest.mark.parametrize("name", ["defog_broker", "defog_car_dealership", "chinook", "de_bike_1"])
def test_no_handed_value_is_lost(name):
    """Every value of a handed database, carried by its declared type, is had back as it is stored."""
    file = DATABASES / name / f"{name}.sqlite"
    content = sqlite_content(file, declared=True)
    with closing(sqlite3.connect(file)) as connection:
        for table in content.tables:
            at = [place for place, column in enumerate(table.columns) if column.kind in (Kind.DATE, Kind.TIMESTAMP)]
            numbers = [place for place, column in enumerate(table.columns) if column.kind in (Kind.BOOL, Kind.DECIMAL)]
            stored = connection.execute(f'SELECT * FROM "{table.name}" NOT INDEXED')
            for kept, carried in zip(stored, content.source.rows(table.name), strict=True):
                assert [kept[place] for place in at] == [carried[place] and str(carried[place]) for place in at]
                values = [carried[place] for place in numbers]
                assert [kept[place] for place in numbers] == [None if one is None else float(one) for one in values]
