"""A live server as a source: its tables are read once, in one read-only transaction, as a schema with CSV rows."""

from __future__ import annotations

import re
from pathlib import Path

from cases.errors import InputError
from cases.sources.csv_writing import write_tables
from dialect_adapters.registry import adapter, names
from dialect_adapters.taking import Takeable, live_database
from harness.taking.contract import Taken

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9.]*)(?:\+[A-Za-z0-9_]+)?://")
_SPELLED = {"postgresql": "postgres"}


class LiveServer:
    """Takes the tables of a database that is in use."""

    name = "a live database (postgresql://…, mysql://…)"

    def recognises(self, source: str) -> bool:
        """Return whether it is written as a connection URI, of whatever engine."""
        return _SCHEME.match(source) is not None

    def speaks(self, source: str) -> str:
        """Return the server's own dialect."""
        return _engine(source)[0]

    def take(self, source: str, folder: Path, *, tables: tuple[str, ...] = ()) -> Taken:
        """Read the database into a schema file and CSV files.

        Raises:
            InputError: a URI of no engine that can be taken, or a table that is not there.
            InfrastructureError: the server does not answer.
        """
        dialect, engine = _engine(source)
        with live_database(source, engine.taking, tables=tables) as live:
            rows = write_tables(folder, live.tables, live.rows)
            found = tuple(table.name for table in live.tables)
            return Taken(dialect, {"schema": "schema.yaml", "data": "data"}, found, rows, live.notes)


def _engine(uri: str) -> tuple[str, Takeable]:
    """Return the dialect a URI is of and its adapter; the URI is never repeated, as it may hold a password."""
    scheme = _SCHEME.match(uri)
    word = scheme[1].lower() if scheme else ""
    dialect = _SPELLED.get(word, word)
    found = adapter(dialect) if dialect in names() else None
    if not isinstance(found, Takeable):
        message = f"no live database is taken from '{word}'" if word else "not a connection URI"
        remedy = "Write postgresql://… or mysql://…, or name a SQLite file by its path"
        raise InputError(message, field="--from", remedy=remedy)
    return dialect, found
