"""The database files of a worker: opened with every limit, copied where they are written, put right after a kill."""

from __future__ import annotations

import contextlib
import importlib
import os
import time
from pathlib import Path

import duckdb

SUFFIX = ".duckdb"
LOCK_SECONDS = 5.0
MOST_WARM = 8
_LOOK_SECONDS = 0.005
_FIRST = "SELECT count(*) AS n FROM duckdb_tables()"
_LOCKED = "Could not set lock"

SETTINGS = (
    "SET TimeZone='UTC'",
    "SET enable_external_access=false",
)
"""What holds besides the options a database is opened with; no file but the open one can be reached from here on."""


def options(memory: int, *, writes: bool) -> dict[str, str | bool | int | float | list[str]]:
    """Return what a database is opened with: one thread, no extension, nothing spilled to disk, a bound on memory."""
    return {
        "access_mode": "read_write" if writes else "read_only",
        "threads": 1,
        "async_threads": 0,
        "memory_limit": f"{memory}B",
        "temp_directory": "",
        "autoload_known_extensions": False,
        "autoinstall_known_extensions": False,
        "allow_community_extensions": False,
        "allow_extension_repositories": "forbidden",
        "allow_persistent_secrets": False,
        "python_enable_replacements": False,
    }


def connect(path: Path, memory: int, *, writes: bool) -> duckdb.DuckDBPyConnection:
    """Open one database file; a session that has just ended may hold its lock for a moment longer."""
    until = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            db = duckdb.connect(str(path), config=options(memory, writes=writes))
            break
        except duckdb.IOException as error:
            if _LOCKED not in str(error) or time.monotonic() > until:
                raise
            time.sleep(_LOOK_SECONDS)
    for setting in SETTINGS:
        db.execute(setting)
    return db


def locked(db: duckdb.DuckDBPyConnection, seconds: float) -> None:
    """Set the engine's own deadline and let no setting be changed any more."""
    db.execute(f"SET max_execution_time={max(1, int(seconds * 1000))}")
    db.execute("SET lock_configuration=true")


def stripped(path: Path, memory: int, visible: frozenset[str]) -> duckdb.DuckDBPyConnection:
    """Return a database in memory with what one file shows of its visible tables and views, and nothing else of it.

    The engine keeps no rights and asks nobody about a table, so what is not to be read must not be there.
    """
    db = duckdb.connect(":memory:", config=options(memory, writes=True))
    own = _quoted(path.name.removesuffix(SUFFIX))
    db.execute(f"ATTACH ':memory:' AS {own}")
    db.execute("ATTACH '{}' AS whole_of_it (READ_ONLY)".format(str(path).replace("'", "''")))
    listed = db.execute(
        "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = 'whole_of_it' AND NOT internal "
        "UNION ALL SELECT schema_name, view_name FROM duckdb_views() WHERE database_name = 'whole_of_it' "
        "AND NOT internal ORDER BY ALL"
    ).fetchall()
    for schema, name in listed:
        if name.lower() in visible:
            place = f"{_quoted(schema)}.{_quoted(name)}"
            db.execute(f"CREATE SCHEMA IF NOT EXISTS {own}.{_quoted(schema)}")
            db.execute(f"CREATE TABLE {own}.{place} AS FROM whole_of_it.{place}")
    db.execute(f"USE {own}")
    db.execute("DETACH whole_of_it")
    for setting in SETTINGS:
        db.execute(setting)
    return db


def _quoted(name: str) -> str:
    """Return an identifier quoted always."""
    return '"' + name.replace('"', '""') + '"'


def rehearse() -> None:
    """Have the engine build what it builds at its first statement, and Python load what its values are made of.

    A forked session finds it done: 15 of the 20 ms of a short statement's processor time.
    """
    for module in ("datetime", "decimal", "uuid"):
        importlib.import_module(module)
    duckdb.tokenize(_FIRST)
    with contextlib.closing(duckdb.connect(":memory:", config={"threads": 1, "async_threads": 0})) as db:
        db.extract_statements(_FIRST)  # never the module's own function: it has a connection with threads of its own


def rehearsed(db: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """Return a connection that has answered once and is in no transaction."""
    db.sql(_FIRST).fetchall()
    return db


class Warm:
    """Databases that the parent holds open for reading, so that a forked session does not open them again.

    They have one thread, so nothing of the engine is at work while the process forks; what the session then does to its
    copy of the connection stays in the session. The files never change: no parent of writers keeps any.
    """

    def __init__(self, memory: int) -> None:
        """Hold none yet; `memory` is what a session may use."""
        self._memory = memory
        self._held: dict[Path, duckdb.DuckDBPyConnection] = {}

    def held(self, path: Path) -> duckdb.DuckDBPyConnection | None:
        """Return the open database, opening it now; None where it cannot be, as the session itself will say."""
        if path in self._held:
            self._held[path] = self._held.pop(path)  # the last one used is the last to go
            return self._held[path]
        try:
            self._held[path] = rehearsed(connect(path, self._memory, writes=False))
        except duckdb.Error:
            return None
        while len(self._held) > MOST_WARM:
            self._held.pop(next(iter(self._held))).close()
        return self._held[path]


def recover(path: Path, memory: int) -> None:
    """Take over what a killed writer had committed but not yet written into the file itself."""
    if path.with_name(f"{path.name}.wal").exists():
        with contextlib.suppress(duckdb.Error), contextlib.closing(connect(path, memory, writes=True)) as db:
            db.execute("CHECKPOINT")


def copy_databases(source: Path, target: Path) -> None:
    """Copy every database of one folder into another, which becomes the private one that is written."""
    for path in sorted(source.glob(f"*{SUFFIX}")):
        with path.open("rb") as old, (target / path.name).open("wb") as new:
            while part := old.read(1 << 20):
                new.write(part)


def own_databases(folder: Path) -> None:
    """Make the copied databases writable for this user, whatever mode they had."""
    for path in folder.glob(f"*{SUFFIX}"):
        path.chmod(0o600)


def room(folder: Path) -> int:
    """Return the size of the file system that holds a folder: no file of it can be larger."""
    found = os.statvfs(folder)
    return found.f_blocks * found.f_frsize
