"""The database files of a worker: opened with every limit, copied where they are written, put right after a kill."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

import duckdb

SUFFIX = ".duckdb"
LOCK_SECONDS = 5.0
_LOOK_SECONDS = 0.005
_LOCKED = "Could not set lock"

SETTINGS = (
    "SET TimeZone='UTC'",
    "SET enable_external_access=false",
)
"""What holds besides the options a database is opened with; no file but the open one can be reached from here on."""


def options(memory: int, seconds: float, *, writes: bool) -> dict[str, str | bool | int | float | list[str]]:
    """Return what a database is opened with: one thread, no extension, nothing spilled to disk, a bound on memory."""
    return {
        "access_mode": "read_write" if writes else "read_only",
        "threads": 1,
        "async_threads": 0,
        "memory_limit": f"{memory}B",
        "temp_directory": "",
        "max_execution_time": max(1, int(seconds * 1000)),
        "autoload_known_extensions": False,
        "autoinstall_known_extensions": False,
        "allow_community_extensions": False,
        "allow_extension_repositories": "forbidden",
        "allow_persistent_secrets": False,
        "python_enable_replacements": False,
    }


def connect(path: Path, memory: int, seconds: float, *, writes: bool) -> duckdb.DuckDBPyConnection:
    """Open one database file; a session that has just ended may hold its lock for a moment longer."""
    until = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            db = duckdb.connect(str(path), config=options(memory, seconds, writes=writes))
            break
        except duckdb.IOException as error:
            if _LOCKED not in str(error) or time.monotonic() > until:
                raise
            time.sleep(_LOOK_SECONDS)
    for setting in SETTINGS:
        db.execute(setting)
    return db


def recover(path: Path, memory: int) -> None:
    """Take over what a killed writer had committed but not yet written into the file itself."""
    if path.with_name(f"{path.name}.wal").exists():
        with contextlib.suppress(duckdb.Error), contextlib.closing(connect(path, memory, 60.0, writes=True)) as db:
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
