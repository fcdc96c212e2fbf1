"""Write a snapshot as one DuckDB file: our own tables and rows, then its scripts; prove that nothing was lost."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from contextlib import closing
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

import duckdb
from sqlalchemy.dialects.postgresql.base import PGDialect
from sqlalchemy.types import UserDefinedType

from sqlassay.cases.errors import InputError
from sqlassay.cases.relation import Row
from sqlassay.cases.snapshot import ColumnDef, Snapshot, TableDef
from sqlassay.cases.sources.schema import row_fault
from sqlassay.dialect_adapters.confined_scripts import ScriptRefusedError, run_confined
from sqlassay.dialect_adapters.ddl import TableDdl, table_ddl
from sqlassay.dialect_adapters.duckdb import script_runner
from sqlassay.dialect_adapters.duckdb.types import handed, handed_type, sql_type
from sqlassay.dialect_adapters.names import NameRules, check_names, table_fault
from sqlassay.dialect_adapters.tally import Tally, check_loadable

NAMES = NameRules("DuckDB", None, "characters", lambda name: name.encode().lower().decode())
_CHUNK_ROWS = 20_000
_CHUNK_CELLS = 200_000
_TEXT_BYTES = "strlen({})"
# A sum of decimals has 38 digits, as the widest of them: their digits are added up as two whole numbers.
_DIGITS = "CAST(replace(CAST({} AS VARCHAR), '.', '') AS HUGEINT)"
_WIDE_SUM = (
    f"CAST(sum({_DIGITS} // 1000000000000000000) AS VARCHAR) || ' ' || "
    f"CAST(sum({_DIGITS} % 1000000000000000000) AS VARCHAR) || ' ' || "
    "CAST(max(strlen(split_part(CAST({} AS VARCHAR), '.', 2))) AS VARCHAR)"
).replace("{}", "{0}")
_NO_SPACE = "No space left on device"
_OPTIONS: dict[str, str | bool | int | float | list[str]] = {
    "threads": 1,
    "async_threads": 0,
    "temp_directory": "",
    "autoload_known_extensions": False,
    "autoinstall_known_extensions": False,
    "allow_persistent_secrets": False,
    "python_enable_replacements": False,
}


class EngineType(UserDefinedType[Any]):
    """A type that SQLAlchemy writes as we spell it."""

    cache_ok = True

    def __init__(self, spelled: str) -> None:
        """Keep the text."""
        self.spelled = spelled

    def get_col_spec(self, **_: Any) -> str:
        """Return the text."""
        return self.spelled


def type_of(column: ColumnDef, _: bool) -> EngineType:
    """Return a column's type as SQLAlchemy writes it."""
    return EngineType(sql_type(column))


def spelling() -> PGDialect:
    """Return what writes CREATE TABLE: DuckDB spells it as Postgres does."""
    return PGDialect()  # type: ignore[no-untyped-call]  # the library leaves its constructor untyped


def write_database(snapshot: Snapshot, target: Path) -> None:
    """Write `snapshot` as the DuckDB file `target`.

    Raises:
        InputError: something in it cannot be loaded, naming its file, table and row.
    """
    snapshot = snapshot.on("duckdb")
    check_loadable(snapshot, "duckdb")
    check_names(snapshot, NAMES)
    with closing(duckdb.connect(str(target), config=_OPTIONS)) as db:
        db.execute("SET TimeZone='UTC'")
        db.execute("SET enable_external_access=false")
        references = snapshot.enforce_foreign_keys
        tables = _ordered(snapshot) if references else snapshot.tables
        spelled = table_ddl(tables, type_of, spelling(), foreign_keys=references, inline=True)
        for table, ddl in zip(tables, spelled, strict=True):
            _load_table(db, snapshot, table, ddl)
        db.execute("CHECKPOINT")
    for script in snapshot.scripts.get("duckdb", ()):
        _run_script(target, script)


def _ordered(snapshot: Snapshot) -> tuple[TableDef, ...]:
    """Return the tables so that each comes after those it refers to: DuckDB adds no reference later.

    Raises:
        InputError: tables refer to each other in a ring.
    """
    by_name = {table.name: table for table in snapshot.tables}
    needs = {name: {key.table for key in table.foreign_keys} - {name} for name, table in by_name.items()}
    try:
        return tuple(by_name[name] for name in TopologicalSorter(needs).static_order())
    except CycleError as error:
        ring = " -> ".join(error.args[1])
        remedy = "Leave one of the references out, do not enforce them, or leave DuckDB out (--dialect)"
        raise table_fault(snapshot, error.args[1][0], f"its references form a ring: {ring}. {remedy}") from error


def _load_table(db: duckdb.DuckDBPyConnection, snapshot: Snapshot, table: TableDef, ddl: TableDdl) -> None:
    """Create one table, write its rows and compare counts and sums, then make its indexes."""
    _define(db, snapshot, table, ddl.create)
    if snapshot.source is not None:
        tally = Tally(table)
        _fill(db, snapshot, table, tally.watch(snapshot.source.rows(table.name)))
        answer = db.execute(tally.question(quoted(table.name), quoted, _TEXT_BYTES, _WIDE_SUM)).fetchone()
        if difference := tally.difference(answer or ()):
            message = f"table {table.name}: {difference}"
            raise row_fault(snapshot, table.name, None, message, "Correct the column's declared kind or size")
    for index in ddl.indexes:
        _define(db, snapshot, table, index)


def quoted(name: str) -> str:
    """Return an identifier quoted always, as a name may be a keyword."""
    return '"' + name.replace('"', '""') + '"'


def _define(db: duckdb.DuckDBPyConnection, snapshot: Snapshot, table: TableDef, statement: str) -> None:
    """Run a statement of the schema; a refusal is the schema's fault, a full disk is not."""
    try:
        db.execute(statement)
    except duckdb.Error as error:
        _check_disk(error)
        raise table_fault(snapshot, table.name, _said(error)) from error


def _fill(db: duckdb.DuckDBPyConnection, snapshot: Snapshot, table: TableDef, rows: Iterator[Row]) -> None:
    """Hand a table's rows over in lists of whole columns, which is a hundred times faster than row by row."""
    casts = ", ".join(
        f"CAST(unnest(${place}::{handed_type(column)}[]) AS {sql_type(column)})"
        for place, column in enumerate(table.columns, 1)
    )
    statement = f"INSERT INTO {quoted(table.name)} SELECT {casts}"  # noqa: S608 - quoted names and types of our own
    size = max(1, min(_CHUNK_ROWS, _CHUNK_CELLS // max(1, len(table.columns))))
    done = 0
    db.execute("BEGIN")
    for chunk in _chunks(rows, size):
        try:
            db.execute(statement, _columns(chunk))
        except (duckdb.Error, UnicodeEncodeError, OverflowError) as error:
            _check_disk(error)
            db.execute("ROLLBACK")
            raise _row_error(db, snapshot, table, statement, chunk, done, error) from error
        done += len(chunk)
    db.execute("COMMIT")


def _chunks(rows: Iterator[Row], size: int) -> Iterator[list[Row]]:
    """Yield rows in lists of at most so many."""
    chunk: list[Row] = []
    for row in rows:
        chunk.append(row)
        if len(chunk) == size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _columns(rows: Sequence[Row]) -> list[list[object]]:
    """Return rows as columns, as the engine takes them."""
    return [[handed(cell) for cell in column] for column in zip(*rows, strict=True)]


def _row_error(
    db: duckdb.DuckDBPyConnection,
    snapshot: Snapshot,
    table: TableDef,
    statement: str,
    chunk: Sequence[Row],
    done: int,
    error: Exception,
) -> InputError:
    """Return the error at its row's place, found by handing the rows over one by one; of the table where none fails."""
    remedy = "Correct the row, or the table's definition"
    for number, row in enumerate(chunk, done + 1):
        try:
            db.execute(statement, _columns([row]))
        except (duckdb.Error, UnicodeEncodeError, OverflowError) as found:
            return row_fault(snapshot, table.name, number, f"table {table.name}: {_said(found)}", remedy)
    return row_fault(snapshot, table.name, None, f"table {table.name}: {_said(error)}", remedy)


def _run_script(target: Path, script: Path) -> None:
    """Run one SQL script in a process of its own; it may not touch another file.

    Raises:
        InputError: the statement that failed, by line, or that no end was seen.
        OSError: the disk is full.
    """
    library = str(Path(duckdb.__file__).parent.parent)
    try:
        run_confined(script_runner.__file__, target, script, library=library)
    except ScriptRefusedError as error:
        _check_disk(error)
        message, remedy = f"the script failed: {_said(error)}", "Correct the statement"
        raise InputError(message, file=script, line=error.line, remedy=remedy) from error


def _said(error: Exception) -> str:
    """Return what the engine said, in one line, without its drawing of the statement."""
    return " ".join(str(error).split("\n\nLINE ", 1)[0].split())


def _check_disk(error: Exception) -> None:
    """Raise a disk that is full as what it is: no row is to blame."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        raise error
    if _NO_SPACE in str(error):
        raise OSError(errno.ENOSPC, _said(error)) from error
