"""A SQLite file as a source: copied as it is."""

from __future__ import annotations

import shutil
from pathlib import Path

from sqlassay.cases.errors import InputError
from sqlassay.cases.paths import asks
from sqlassay.cases.sources.sqlite_file import sqlite_content
from sqlassay.harness.taking.contract import Taken

_MAGIC = b"SQLite format 3\0"


class SqliteFile:
    """Takes a SQLite database file."""

    name = "a SQLite file"

    def recognises(self, source: str) -> bool:
        """Return whether the file begins as SQLite's do."""
        path = Path(source)
        if not asks(path.is_file):
            return False
        try:
            with path.open("rb") as stream:
                return stream.read(len(_MAGIC)) == _MAGIC
        except OSError:
            return False

    def speaks(self, source: str) -> str:  # noqa: ARG002 (the contract's)
        """Return SQLite's."""
        return "sqlite"

    def take(self, source: str, folder: Path, *, tables: tuple[str, ...] = ()) -> Taken:
        """Copy the file.

        Raises:
            InputError: a damaged file, one without tables, or tables named: the file is taken whole.
        """
        if tables:
            raise InputError("a file is taken whole", field="--tables", remedy="Leave --tables out")
        path = Path(source)
        content = sqlite_content(path)
        if not content.tables:
            raise InputError("the database has no table", file=path, remedy="Name one that holds data")
        shutil.copyfile(path, folder / "data.sqlite")
        names = tuple(table.name for table in content.tables)
        return Taken("sqlite", {"sqlite": "data.sqlite"}, names, notes=content.notes)
