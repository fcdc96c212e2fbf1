"""Write a SQLite file anew with its rows in another order: new rowids, and no key that is one.

SQLite reads a table in rowid order. A column INTEGER PRIMARY KEY is the rowid, so in the copy it is declared INT:
the same affinity and uniqueness, with rows in the order they were written in.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from sqlassay.cases.errors import InputError
from sqlassay.cases.snapshot import Snapshot
from sqlassay.cases.sources.sqlite_bounds import Bounds
from sqlassay.cases.sources.sqlite_keys import quoted
from sqlassay.dialect_adapters.rearranged import RowOrder, rearranged_digest
from sqlassay.dialect_adapters.sqlite.load import write_database

_WORDS = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\]|--[^\n]*|/\*.*?\*/|\w+""", re.S)
_PLACES = ("rowid", "_rowid_", "oid")
_PRAGMAS = ("application_id", "user_version")


def rearranged_file(snapshot: Snapshot, order: RowOrder, seed: int, folder: Path) -> Snapshot | None:
    """Return the snapshot with a file of its own below `folder`; None where it holds what cannot be written again."""
    name = hashlib.sha256(f"{snapshot.id}\0{order}".encode()).hexdigest()[:16]
    stored, target = folder / f"{name}.stored", folder / f"{name}.sqlite"
    try:
        write_database(snapshot, stored)
        with closing(sqlite3.connect(target, isolation_level=None)) as new:
            bounds = Bounds(new, stored)
            try:
                _write(new, stored, order, seed)
            except sqlite3.Error as error:
                bounds.said(error)  # an interrupt goes on as one
                raise
    except (sqlite3.Error, InputError):  # a table module, a collation or a row that this SQLite has no way to write
        target.unlink(missing_ok=True)
        return None
    finally:
        stored.unlink(missing_ok=True)
    return replace(snapshot, sqlite_file=target, scripts={}, digest=rearranged_digest(snapshot, order, seed))


def _write(new: sqlite3.Connection, stored: Path, order: RowOrder, seed: int) -> None:
    """Make every table with its rows in this order, then what stands on the tables."""
    new.create_function("sqlassay_place", 2, lambda table, row: _place(seed, table, row), deterministic=True)
    with closing(sqlite3.connect(stored)) as old:
        (encoding,) = old.execute("PRAGMA encoding").fetchone()
    new.execute(f"PRAGMA encoding = '{encoding}'")
    for pragma in ("journal_mode=OFF", "synchronous=OFF", "trusted_schema=OFF", "ignore_check_constraints=ON"):
        new.execute(f"PRAGMA {pragma}")
    new.execute("ATTACH DATABASE ? AS stored", (str(stored),))
    for pragma in _PRAGMAS:
        (value,) = new.execute(f"PRAGMA stored.{pragma}").fetchone()
        new.execute(f"PRAGMA main.{pragma} = {value}")
    new.set_authorizer(_no_other_file)
    listed = new.execute("SELECT type, name, sql FROM stored.sqlite_master WHERE sql IS NOT NULL ORDER BY rowid")
    schema = [(kind, name, sql) for kind, name, sql in listed if not name.lower().startswith("sqlite_")]
    for kind, name, sql in schema:
        if kind == "table":
            new.execute(_without_rowid_key(new, name, sql))
            _fill(new, name, order)
    for kind, _, sql in schema:
        if kind != "table":
            new.execute(sql)


def _no_other_file(action: int, *_: object) -> int:
    """Authorize everything but another file: the schema's text is somebody else's."""
    return sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_ATTACH else sqlite3.SQLITE_OK


def _place(seed: int, table: object, row: object) -> bytes:
    """Return where a row comes in a seeded shuffle."""
    return hashlib.sha256(f"{seed}:{table}:{row}".encode()).digest()


def _without_rowid_key(db: sqlite3.Connection, table: str, sql: str) -> str:
    """Return CREATE TABLE with INT for INTEGER where the key would be the rowid, else as it is."""
    keys = [row for row in db.execute(f"PRAGMA stored.table_info({quoted(table)})") if row[5]]
    if len(keys) != 1 or str(keys[0][2]).upper() != "INTEGER":
        return sql
    return _WORDS.sub(_plain, sql)


def _plain(found: re.Match[str]) -> str:
    """Return one word of a definition as it stands in the copy."""
    word = found.group()
    return {"integer": "INT", "autoincrement": ""}.get(word.lower(), word)


def _fill(db: sqlite3.Connection, table: str, order: RowOrder) -> None:
    """Copy a table's rows in this order; one without rowids has the order of its key and no other."""
    info = list(db.execute(f"PRAGMA stored.table_xinfo({quoted(table)})"))
    names = [row[1] for row in info]
    columns = ", ".join(quoted(row[1]) for row in info if row[6] == 0)
    taken = {name.lower() for name in names}
    place = next((word for word in _usable(db, table) if word not in taken), None)
    sort = ""
    if place is not None:
        sort = f" ORDER BY {place} DESC" if order == "reversed" else f" ORDER BY sqlassay_place(?, {place})"
    values = (table,) if "?" in sort else ()
    rows = f"SELECT {columns} FROM stored.{quoted(table)}{sort}"  # noqa: S608 (the file's own names, quoted)
    db.execute(f"INSERT INTO main.{quoted(table)} ({columns}) {rows}", values)  # noqa: S608


def _usable(db: sqlite3.Connection, table: str) -> Iterator[str]:
    """Yield the names a table's rowid answers to; none where it has no rowid."""
    for name in _PLACES:
        try:
            db.execute(f"SELECT {name} FROM stored.{quoted(table)} LIMIT 0")  # noqa: S608 (a name of our own)
        except sqlite3.Error:
            continue
        yield name
