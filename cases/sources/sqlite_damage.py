"""Find where a SQLite file is damaged: the engine reads on past some damage and answers with other rows.

A constraint that the rows do not keep is the owner's affair: NULL in a NOT NULL column was once let in, and is data.
A page that nothing uses changes no answer. What cannot be checked here, as a collation is missing, is not damage.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from typing import Literal

from sqlassay.cases.sources.sqlite_keys import quoted

Check = Literal["quick_check", "integrity_check"]
"""`quick_check` looks at every page and row, `integrity_check` also looks each row up in every index, which is slow."""

REMEDY = "Restore it from a whole copy, or save what can be read: sqlite3 {0} .recover | sqlite3 whole.sqlite"

_MOST = 10_000
_OF_PAGES = "*** in database"
_OF_INDEXES = re.compile(
    r"missing from index|wrong # of entries in index|values differ from index|"
    r"not in PRIMARY KEY order|not at end-of-record"
)
_HARMLESS = re.compile(r"^Fragmentation of|never used|^(Main )?[Ff]reelist: (size|free-page count)")


def find_damage(connection: sqlite3.Connection, check: Check) -> str | None:
    """Return the first thing wrong with the file's pages, or with an index, in SQLite's words; None where it is whole.

    Raises:
        sqlite3.Error: the file cannot be read at all, or its bounds are passed.
    """
    connection.execute("PRAGMA ignore_check_constraints = ON")
    try:
        return _first(connection, f"PRAGMA main.{check}({_MOST})")
    except sqlite3.OperationalError as error:
        if not _of_schema(error):
            raise
    # One definition that this SQLite cannot follow ends the check of the whole file: table by table the rest goes on.
    tables = connection.execute("SELECT name FROM main.sqlite_schema WHERE type = 'table' ORDER BY rowid").fetchall()
    for (name,) in tables:
        try:
            found = _first(connection, f"PRAGMA main.{check}({quoted(name)})")
        except sqlite3.OperationalError as error:
            if not _of_schema(error):
                raise
        else:
            if found is not None:
                return found
    return None


def _first(connection: sqlite3.Connection, pragma: str) -> str | None:
    """Return the first finding of one check that is damage."""
    return next((line for (text,) in connection.execute(pragma) for line in _damage(str(text))), None)


def _damage(text: str) -> Iterator[str]:
    """Yield the lines of one finding that tell of damage."""
    if text.startswith(_OF_PAGES):
        yield from (line for line in text.split("\n")[1:] if line and not _HARMLESS.search(line))
    elif _OF_INDEXES.search(text):
        yield text


def _of_schema(error: sqlite3.Error) -> bool:
    """Return True where a definition cannot be followed: a collation, a function or a module that is not here."""
    return error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_ERROR
