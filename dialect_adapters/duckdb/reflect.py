"""Read a DuckDB file's catalogue: tables, views and columns as the engine itself reports them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import duckdb

from sqlassay.cases.catalog import Catalog, CatalogColumn, CatalogTable
from sqlassay.cases.errors import InputError
from sqlassay.cases.settings import EngineSettings
from sqlassay.cases.snapshot import Snapshot
from sqlassay.dialect_adapters.ddl import metadata_of, schema_text
from sqlassay.dialect_adapters.duckdb.load import quoted, spelling, type_of
from sqlassay.dialect_adapters.duckdb.types import declared_kind

_TABLES = """
SELECT schema_name, table_name, false AS is_view, sql FROM duckdb_tables()
WHERE database_name = current_database() AND NOT internal AND NOT temporary
UNION ALL SELECT schema_name, view_name, true, sql FROM duckdb_views()
WHERE database_name = current_database() AND NOT internal AND NOT temporary
ORDER BY 3, 1, 2
"""
_COLUMNS = """
SELECT column_name, data_type, is_nullable FROM duckdb_columns()
WHERE database_name = current_database() AND schema_name = ? AND table_name = ? ORDER BY column_index
"""
_MAIN = "main"


def read_catalog(path: Path, snapshot: Snapshot) -> Catalog:
    """Return the catalogue of one database file.

    Raises:
        InputError: the file is damaged.
    """
    config: dict[str, str | bool | int | float | list[str]] = {"threads": 1, "async_threads": 0}
    try:
        with closing(duckdb.connect(str(path), read_only=True, config=config)) as db:
            found = db.execute(_TABLES).fetchall()
            tables = tuple(_table(db, str(schema), str(name), is_view=view) for schema, name, view, _ in found)
    except duckdb.Error as error:
        raise InputError(f"the database is damaged: {error}", file=snapshot.id, remedy="Repair its source") from error
    ours = {table.name for table in snapshot.tables}
    parts = [_own_ddl(snapshot)] if ours else []
    parts += [str(sql) for schema, name, _, sql in found if sql and not (schema == _MAIN and name in ours)]
    return Catalog(
        dialect="duckdb",
        snapshot=snapshot.id,
        database=snapshot.database,
        engine_version=duckdb.__version__,
        tables=tables,
        ddl="\n\n".join(parts),
        state_digest=file_digest(path),
        settings=EngineSettings(collation="BINARY", time_zone="UTC"),
    )


def file_digest(path: Path) -> str:
    """Return the sha256 of a file: a database that nobody writes is its bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _own_ddl(snapshot: Snapshot) -> str:
    """Return CREATE TABLE text of our own tables: their references are told though they may not be enforced."""
    ours = metadata_of(snapshot.tables, type_of, foreign_keys=True)
    return schema_text(ours, spelling(), [table.name for table in snapshot.tables])


def _table(db: duckdb.DuckDBPyConnection, schema: str, name: str, *, is_view: bool) -> CatalogTable:
    """Return one table with its columns and, where it is no view, its row count."""
    target = quoted(name) if schema == _MAIN else f"{quoted(schema)}.{quoted(name)}"
    counted = None if is_view else db.execute(f"SELECT count(*) FROM {target}").fetchone()  # noqa: S608 - quoted
    return CatalogTable(
        name=name,
        schema_name=None if schema == _MAIN else schema,
        is_view=is_view,
        rows=int(counted[0]) if counted else None,
        columns=tuple(_columns(db, schema, name)),
    )


def _columns(db: duckdb.DuckDBPyConnection, schema: str, name: str) -> Iterator[CatalogColumn]:
    """Yield a table's columns."""
    for column, declared, nullable in db.execute(_COLUMNS, [schema, name]).fetchall():
        kind = declared_kind(str(declared))
        yield CatalogColumn(name=str(column), kind=kind, declared=str(declared), nullable=bool(nullable))
