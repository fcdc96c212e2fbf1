"""Write a live database of MySQL's family down as a script of its own: tables as they are made there, rows, views."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import IO, Any

from sqlalchemy import text
from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError

from sqlassay.cases.counting import counted
from sqlassay.cases.settings import SQL_MODES, EngineSettings, split_modes
from sqlassay.dialect_adapters.mysql.digest import quoted
from sqlassay.dialect_adapters.taking import Native

_BYTES = frozenset({"binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob", "vector", "geometry", "point"})
_BYTES |= frozenset({"linestring", "polygon", "multipoint", "multilinestring", "multipolygon", "geomcollection"})
_BYTES |= frozenset({"geometrycollection"})
_NUMBERS = frozenset({"tinyint", "smallint", "mediumint", "int", "bigint", "decimal", "double", "year"})
_ESCAPES = str.maketrans({"\\": "\\\\", "'": "''", "\0": "\\0", "\n": "\\n", "\r": "\\r", "\x1a": "\\Z"})
_BATCH = 1_000
_ROWS = 200
_ZONE = re.compile(r"[+-]\d\d:\d\d|[A-Za-z]+/[A-Za-z_/+-]+|UTC")

_TABLES = (
    "SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY table_name"
)
_COLUMNS = (
    "SELECT column_name, data_type, generation_expression FROM information_schema.columns "
    "WHERE table_schema = DATABASE() AND table_name = :name ORDER BY ordinal_position"
)
_ROUTINES = (
    "SELECT routine_name, routine_type FROM information_schema.routines WHERE routine_schema = DATABASE() ORDER BY 1"
)
_TRIGGERS = (
    "SELECT trigger_name FROM information_schema.triggers WHERE trigger_schema = DATABASE() ORDER BY action_order, 1"
)
_EVENTS = "SELECT COUNT(*) FROM information_schema.events WHERE event_schema = DATABASE()"
_SETTINGS = "SELECT @@collation_database, @@global.sql_mode, @@global.time_zone, @@lower_case_table_names, @@version"
_HEAD = """SET NAMES utf8mb4;
SET time_zone = '+00:00';
SET foreign_key_checks = 0;
SET unique_checks = 0;
SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO';
"""


def write_native(connection: Connection, out: IO[bytes]) -> Native:
    """Write the whole database as a script, in the transaction that is open, and return what was found and lost."""
    found = connection.execute(text(_TABLES)).fetchall()
    tables = [str(name) for name, kind in found if kind == "BASE TABLE"]
    views = [str(name) for name, kind in found if kind == "VIEW"]
    notes = [f"not taken: {name} ({str(kind).lower()})" for name, kind in found if kind not in ("BASE TABLE", "VIEW")]
    out.write(_HEAD.encode())
    rows = 0
    for name in tables:
        out.write(f"{_shown(connection, 'TABLE', name)};\n".encode())
        rows += _rows(connection, name, out)
    routines = connection.execute(text(_ROUTINES)).fetchall()
    out.write(b"DELIMITER ;;\n")
    for name, kind in routines:
        made = _shown(connection, str(kind), str(name))
        if made:
            out.write(f"{made};;\n".encode())
        else:
            notes.append(f"not taken: {str(kind).lower()} {name}, whose text this login may not read")
    for view in _ordered(connection, views):
        out.write(f"{view};;\n".encode())
    for (name,) in connection.execute(text(_TRIGGERS)).fetchall():
        out.write(f"{_shown(connection, 'TRIGGER', str(name))};;\n".encode())
    out.write(b"DELIMITER ;\n")
    notes += _events(connection)
    settings, told = _settings(connection)
    return Native(tuple(tables), rows, settings, (*notes, *told))


def _events(connection: Connection) -> list[str]:
    """Return a line for events; a server whose scheduler is switched off may show none, and run none."""
    try:
        count = int(connection.execute(text(_EVENTS)).scalar_one())
    except DBAPIError:
        return []
    return [f"not taken: {counted(count, 'event')}"] if count else []


def _shown(connection: Connection, kind: str, name: str) -> str:
    """Return the statement that makes an object, as the server shows it; "" where it may not be shown."""
    asked = f"SHOW CREATE {kind} {quoted(name)}".replace(":", "\\:")
    row = connection.execute(text(asked)).mappings().one()
    found = next((row[key] for key in row if key.lower().startswith(("create ", "sql original"))), None)
    return str(found or "")


def _ordered(connection: Connection, views: Sequence[str]) -> Iterator[str]:
    """Yield each view's statement behind those of the views that it reads."""
    made = {name: _shown(connection, "VIEW", name) for name in views}
    reads = {name: {other for other in views if other != name and quoted(other) in made[name]} for name in views}
    done: set[str] = set()
    while len(done) < len(views):
        ready = [name for name in views if name not in done and reads[name] <= done]
        # A name may stand in a text that reads no view of it: then any order does.
        for name in ready or [one for one in views if one not in done]:
            yield made[name]
            done.add(name)


def _rows(connection: Connection, table: str, out: IO[bytes]) -> int:
    """Write a table's rows and return how many there were; what is generated is left to the server."""
    columns = [
        (str(name), str(kind).lower())
        for name, kind, generated in connection.execute(text(_COLUMNS), {"name": table}).fetchall()
        if not generated
    ]
    if not columns:
        return 0
    cells = ", ".join(_asked(quoted(name), kind) for name, kind in columns)
    head = f"INSERT INTO {quoted(table)} ({', '.join(quoted(name) for name, _ in columns)}) VALUES\n"  # noqa: S608
    asked = text(f"SELECT {cells} FROM {quoted(table)}".replace(":", "\\:"))  # noqa: S608 - quoted names
    found = connection.execute(asked.execution_options(stream_results=True, yield_per=_BATCH))
    count = 0
    lines: list[str] = []
    for row in found:
        lines.append("(" + ",".join(_written(cell, kind) for cell, (_, kind) in zip(row, columns, strict=True)) + ")")
        count += 1
        if len(lines) == _ROWS:
            out.write((head + ",\n".join(lines) + ";\n").encode())
            lines = []
    if lines:
        out.write((head + ",\n".join(lines) + ";\n").encode())
    return count


def _asked(column: str, kind: str) -> str:
    """Return how a column is asked for so that its text loses nothing."""
    if kind in _BYTES:
        return f"HEX({column})"
    if kind == "bit":
        return f"({column} + 0)"
    if kind == "float":  # by itself it is shown with six digits
        return f"CAST({column} + 0E0 AS CHAR)"
    return f"CAST({column} AS CHAR CHARACTER SET utf8mb4)"


def _written(cell: Any, kind: str) -> str:
    """Return a cell as a constant."""
    if cell is None:
        return "NULL"
    if kind in _BYTES:
        return f"X'{cell}'"
    if kind in ("bit", "float") or kind in _NUMBERS:
        return str(cell)
    return "'" + str(cell).translate(_ESCAPES) + "'"


def _settings(connection: Connection) -> tuple[EngineSettings, list[str]]:
    """Return the database's settings, and a line for what a sandbox is not given."""
    collation, mode, zone, folded, version = connection.execute(text(_SETTINGS)).one()
    modes = split_modes(str(mode))
    told = [f"sql_mode {one} is not taken: the guard could not read so" for one in modes if one not in SQL_MODES]
    if not _ZONE.fullmatch(str(zone)):
        told.append(f"time zone {zone} of the server's system is taken as UTC")
    if int(folded) == 0:
        told.append("lower_case_table_names is 0 there: a table's name in another case fails there and is found here")
    return (
        EngineSettings.model_construct(
            collation=str(collation),
            sql_mode=",".join(one for one in modes if one in SQL_MODES),
            time_zone=str(zone) if _ZONE.fullmatch(str(zone)) else None,
            lower_case_table_names=int(folded),
            version=str(version),
        ),
        told,
    )
