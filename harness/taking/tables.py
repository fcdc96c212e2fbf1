"""Tables in files as sources: a folder of CSV, TSV or Parquet files, and a DuckDB file, as a schema with CSV rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from cases.errors import InputError
from cases.frames import spelled
from cases.paths import asks
from cases.relation import Kind
from cases.snapshot import ColumnDef, TableDef
from cases.sources.csv_writing import Fields, write_tables
from cases.tables import read_table
from harness.taking.contract import Taken

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
    "TIMESTAMP": Kind.TIMESTAMP,
    "TIMESTAMP WITH TIME ZONE": Kind.TIMESTAMPTZ,
    "UUID": Kind.UUID,
    "JSON": Kind.JSON,
    "BLOB": Kind.BYTES,
}
_TEXT = {Kind.BYTES: "'\\x' || hex({})"}
_BATCH = 5_000

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
            read = [_asked(connection, name, _quoted(name), file) for name in here if name in wanted]
            return _written(_whole(read, notes), folder, "duckdb")


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
        fields.append(cells if kept is not Kind.BOOL else [None if cell is None else cell.lower() for cell in cells])
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
        kind = Kind.DECIMAL if str(declared).startswith("DECIMAL(") else _KINDS.get(str(declared))
        if kind is None:
            notes.append(f"column '{name}.{column}' ({declared}) is taken as text")
        digits = str(declared)[8:-1].split(",") if kind is Kind.DECIMAL else []
        precision, scale = (int(digits[0]), int(digits[1])) if digits else (None, None)
        columns.append(ColumnDef(column, kind or Kind.TEXT, null != "NO", None, precision, scale))
        asked.append(f"CAST({_TEXT.get(kind or Kind.TEXT, '{}').format(_quoted(column))} AS VARCHAR)")
    if not columns:
        raise InputError("it has no column", file=file, remedy="Name one that holds data")
    statement = f"SELECT {', '.join(asked)} FROM {source}"  # noqa: S608 (names are quoted)

    def rows() -> Iterator[tuple[str | None, ...]]:
        """Yield the rows in batches."""
        found = connection.execute(statement)
        while batch := found.fetchmany(_BATCH):
            yield from batch

    return _Read((TableDef(name, tuple(columns)),), {name: rows}, tuple(notes))


def _quoted(name: str) -> str:
    """Return a name as DuckDB takes any."""
    return '"' + name.replace('"', '""') + '"'
