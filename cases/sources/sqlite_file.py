"""A SQLite file as a snapshot: copied as it is for SQLite, and read as typed tables for the other engines.

This opens the file read-only, runs only our own catalogue and SELECT statements, and trusts nothing in its schema.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from sqlassay.cases.errors import InputError
from sqlassay.cases.relation import Kind, Row
from sqlassay.cases.snapshot import ColumnDef, TableDef
from sqlassay.cases.sources.sqlite_bounds import Bounds
from sqlassay.cases.sources.sqlite_damage import REMEDY, find_damage
from sqlassay.cases.sources.sqlite_declared import BY_TYPE, Declared, declared_kind
from sqlassay.cases.sources.sqlite_keys import quoted, read_keys
from sqlassay.cases.sources.sqlite_values import Storage, choose_kind, to_kind

_MAGIC = b"SQLite format 3\0"
_CHUNK = 300


@dataclass(frozen=True, slots=True)
class SqliteContent:
    """What a SQLite file holds: typed tables, a source of their rows, a digest, and what could not be carried."""

    tables: tuple[TableDef, ...]
    source: SqliteSource
    digest: str
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SqliteColumn:
    """A column as SQLite has it: its declared type, how its values are stored, and the kind they are carried as."""

    name: str
    declared: str
    storage: Storage
    kind: Kind
    nocase: bool


@dataclass(frozen=True, slots=True)
class SqliteSource:
    """The rows of a SQLite file, converted to each column's chosen kind."""

    path: Path
    tables: tuple[TableDef, ...]

    def rows(self, table: str) -> Iterator[Row]:
        """Yield a table's rows in storage order.

        Raises:
            InputError: the file is damaged.
        """
        definition = next(found for found in self.tables if found.name == table)
        kinds = [column.kind for column in definition.columns]
        names = ", ".join(quoted(column.name) for column in definition.columns)
        with closing(_open(self.path)) as connection:
            bounds = Bounds(connection, self.path)
            try:
                for row in connection.execute(f"SELECT {names} FROM {quoted(table)} NOT INDEXED"):  # noqa: S608
                    yield tuple([to_kind(kind, value) for kind, value in zip(kinds, row, strict=True)])
                    bounds.restart()
            except sqlite3.Error as error:
                raise _damaged(self.path, bounds.said(error)) from None


def sqlite_content(path: Path, *, declared: bool = False) -> SqliteContent:
    """Read a SQLite file's tables and choose each column's kind from its values.

    With `declared`, a column is carried as the date, moment, boolean or decimal that it is declared to be, wherever
    every value of it is one.

    Raises:
        InputError: not a SQLite file, damaged, without tables, or with changes still in a write-ahead log.
    """
    digest = _check_file(path)
    with closing(_open(path)) as connection:
        bounds = Bounds(connection, path)
        try:
            if damage := find_damage(connection, "quick_check"):
                raise InputError(f"it is damaged: {damage}", file=path, remedy=REMEDY.format(path.name))
            bounds.restart()
            names, notes = _tables(connection)
            tables = []
            for name in names:
                table, dropped = _table(connection, name, by_type=declared)
                tables.append(table)
                notes += dropped
        except sqlite3.Error as error:
            raise _damaged(path, bounds.said(error)) from None
    if not tables:
        raise InputError("the SQLite file has no table", file=path, remedy="Name a file that holds data")
    defined = tuple(tables)
    # Left out where all types are chosen from values: the digest of every such snapshot stays what it was.
    by_type = any(column.kind in BY_TYPE for table in defined for column in table.columns)
    content = f"{digest} declared {defined!r}" if by_type else digest
    return SqliteContent(defined, SqliteSource(path, defined), content, tuple(notes))


def sqlite_columns(path: Path) -> dict[str, tuple[SqliteColumn, ...]]:
    """Return every ordinary table's columns with their storage classes counted.

    Raises:
        InputError: as `sqlite_content`.
    """
    _check_file(path)
    with closing(_open(path)) as connection:
        bounds = Bounds(connection, path)
        try:
            return {name: _columns(connection, name) for name in _tables(connection)[0]}
        except sqlite3.Error as error:
            raise _damaged(path, bounds.said(error)) from None


def _columns(connection: sqlite3.Connection, table: str) -> tuple[SqliteColumn, ...]:
    """Return one table's columns."""
    info = [row for row in connection.execute(f"PRAGMA main.table_xinfo({quoted(table)})") if row[6] != 1]
    storages = _storages(connection, table, [row[1] for row in info])
    return tuple(
        SqliteColumn(
            name,
            declared or "",
            storages[name],
            choose_kind(storages[name], declared or ""),
            _nocase(connection, table, name),
        )
        for _, name, declared, *_ in info
    )


def _nocase(connection: sqlite3.Connection, table: str, column: str) -> bool:
    """Return whether a column compares without case: no pragma says so, the program of a comparison does."""
    program = connection.execute(f"EXPLAIN SELECT {quoted(column)} = 'x' FROM {quoted(table)}")  # noqa: S608
    return any(str(step[5] or "").startswith("NOCASE") for step in program)


def _check_file(path: Path) -> str:
    """Return the file's sha256 after proving that it is a whole SQLite file."""
    log = path.with_name(path.name + "-wal")
    if log.exists() and log.stat().st_size:
        remedy = f"Run: sqlite3 {path.name} 'PRAGMA wal_checkpoint(TRUNCATE)'"
        raise InputError("changes are still in its write-ahead log", file=path, remedy=remedy)
    try:
        with path.open("rb") as stream:
            if stream.read(16) != _MAGIC:
                raise InputError("not a SQLite file", file=path, remedy="Name an unencrypted SQLite 3 database")
            stream.seek(0)
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path, remedy="Check the path") from None


def _open(path: Path) -> sqlite3.Connection:
    """Open the file so that nothing can be written and its schema can call no function of side effect."""
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)
    connection.text_factory = _text
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    return connection


def _text(data: bytes) -> str:
    r"""Decode text; bytes that are no UTF-8, and NUL, which two engines refuse, are spelled \xNN."""
    return data.decode("utf-8", errors="backslashreplace").replace("\0", "\\x00")


def _damaged(path: Path, said: str) -> InputError:
    """Turn the library's complaint into one clear line."""
    return InputError(f"SQLite cannot read it: {said}", file=path, remedy="Repair it or name another file")


def _tables(connection: sqlite3.Connection) -> tuple[list[str], list[str]]:
    """Return the ordinary tables in the order they were made, and a note for everything else."""
    listed = {row[1]: row[2] for row in connection.execute("PRAGMA main.table_list")}
    names: list[str] = []
    notes: list[str] = []
    query = "SELECT type, name, sql FROM main.sqlite_schema WHERE type IN ('table', 'view') ORDER BY rowid"
    for kind, name, sql in connection.execute(query):
        if name.lower().startswith("sqlite_"):
            continue
        virtual = str(sql or "").lstrip().upper().startswith("CREATE VIRTUAL")
        if kind == "view":
            notes.append(f"view '{name}' is carried to SQLite only")
        elif virtual or listed.get(name) in ("virtual", "shadow"):
            notes.append(f"virtual table '{name}' is carried to SQLite only")
        else:
            names.append(name)
    return names, notes


def _table(connection: sqlite3.Connection, name: str, *, by_type: bool) -> tuple[TableDef, list[str]]:
    """Return one table's definition and a note for each key that could not be kept."""
    info = [row for row in connection.execute(f"PRAGMA main.table_xinfo({quoted(name)})") if row[6] != 1]
    storages = _storages(connection, name, [row[1] for row in info])
    primary = {row[1]: row[5] for row in info if row[5]}
    keys, notes = read_keys(connection, name, sorted(primary, key=lambda column: primary[column]), storages)
    types = {row[1]: row[2] or "" for row in info}
    meant = {
        column: declared_kind(connection, name, column, types[column], storages[column]) if by_type else None
        for column in types
    }
    columns = tuple(
        _column(
            ColumnDef(
                column,
                choose_kind(storages[column], types[column]),
                nullable=storages[column].nulls > 0 or not (required or column in keys.primary_key),
                length=keys.lengths.get(column),
            ),
            meant[column],
        )
        for _, column, _, required, *_ in info
    )
    return TableDef(name, columns, keys.primary_key, keys.unique, keys.foreign_keys, keys.indexes), notes


def _column(column: ColumnDef, meant: Declared | None) -> ColumnDef:
    """Return a column as it is declared, else as its values have it."""
    if meant is None:
        return column
    return replace(column, kind=meant.kind, precision=meant.precision, scale=meant.scale, length=None)


def _storages(connection: sqlite3.Connection, table: str, columns: Sequence[str]) -> dict[str, Storage]:
    """Count how each column's values are stored, in one pass for every few hundred columns."""
    found: dict[str, Storage] = {}
    for start in range(0, len(columns), _CHUNK):
        part = columns[start : start + _CHUNK]
        sums = ", ".join(_counts(quoted(column)) for column in part)
        row = connection.execute(f"SELECT {sums} FROM {quoted(table)} NOT INDEXED").fetchone()  # noqa: S608
        for index, column in enumerate(part):
            found[column] = Storage(*(int(value or 0) for value in row[index * 6 : index * 6 + 6]))
    return found


def _counts(column: str) -> str:
    """Return the six sums of one column: integer, real, text, blob, NULL, and integers no float holds."""
    kinds = ("integer", "real", "text", "blob", "null")
    sums = [f"SUM(typeof({column}) = '{kind}')" for kind in kinds]
    wide = f"SUM(typeof({column}) = 'integer' AND ({column} > 9007199254740992 OR {column} < -9007199254740992))"
    return ", ".join([*sums, wide])
