"""Read a SQLite file's catalogue: tables, views and columns as the engine itself reports them."""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from sqlassay.cases.catalog import Catalog, CatalogColumn, CatalogTable
from sqlassay.cases.errors import InputError
from sqlassay.cases.relation import Kind, kind_of
from sqlassay.cases.settings import EngineSettings
from sqlassay.cases.sources.sqlite_bounds import Bounds

_AFFINITIES = (
    ("INT", Kind.INT),
    ("CHAR", Kind.TEXT),
    ("CLOB", Kind.TEXT),
    ("TEXT", Kind.TEXT),
    ("BLOB", Kind.BYTES),
    ("REAL", Kind.FLOAT64),
    ("FLOA", Kind.FLOAT64),
    ("DOUB", Kind.FLOAT64),
)


def read_catalog(path: Path, *, snapshot: str, database: str) -> Catalog:
    """Return the catalogue of one database file.

    Raises:
        InputError: the file is damaged.
    """
    name = str(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    with closing(sqlite3.connect(f"file:{name}?mode=ro&immutable=1", uri=True)) as db:
        bounds = Bounds(db, path)
        try:
            db.text_factory = lambda raw: raw.decode(errors="replace")
            tables = tuple(_tables(db, bounds))
            sql = db.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid").fetchall()
        except sqlite3.Error as error:
            message, remedy = f"the database is damaged: {bounds.said(error)}", "Repair the source file"
            raise InputError(message, file=snapshot, remedy=remedy) from error
    return Catalog(
        dialect="sqlite",
        snapshot=snapshot,
        database=database,
        engine_version=sqlite3.sqlite_version,
        tables=tables,
        ddl="\n\n".join(f"{text};" for (text,) in sql),
        state_digest=file_digest(path),
        settings=EngineSettings(collation="BINARY"),
    )


def file_digest(path: Path) -> str:
    """Return the sha256 of a file: an immutable database is its bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _tables(db: sqlite3.Connection, bounds: Bounds) -> Iterator[CatalogTable]:
    """Yield each table and view a reader can select from; a view that names what is gone is left out."""
    shadow = {str(row[1]) for row in db.execute("PRAGMA table_list") if row[2] == "shadow"}
    listed = db.execute("SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY rowid")
    for name, kind in listed.fetchall():
        if name.lower().startswith("sqlite_") or name in shadow:
            continue
        quoted = '"' + name.replace('"', '""') + '"'
        try:
            columns = tuple(_columns(db, quoted))
        except sqlite3.Error:
            if kind == "view":
                continue
            raise
        rows = None if kind == "view" else db.execute(f"SELECT count(*) FROM {quoted}").fetchone()[0]  # noqa: S608
        bounds.restart()
        yield CatalogTable(name=name, columns=columns, is_view=kind == "view", rows=rows)


def _columns(db: sqlite3.Connection, quoted: str) -> Iterator[CatalogColumn]:
    """Yield a table's columns, generated ones too; hidden columns of virtual tables are no data."""
    for _, name, declared, not_null, _, key, hidden in db.execute(f"PRAGMA table_xinfo({quoted})"):
        if hidden != 1:
            yield CatalogColumn(
                name=name, kind=declared_kind(declared or ""), declared=declared or "", nullable=not (not_null or key)
            )


def declared_kind(declared: str) -> Kind:
    """Return the kind a declared type names, else the one of its affinity."""
    kind = kind_of(re.split(r"[\s(]", declared.strip(), maxsplit=1)[0])
    if kind is not Kind.OTHER:
        return kind
    return next((kind for mark, kind in _AFFINITIES if mark in declared.upper()), Kind.OTHER)
