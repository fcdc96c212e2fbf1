"""A live server as a source: its tables are read once, in one read-only transaction, as a schema with CSV rows."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import IO, Any, cast

from sqlassay.cases.errors import InputError
from sqlassay.cases.sources.csv_writing import write_tables
from sqlassay.dialect_adapters.registry import adapter, names
from sqlassay.dialect_adapters.taking import LiveDatabase, Native, Takeable, live_database
from sqlassay.harness.taking.contract import Taken

_SCRIPT = "database.sql.gz"
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
            snapshot: dict[str, Any] = {}
            rows = 0
            if live.tables:
                rows = write_tables(folder, live.tables, live.rows)
                snapshot = {"schema": "schema.yaml", "data": "data"}
            found = tuple(table.name for table in live.tables)
            native = None if tables else _native(live, folder)
            if native is None:
                return Taken(dialect, snapshot, found, rows, live.notes)
            settings = native.settings.model_dump(mode="json", exclude_none=True)
            snapshot |= {"scripts": {dialect: [_SCRIPT]}, "whole_scripts": True, "settings": {dialect: settings}}
            return Taken(dialect, snapshot, native.tables, native.rows, (*native.notes, *live.notes))


def _native(live: LiveDatabase, folder: Path) -> Native | None:
    """Write the database as a script for its own engine, types, keys and views as they are there.

    Raises:
        InputError: it has no table.
    """
    with gzip.open(folder / _SCRIPT, "wb", compresslevel=5) as out:
        native = live.write_native(cast("IO[bytes]", out))
    if native is None:
        (folder / _SCRIPT).unlink()
    elif not native.tables:
        raise InputError("the database has no table", field="--from", remedy="Name one that holds data")
    return native


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
