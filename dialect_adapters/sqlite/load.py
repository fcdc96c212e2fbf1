"""Write a snapshot as one SQLite file: our own tables and rows, SQL scripts, or somebody's file as it is."""

from __future__ import annotations

import errno
import json
import math
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy import types
from sqlalchemy.dialects.sqlite.base import SQLiteDialect

from sqlassay.cases.errors import InputError
from sqlassay.cases.relation import FarTemporal, Interval, Json, Kind, Row
from sqlassay.cases.snapshot import ColumnDef, Snapshot, TableDef
from sqlassay.cases.sources.schema import row_fault
from sqlassay.cases.sources.sqlite_bounds import Bounds
from sqlassay.cases.sources.sqlite_damage import REMEDY, find_damage
from sqlassay.dialect_adapters.confined_scripts import ScriptRefusedError, run_confined
from sqlassay.dialect_adapters.ddl import table_ddl
from sqlassay.dialect_adapters.names import NameRules, check_names, table_fault
from sqlassay.dialect_adapters.sqlite import script_runner
from sqlassay.dialect_adapters.sqlite.worker.writing import ENFORCED

NAMES = NameRules(
    "SQLite",
    None,
    "characters",
    lambda name: name.encode().lower().decode(),
    ((re.compile("^sqlite_", re.I), "keeps names that begin with sqlite_"),),
)
_WAL_MARK = slice(18, 20)
_DISK_CODES = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)
_SQL_TYPES: dict[Kind, types.TypeEngine[Any]] = {
    Kind.BOOL: types.Boolean(),
    Kind.INT: types.Integer(),
    Kind.FLOAT32: types.REAL(),
    Kind.FLOAT64: types.REAL(),
    Kind.DATE: types.Date(),
    Kind.TIME: types.Time(),
    Kind.TIMESTAMP: types.TIMESTAMP(),
    Kind.TIMESTAMPTZ: types.TIMESTAMP(),
    Kind.BYTES: types.BLOB(),
}


def write_database(snapshot: Snapshot, target: Path) -> None:
    """Write `snapshot` as the SQLite file `target`.

    Raises:
        InputError: something in it cannot be loaded, naming its file, table and row.
    """
    if snapshot.sqlite_file is not None:
        copy_database(snapshot.sqlite_file, target)
        return
    snapshot = snapshot.on("sqlite")
    check_names(snapshot, NAMES)
    with closing(sqlite3.connect(target, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode=OFF")
        db.execute("PRAGMA synchronous=OFF")
        for table, ddl in zip(snapshot.tables, _ddl(snapshot), strict=True):
            _fill(db, snapshot, table, ddl.create)
            for index in ddl.indexes:
                _define(db, snapshot, table, index)
        for script in snapshot.scripts.get("sqlite", ()):
            _run_script(target, script)
        if snapshot.enforce_foreign_keys:
            _check_references(db, snapshot)
        if snapshot.enforce_foreign_keys or snapshot.scripts.get("sqlite"):
            db.execute(f"PRAGMA application_id={ENFORCED}")


def copy_database(source: Path, target: Path) -> None:
    """Copy a SQLite file byte for byte; one with a live journal or in WAL mode is copied through SQLite instead.

    Raises:
        InputError: the file is missing, no SQLite database, or damaged.
    """
    try:
        with source.open("rb") as stream:
            header = stream.read(100)
        if not header.startswith(b"SQLite format 3\x00"):
            raise InputError("this is no SQLite database", file=source, remedy="Give the path of a SQLite file")
        if header[_WAL_MARK] == b"\x01\x01" and not _has_journal(source):
            shutil.copyfile(source, target)
        else:
            with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(target)) as new:
                old.backup(new)
                new.execute("PRAGMA journal_mode=DELETE")
        damage = _damage(target)
    except (OSError, sqlite3.Error) as error:
        _check_disk(error)
        raise InputError(f"cannot copy the database: {error}", file=source, remedy="Check the file") from error
    if damage:
        raise InputError(f"it is damaged: {damage}", file=source, remedy=REMEDY.format(source.name))


def _damage(copy: Path) -> str | None:
    """Return what is wrong with a copy, its indexes too: a query that reads one gets other rows than from the table.

    An index so large that it is not looked through in time is taken as it is: its pages were checked on reading.
    """
    with closing(sqlite3.connect(f"{copy.resolve().as_uri()}?mode=ro&immutable=1", uri=True)) as db:
        db.text_factory = lambda raw: raw.decode(errors="replace")
        db.execute("PRAGMA trusted_schema = OFF")
        bounds = Bounds(db, copy)
        try:
            return find_damage(db, "integrity_check")
        except sqlite3.OperationalError as error:
            bounds.said(error)  # an interrupt goes on as one
            if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
                raise
            return None


def _has_journal(source: Path) -> bool:
    """Return True where the file alone is not the whole database."""
    beside = [source.with_name(source.name + suffix) for suffix in ("-wal", "-journal")]
    return any(path.exists() and path.stat().st_size for path in beside)


def _ddl(snapshot: Snapshot) -> Any:
    """Return each table's statements; references stand in CREATE TABLE, where SQLite records but does not enforce."""
    return table_ddl(snapshot.tables, _sql_type, SQLiteDialect(), foreign_keys=True, inline=True)


def _sql_type(column: ColumnDef, _: bool) -> types.TypeEngine[Any]:
    """Return the declared type whose affinity keeps the values as they are."""
    if column.kind is Kind.DECIMAL:
        return types.Numeric(column.precision, column.scale)
    if column.kind is Kind.CHAR:
        return types.CHAR(column.length)
    return _SQL_TYPES.get(column.kind, types.TEXT())


def _define(db: sqlite3.Connection, snapshot: Snapshot, table: TableDef, statement: str) -> None:
    """Run a statement of the schema; a refusal is the schema's fault, a full disk is not."""
    try:
        db.execute(statement)
    except sqlite3.Error as error:
        _check_disk(error)
        raise table_fault(snapshot, table.name, str(error)) from error


def _check_disk(error: Exception) -> None:
    """Raise a disk that is full or fails as what it is: no row is to blame."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in _DISK_CODES:
        raise OSError(errno.ENOSPC, str(error)) from error
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        raise error


def _fill(db: sqlite3.Connection, snapshot: Snapshot, table: TableDef, create: str) -> None:
    """Create one table, write all its rows in one transaction and count them."""
    _define(db, snapshot, table, create)
    if snapshot.source is None:
        return
    progress = _Progress()
    marks = ",".join("?" * len(table.columns))
    name = table.name.replace('"', '""')
    db.execute("BEGIN")
    try:
        rows = progress.counted(snapshot.source.rows(table.name))
        db.executemany(f'INSERT INTO "{name}" VALUES ({marks})', rows)  # noqa: S608 - the pack's own table name, quoted
    except (sqlite3.Error, OverflowError) as error:
        _check_disk(error)
        raise _row_error(snapshot, table, progress.count, str(error)) from error
    db.execute("COMMIT")
    (stored,) = db.execute(f'SELECT count(*) FROM "{name}"').fetchone()  # noqa: S608 - as above
    if stored != progress.count:
        raise _row_error(snapshot, table, progress.count, f"{stored} of {progress.count} rows were stored")


class _Progress:
    """Counts the rows that went in, so that an error names its row."""

    def __init__(self) -> None:
        """Start at none."""
        self.count = 0

    def counted(self, rows: Iterator[Row]) -> Iterator[tuple[object, ...]]:
        """Yield each row as SQLite stores it."""
        for row in rows:
            self.count += 1
            yield tuple(stored(cell) for cell in row)


def _row_error(snapshot: Snapshot, table: TableDef, row: int, message: str) -> InputError:
    """Return the error at the row's place in its file."""
    return row_fault(snapshot, table.name, row, message, "Correct the row, or the table's definition")


def stored(value: object) -> object:
    """Return a cell as SQLite stores it: numbers, text and blobs; temporal values as ISO text."""
    match value:
        case None | str() | bytes():
            return value
        case bool() | int():
            return int(value)
        case float():
            return "NaN" if math.isnan(value) else value  # SQLite would store NaN as NULL
        case Decimal():
            return int(value) if value == value.to_integral_value() and abs(value) < 2**63 else float(value)
        case datetime():
            return (value if value.tzinfo is None else value.astimezone(UTC)).isoformat(sep=" ")
        case date() | time():
            return value.isoformat()
        case Json() | FarTemporal():
            return value.text
        case UUID():
            return str(value)
        case timedelta():
            return f"{value / timedelta(microseconds=1):.0f} microseconds"
        case Interval():
            return f"{value.months} months {value.days} days {value.microseconds} microseconds"
        case tuple():
            return json.dumps([stored(cell) for cell in value], default=repr)
        case _:
            return str(value)


def _run_script(target: Path, script: Path) -> None:
    """Run one SQL script in a process of its own.

    Raises:
        InputError: the statement that failed, by line, or that no end was seen.
        OSError: the disk is full.
    """
    try:
        run_confined(script_runner.__file__, target, script)
    except ScriptRefusedError as error:
        if error.code & 0xFF in _DISK_CODES:
            raise OSError(errno.ENOSPC, str(error)) from error
        message, remedy = f"the script failed: {error}", "Correct the statement"
        raise InputError(message, file=script, line=error.line, remedy=remedy) from error


def _check_references(db: sqlite3.Connection, snapshot: Snapshot) -> None:
    """Refuse a snapshot with an orphan where the source asks for enforced references."""
    orphan = db.execute("PRAGMA foreign_key_check").fetchone()
    if orphan is not None:
        remedy = "Add the row it refers to, or do not enforce foreign keys"
        message = f"a row (rowid {orphan[1]}) refers to a missing row of '{orphan[2]}'"
        raise row_fault(snapshot, orphan[0], None, message, remedy)
