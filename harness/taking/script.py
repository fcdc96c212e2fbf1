"""A dump as a source: what pg_dump (also -Fc, -Ft), mysqldump, mariadb-dump or SQLite's shell wrote, also by gzip."""

from __future__ import annotations

import gzip
import re
import shutil
import zlib
from pathlib import Path
from typing import IO, cast

from cases.errors import InputError
from cases.paths import asks
from cases.sources.archives import is_archive
from cases.sources.scripts import script_text
from harness.taking.contract import Taken

_LOOK = 65_536
_MARKS = (
    ("postgres", re.compile(rb"(?m)^-- PostgreSQL database (cluster )?dump")),
    ("mariadb", re.compile(rb"(?m)^(/\*M?!999999.*\n)?-- MariaDB dump ")),
    ("mysql", re.compile(rb"(?m)^-- MySQL dump ")),
    ("sqlite", re.compile(rb"\A\s*(PRAGMA foreign_keys=OFF;\s*)?BEGIN TRANSACTION;")),
)
_TABLE = re.compile(r"(?im)^\s*CREATE TABLE (?:IF NOT EXISTS )?([^\s(]+(?:\s*\.\s*[^\s(]+)?)")


class Script:
    """Takes a dump as a script of its own engine."""

    name = "a dump of pg_dump (plain, -Fc, -Ft), mysqldump, mariadb-dump or SQLite's .dump, also .gz"

    def recognises(self, source: str) -> bool:
        """Return whether the file begins as one of these dumps does."""
        return _dialect(Path(source)) is not None

    def speaks(self, source: str) -> str:
        """Return the dialect of the tool that wrote the dump."""
        return _dialect(Path(source)) or "sqlite"

    def take(self, source: str, folder: Path, *, tables: tuple[str, ...] = ()) -> Taken:
        """Copy the dump as it is: scripts are read in all of these forms.

        Raises:
            InputError: an unreadable file, one without tables, or tables named: a dump is taken whole.
        """
        path = Path(source)
        dialect = _dialect(path)
        if tables:
            raise InputError("a dump is taken whole", field="--tables", remedy="Leave --tables out")
        if dialect is None:
            raise InputError("not a dump that is known here", file=path, remedy="Name the file that the tool wrote")
        names = tuple(dict.fromkeys(_TABLE.findall(script_text(path))))
        if not names:
            raise InputError("the dump makes no table", file=path, remedy="Dump schema and data, not the data alone")
        shutil.copyfile(path, folder / "data.sql")
        return Taken(dialect, {"scripts": {dialect: ["data.sql"]}}, names)


def _opened(path: Path) -> IO[bytes]:
    """Open a dump, unpacked where it is packed."""
    with path.open("rb") as stream:
        packed = stream.read(2) == b"\x1f\x8b"
    return cast("IO[bytes]", gzip.open(path)) if packed else path.open("rb")


def _dialect(path: Path) -> str | None:
    """Return whose dump a file is, None where it is none; never raises."""
    if not asks(path.is_file):
        return None
    try:
        with _opened(path) as stream:
            head = stream.read(_LOOK)
    except (OSError, EOFError, zlib.error):
        return None
    if is_archive(head[:16]):
        return "postgres"
    return next((dialect for dialect, mark in _MARKS if mark.search(head)), None)
