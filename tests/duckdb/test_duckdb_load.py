"""Snapshots become DuckDB files without loss, or are refused at the row that does not fit; the package may lack."""

from __future__ import annotations

import importlib.util
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from decimal import Context, Decimal
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
from duckdb_servers import installed

import sqlassay.sandboxes.process.library
from sqlassay.cases.errors import InputError
from sqlassay.cases.relation import FarTemporal, Kind, Row
from sqlassay.cases.snapshot import ColumnDef, ForeignKey, Snapshot, TableDef
from sqlassay.cases.sources.sqlite_file import sqlite_content
from sqlassay.dialect_adapters.contract import Endpoint
from sqlassay.dialect_adapters.duckdb.recipe import RECIPE
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.harness.cli.main import _run
from sqlassay.sandboxes.process.library import host_library
from sqlassay.sandboxes.registry import provider

ID = ColumnDef("id", Kind.INT, nullable=False)


class _Source:
    """Rows by table."""

    def __init__(self, rows: Mapping[str, Sequence[Row]]) -> None:
        self._rows = rows

    def rows(self, table: str) -> Iterator[Row]:
        """Yield the rows of one table."""
        yield from self._rows[table]


def _snapshot(rows: Mapping[str, Sequence[Row]], *tables: TableDef, enforce: bool = False) -> Snapshot:
    """Return a snapshot of these rows."""
    return Snapshot("s", "s", "d", tables, _Source(rows), enforce_foreign_keys=enforce)


def _read(folder: Path, sql: str) -> list[tuple[object, ...]]:
    """Return what the written file holds."""
    import duckdb

    with closing(duckdb.connect(str(folder / "s.duckdb"), read_only=True)) as db:
        return [tuple(row) for row in db.execute(sql).fetchall()]


@installed
@pytest.mark.parametrize(("precision", "scale"), [(38, 0), (38, 38), (38, 10), (29, 3), (28, 3), (None, None)])
def test_decimals_whose_sum_passes_the_engines_own_are_loaded(
    tmp_path: Path, precision: int | None, scale: int | None
) -> None:
    """Values at the end of what a column holds are whole values, and one that is rounded is refused as before."""
    table = TableDef("t", (ColumnDef("d", Kind.DECIMAL, precision=precision, scale=scale),))
    least = Decimal(1).scaleb(-(10 if scale is None else scale))
    most = Context(prec=40).multiply(Decimal("9" * (precision or 38)), least)
    rows: list[Row] = [(most,), (most,), (-least,), (most,), (None,), (Decimal(0),)]
    adapter("duckdb").load(Endpoint(tmp_path), [_snapshot({"t": rows}, table)])
    assert Counter(_read(tmp_path, "SELECT d FROM t")) == Counter(rows)
    wrong = replace(_snapshot({"t": [*rows, (least / 4,)]}, table), database="o")
    with pytest.raises(InputError, match="column d: values changed on the way"):
        adapter("duckdb").load(Endpoint(tmp_path), [wrong])


@installed
def test_rows_of_every_chunk_arrive(tmp_path: Path) -> None:
    """More rows than one hand-over takes, wide numbers, empty text beside NULL and moments past all bounds."""
    table = TableDef("t", (ID, ColumnDef("v", Kind.TEXT), ColumnDef("d", Kind.DATE)), primary_key=("id",))
    rows: list[Row] = [(n, "" if n % 2 else None, None) for n in range(45_000)]
    rows[7] = (-(2**63), "x\0y", FarTemporal("infinity"))
    rows[8] = (8, None, FarTemporal("0044-03-15 BC"))
    (catalog,) = adapter("duckdb").load(Endpoint(tmp_path), [_snapshot({"t": rows}, table)])
    assert catalog.tables[0].rows == 45_000
    sums = "count(*), count(v), sum(strlen(v)), min(id), max(d)::VARCHAR, min(d)::VARCHAR"
    assert _read(tmp_path, f"SELECT {sums} FROM t") == [(45_000, 22_500, 3, -(2**63), "infinity", "0044-03-15 (BC)")]  # noqa: S608
    assert catalog.state_digest
    assert "CREATE TABLE t" in catalog.ddl


@installed
@pytest.mark.parametrize(
    ("kind", "bad", "said"),
    [
        (Kind.INT, 2**64, "out of range"),
        (Kind.DATE, "soon", "date"),
        (Kind.JSON, "{", "JSON"),
        (Kind.UUID, "x", "UUID"),
    ],
)
def test_a_row_that_does_not_fit_is_named(tmp_path: Path, kind: Kind, bad: object, said: str) -> None:
    """The error tells table and engine's reason, and the number of the row."""
    table = TableDef("t", (ID, ColumnDef("v", kind)))
    rows: list[Row] = [(1, None), (2, None), (3, bad), (4, None)]
    with pytest.raises(InputError) as caught:
        adapter("duckdb").load(Endpoint(tmp_path), [_snapshot({"t": rows}, table)])
    assert said.lower() in str(caught.value).lower()
    assert "3" in str(caught.value)


@installed
def test_a_key_that_stands_twice_is_refused(tmp_path: Path) -> None:
    """Primary keys hold."""
    table = TableDef("t", (ID,), primary_key=("id",))
    with pytest.raises(InputError, match="[Dd]uplicate"):
        adapter("duckdb").load(Endpoint(tmp_path), [_snapshot({"t": [(1,), (1,)]}, table)])


@installed
def test_enforced_references_hold_whatever_the_order_of_tables(tmp_path: Path) -> None:
    """A table may refer to one that comes later; an orphan is refused, and so is a ring."""
    child = TableDef("a", (ID, ColumnDef("b", Kind.INT)), ("id",), (), (ForeignKey(("b",), "b", ("id",)),))
    parent = TableDef("b", (ID,), primary_key=("id",))
    rows = {"a": [(1, 7)], "b": [(7,)]}
    adapter("duckdb").load(Endpoint(tmp_path), [_snapshot(rows, child, parent, enforce=True)])
    assert _read(tmp_path, "SELECT a.id, b.id FROM a JOIN b ON a.b = b.id") == [(1, 7)]
    with pytest.raises(InputError, match="foreign key"):
        adapter("duckdb").load(
            Endpoint(tmp_path / ""), [replace(_snapshot({**rows, "b": []}, child, parent, enforce=True), database="o")]
        )
    ring = replace(parent, columns=(ID, ColumnDef("b", Kind.INT)), foreign_keys=(ForeignKey(("b",), "a", ("id",)),))
    with pytest.raises(InputError, match="form a ring"):
        adapter("duckdb").load(
            Endpoint(tmp_path), [replace(_snapshot(rows, child, ring, enforce=True), database="ring")]
        )


@installed
def test_a_sqlite_file_is_read_as_typed_tables(tmp_path: Path) -> None:
    """Dirty columns become text, numbers stay numbers, nothing is dropped."""
    file = tmp_path / "x.sqlite"
    with closing(sqlite3.connect(file)) as db:
        db.executescript(
            'CREATE TABLE "or der" (id INTEGER PRIMARY KEY, n INTEGER, r REAL, b BLOB, "größe" TEXT);'
            "INSERT INTO \"or der\" VALUES (1, 5, 1.5, x'00ff', 'ä'), (2, 'nil', NULL, NULL, '')"
        )
    found = sqlite_content(file)
    snapshot = Snapshot("s", "s", "d", found.tables, found.source, sqlite_file=file)
    adapter("duckdb").load(Endpoint(tmp_path), [snapshot])
    assert _read(tmp_path, 'SELECT * FROM "or der" ORDER BY id') == [
        (1, "5", 1.5, b"\x00\xff", "ä"),
        (2, "nil", None, None, ""),
    ]


@installed
@pytest.mark.parametrize(
    "text", ["COPY (SELECT 1) TO '{0}/out.csv'", "CREATE TABLE t AS FROM read_text('{0}/own.sql')", "CREATE TABLE ("]
)
def test_a_script_reaches_no_file(tmp_path: Path, text: str) -> None:
    """A pack's script makes tables and nothing beside its database; its fault is named with its file."""
    script = tmp_path / "own.sql"
    script.write_text(text.format(tmp_path))
    with pytest.raises(InputError, match=r"own\.sql.*the script failed"):
        adapter("duckdb").load(Endpoint(tmp_path), [Snapshot("s", "s", "d", scripts={"duckdb": (script,)})])
    assert not (tmp_path / "out.csv").exists()


@installed
def test_no_container_runs_it() -> None:
    """The container provider refuses it in one line with the remedy, before any engine is asked."""
    makes = provider("docker")
    try:
        with pytest.raises(InputError, match="runs in no container.*--sandbox process"):
            makes.prepare(adapter("duckdb"), [], lambda line: None)
    finally:
        makes.close()


def test_without_the_package_one_line_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run ends with 2 and the extra's name; nothing else of the program needs the package."""

    def absent(name: str) -> object:
        raise PackageNotFoundError(name)

    host_library.cache_clear()
    monkeypatch.setattr(sqlassay.sandboxes.process.library, "distribution", absent)
    code = _run(["run", "demo", "--dialect", "duckdb", "--out", str(tmp_path / "out")])
    host_library.cache_clear()
    said = capsys.readouterr()
    assert code == 2
    assert "pip install -e '.[duckdb]'" in said.err + said.out
    assert "Traceback" not in said.err
    assert adapter("duckdb").rules.functions
    assert RECIPE.library is not None


@installed
def test_the_engine_is_found_by_the_names_its_recipe_gives() -> None:
    """What the jail is shown includes the package, its compiled part and its metadata."""
    assert RECIPE.library is not None
    inside = {path for _, path in host_library(RECIPE.library).paths}
    assert {"/opt/library/duckdb"} < inside
    assert any(path.startswith("/opt/library/_duckdb.") for path in inside)
    assert any(path.endswith(".dist-info") for path in inside)
    assert importlib.util.find_spec("duckdb") is not None
