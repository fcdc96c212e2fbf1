"""Tables in files as sources: a folder of CSV, TSV or Parquet files, and a DuckDB file, as a schema with CSV rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from sqlassay.cases.errors import InputError
from sqlassay.cases.frames import spelled
from sqlassay.cases.paths import asks
from sqlassay.cases.relation import Kind
from sqlassay.cases.snapshot import ColumnDef, TableDef
from sqlassay.cases.sources.csv_writing import Fields, write_tables
from sqlassay.cases.tables import read_table
from sqlassay.dialect_adapters.duckdb.types import sql_type
from sqlassay.harness.taking.contract import Taken

_CSV = (".csv", ".tsv")
_PARQUET = (".parquet", ".pq")
_MAGIC = b"DUCK"
_DIGITS = 38
"""Digits that every engine's exact decimals hold."""

_KINDS = {
    "BOOLEAN": Kind.BOOL,
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"), Kind.INT),
    "FLOAT": Kind.FLOAT32,
    "DOUBLE": Kind.FLOAT64,
    "VARCHAR": Kind.TEXT,
    "DATE": Kind.DATE,
    "TIME": Kind.TIME,
    "TIME WITH TIME ZONE": Kind.TIMETZ,
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS"), Kind.TIMESTAMP),
    "TIMESTAMP WITH TIME ZONE": Kind.TIMESTAMPTZ,
    "UUID": Kind.UUID,
    "JSON": Kind.JSON,
    "BLOB": Kind.BYTES,
    "BIT": Kind.BITS,
    "INTERVAL": Kind.INTERVAL,
}
_TEXT = {
    Kind.BYTES: "'\\x' || hex({})",
    Kind.INTERVAL: "'P' || datepart('year', {0}) || 'Y' || datepart('month', {0}) || 'M' || datepart('day', {0}) "
    "|| 'DT' || datepart('hour', {0}) || 'H' || datepart('minute', {0}) || 'M' "
    "|| printf('%.6f', datepart('microseconds', {0}) / 1000000.0) || 'S'",
    Kind.ARRAY: "to_json({})",
}
_WIDE = {"UBIGINT": (20, 0), "HUGEINT": (38, 0), "UHUGEINT": (38, 0)}
"""Whole numbers of more than 64 bits, and the decimals that hold them."""
_LIST = re.compile(r"([^\[\]]+)\[\d*\]")
_NO_ELEMENTS = (Kind.BYTES, Kind.JSON, Kind.INTERVAL)
_BATCH = 5_000
_VIEWS = "views.sql"

Rows = Mapping[str, Callable[[], Fields]]
"""What gives each table's rows as CSV fields, when they are written."""


@dataclass(frozen=True, slots=True)
class _Read:
    """Tables, what gives their rows, and what of them is told."""

    tables: tuple[TableDef, ...]
    rows: Rows
    notes: tuple[str, ...]


class TableFolder:
    """Takes a folder with a file for each table, or one such file."""

    name = "a CSV, TSV or Parquet file, or a folder of them, one a table"

    def recognises(self, source: str) -> bool:
        """Return whether it is such a file, or a folder with one and no pack."""
        folder = Path(source)
        if asks(folder.is_file):
            return _is_table(folder)
        return asks(folder.is_dir) and not asks((folder / "pack.yaml").exists) and bool(_files(folder))

    def speaks(self, source: str) -> str:  # noqa: ARG002 (the contract's)
        """Return SQLite's, as files have no engine."""
        return "sqlite"

    def take(self, source: str, folder: Path, *, tables: tuple[str, ...] = ()) -> Taken:
        """Write the tables down with the kinds that their columns have, or spell.

        Raises:
            InputError: a malformed file, two files of one table, or a table that is not there.
        """
        files = _files(Path(source))
        names = [_table_name(file) for file in files]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InputError(f"two files of table '{twice}'", file=source, remedy="Keep one file for each table")
        chosen = [file for file in files if _table_name(file) in _chosen(tables, names)]
        read = [_of_csv(file) if _form(file) in _CSV else _of_parquet(file) for file in chosen]
        return _written(_whole(read), folder, "sqlite")


class DuckdbFile:
    """Takes the tables of a DuckDB file."""

    name = "a DuckDB file"

    def recognises(self, source: str) -> bool:
        """Return whether the file begins as DuckDB's do."""
        path = Path(source)
        if not asks(path.is_file):
            return False
        try:
            with path.open("rb") as stream:
                return stream.read(12)[8:] == _MAGIC
        except OSError:
            return False

    def speaks(self, source: str) -> str:  # noqa: ARG002 (the contract's)
        """Return DuckDB's."""
        return "duckdb"

    def take(self, source: str, folder: Path, *, tables: tuple[str, ...] = ()) -> Taken:
        """Write the tables of its schema `main` down.

        Raises:
            InputError: it cannot be opened, has no table, or lacks one that is named.
        """
        file = Path(source)
        with _duckdb(file, str(file)) as connection:
            found = connection.execute(
                "SELECT table_schema, table_name, table_type FROM information_schema.tables ORDER BY ALL"
            ).fetchall()
            here = [name for schema, name, kind in found if schema == "main" and kind == "BASE TABLE"]
            others = [(schema, name, kind) for schema, name, kind in found if schema != "main" or name not in here]
            notes = [f"{kind.lower()} '{schema}.{name}' is not taken" for schema, name, kind in others]
            if not here:
                raise InputError("the database has no table", file=file, remedy="Name one that holds data")
            wanted = _chosen(tables, here)
            read = _whole([_asked(connection, name, _quoted(name), file) for name in here if name in wanted], notes)
            kept = _kept_views(connection, read.tables, file)
            told = {f"view 'main.{name}' is not taken": f"view 'main.{name}' is taken to DuckDB only" for name in kept}
            taken = _written(replace(read, notes=tuple(told.get(note, note) for note in read.notes)), folder, "duckdb")
            if not kept:
                return taken
            (folder / _VIEWS).write_text("".join(f"{text}\n" for text in kept.values()), encoding="utf-8")
            return replace(taken, snapshot={**taken.snapshot, "scripts": {"duckdb": [_VIEWS]}})


def _files(folder: Path) -> list[Path]:
    """Return the tables' files of a folder, by name, or the one file that is meant."""
    if folder.is_file():
        return [folder]
    return sorted(file for file in folder.iterdir() if _is_table(file) and file.is_file())


def _is_table(file: Path) -> bool:
    """Return whether a file's name says that it holds a table."""
    return _form(file) in (*_CSV, *_PARQUET)


def _form(file: Path) -> str:
    """Return what kind of table a file's name says it holds; text may be packed."""
    inner = Path(file.stem).suffix.lower()
    return inner if file.suffix.lower() == ".gz" and inner in _CSV else file.suffix.lower()


def _table_name(file: Path) -> str:
    """Return the name of a file's table."""
    return file.stem if _form(file) == file.suffix.lower() else Path(file.stem).stem


def _chosen(wanted: Sequence[str], names: Sequence[str]) -> Sequence[str]:
    """Return the tables wanted, all where none are named.

    Raises: InputError for one that is not there.
    """
    missing = [name for name in wanted if name not in names]
    if missing:
        raise InputError(f"no table '{missing[0]}'", field="--tables", remedy=f"Tables: {', '.join(names)}")
    return wanted or names


def _whole(read: Sequence[_Read], notes: Sequence[str] = ()) -> _Read:
    """Return several readings as one."""
    return _Read(
        tuple(table for one in read for table in one.tables),
        {name: rows for one in read for name, rows in one.rows.items()},
        (*notes, *(note for one in read for note in one.notes)),
    )


def _written(read: _Read, folder: Path, dialect: str) -> Taken:
    """Write the tables into the pack and return what it is to say of them."""
    count = write_tables(folder, read.tables, lambda table: read.rows[table.name]())
    names = tuple(table.name for table in read.tables)
    return Taken(dialect, {"schema": "schema.yaml", "data": "data"}, names, count, read.notes)


def _of_csv(file: Path) -> _Read:
    """Return a CSV file's table: each column is what all of its cells spell."""
    table = read_table(file, exact=True)
    columns, fields, told = [], [], []
    for name in table.columns:
        cells = [row.cells.get(name) for row in table.rows]
        kind, values = spelled(cells)
        if kind is Kind.INT and any(isinstance(value, int) and not -(2**63) <= value < 2**63 for value in values):
            kind = Kind.TEXT
        zoned = {value.tzinfo is not None for value in values if isinstance(value, datetime)}
        kind = Kind.TIMESTAMPTZ if zoned == {True} else Kind.TEXT if len(zoned) == 2 else kind
        column, kept = _column(name, kind, values)
        columns.append(column)
        spelling = cells if kept is Kind.TEXT else [cell or None for cell in cells]
        fields.append(spelling if kept is not Kind.BOOL else [cell and cell.lower() for cell in spelling])
        told.append(f"{name} {kept}")
    rows = list(zip(*fields, strict=True)) if fields else []
    definition = TableDef(_table_name(file), tuple(columns))
    return _Read((definition,), {_table_name(file): lambda: rows}, (f"{file.name}: {', '.join(told)}",))


def _column(name: str, kind: Kind, values: Sequence[object]) -> tuple[ColumnDef, Kind]:
    """Return a column of a CSV file; decimals have the digits of their values, and are floats where they have more."""
    if kind is not Kind.DECIMAL:
        return ColumnDef(name, kind), kind
    parts = [value.as_tuple() for value in values if isinstance(value, Decimal)]
    scale = max((-part.exponent for part in parts if isinstance(part.exponent, int)), default=0)
    whole = max((len(part.digits) + part.exponent for part in parts if isinstance(part.exponent, int)), default=0)
    precision = max(whole, 1) + max(scale, 0)
    if precision > _DIGITS:
        return ColumnDef(name, Kind.FLOAT64), Kind.FLOAT64
    return ColumnDef(name, kind, precision=precision, scale=max(scale, 0)), kind


def _of_parquet(file: Path) -> _Read:
    """Return a Parquet file's table."""
    path = str(file).replace("'", "''")
    source = f"read_parquet('{path}')"

    def rows() -> Iterator[tuple[str | None, ...]]:
        """Yield the file's rows, over a connection of their own."""
        with _duckdb(file, ":memory:") as connection:
            yield from _asked(connection, _table_name(file), source, file).rows[_table_name(file)]()

    with _duckdb(file, ":memory:") as connection:
        read = _asked(connection, _table_name(file), source, file)
    return _Read(read.tables, {_table_name(file): rows}, read.notes)


@contextmanager
def _duckdb(file: Path, database: str) -> Iterator[Any]:
    """Give a connection of DuckDB; its errors are told as the file's.

    Raises: InputError where DuckDB is not installed, or whatever it says of the file.
    """
    try:
        import duckdb
    except ImportError:
        remedy = "pip install 'sqlassay[duckdb]'"
        raise InputError("reading it needs DuckDB", file=file, remedy=remedy) from None
    try:
        with duckdb.connect(database, read_only=database != ":memory:") as connection:
            yield connection
    except duckdb.Error as error:
        raise InputError(f"cannot be read: {str(error).splitlines()[0]}", file=file, remedy="Check the file") from None


def _asked(connection: Any, name: str, source: str, file: Path) -> _Read:
    """Return one table of DuckDB's, with every cell as our CSV files spell it; `source` is quoted already."""
    columns, asked, notes = [], [], []
    described = connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()  # noqa: S608 (quoted)
    for column, declared, null, *_ in described:
        defined, cell, told = _carried(connection, source, column, str(declared))
        columns.append(replace(defined, nullable=null != "NO"))
        asked.append(f"CAST({cell} AS VARCHAR)")
        if told:
            notes.append(f"column '{name}.{column}' ({declared}) is taken as {told}")
    if not columns:
        raise InputError("it has no column", file=file, remedy="Name one that holds data")
    statement = f"SELECT {', '.join(asked)} FROM {source}"  # noqa: S608 (names are quoted)

    def rows() -> Iterator[tuple[str | None, ...]]:
        """Yield the rows in batches."""
        found = connection.execute(statement)
        while batch := found.fetchmany(_BATCH):
            yield from batch

    return _Read((TableDef(name, tuple(columns)),), {name: rows}, tuple(notes))


def _carried(connection: Any, source: str, column: str, declared: str) -> tuple[ColumnDef, str, str]:
    """Return what a column of DuckDB's becomes, the SQL of its cells, and what is told where it is another type."""
    name = _quoted(column)
    elements = _LIST.fullmatch(declared)
    if declared.startswith("DECIMAL(") and not elements:
        precision, scale = (int(digits) for digits in declared[8:-1].split(","))
        return ColumnDef(column, Kind.DECIMAL, precision=precision, scale=scale), name, ""
    if kind := _KINDS.get(declared):
        return ColumnDef(column, kind), _TEXT.get(kind, "{}").format(name), ""
    if declared == "TIMESTAMP_NS" and _all(connection, source, f"epoch_ns({name}) % 1000 = 0"):
        return ColumnDef(column, Kind.TIMESTAMP), name, ""
    if declared in _WIDE:
        precision, scale = _WIDE[declared]
        if _all(connection, source, f"{name} BETWEEN -9223372036854775808 AND 9223372036854775807"):
            return ColumnDef(column, Kind.INT), name, "int, as all of its values are"
        if _all(connection, source, f"{name} IS NULL OR TRY_CAST({name} AS DECIMAL({precision}, {scale})) IS NOT NULL"):
            return ColumnDef(column, Kind.DECIMAL, precision=precision, scale=scale), name, "decimal"
    if elements and (element := _KINDS.get(elements[1])) and element not in _NO_ELEMENTS:
        # Floats as text: JSON has no NaN.
        cells = name if element in (Kind.INT, Kind.BOOL, Kind.TEXT) else f"CAST({name} AS VARCHAR[])"
        return ColumnDef(column, Kind.ARRAY), _TEXT[Kind.ARRAY].format(cells), "an array of text"
    return ColumnDef(column, Kind.TEXT), name, "text"


def _all(connection: Any, source: str, condition: str) -> bool:
    """Return whether a condition holds in every row in which it is not NULL."""
    (found,) = connection.execute(f"SELECT bool_and({condition}) FROM {source}").fetchone()  # noqa: S608 (quoted)
    return found is not False


def _kept_views(connection: Any, tables: Sequence[TableDef], file: Path) -> Mapping[str, str]:
    """Return the views of the schema `main` that can be made over the tables as they are taken, in such an order."""
    waiting = dict(
        connection.execute(
            "SELECT view_name, sql FROM duckdb_views() WHERE NOT internal AND schema_name = 'main' "
            "AND database_name = current_database() ORDER BY view_name"
        ).fetchall()
    )
    kept: dict[str, str] = {}
    with _duckdb(file, ":memory:") as empty:
        empty.execute("SET enable_external_access = false")
        for table in tables:
            spelled = ", ".join(f"{_quoted(column.name)} {sql_type(column)}" for column in table.columns)
            empty.execute(f"CREATE TABLE {_quoted(table.name)} ({spelled})")
        # A view may stand on another: as long as one more can be made, those left are tried again.
        while made := [name for name, text in waiting.items() if _runs(empty, text)]:
            kept |= {name: waiting.pop(name) for name in made}
    return kept


def _runs(connection: Any, statement: str) -> bool:
    """Return whether DuckDB takes a statement."""
    import duckdb

    try:
        connection.execute(statement)
    except duckdb.Error:
        return False
    return True


def _quoted(name: str) -> str:
    """Return a name as DuckDB takes any."""
    return '"' + name.replace('"', '""') + '"'
