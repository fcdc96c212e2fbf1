"""The catalogue of a loaded database, as the engine itself reports it, through SQLAlchemy's inspector."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from sqlalchemy import Connection, Executable, Inspector, MetaData, func, inspect, select, table
from sqlalchemy import types as sql
from sqlalchemy.exc import CompileError, DBAPIError, SAWarning
from sqlalchemy.sql.elements import quoted_name

from sqlassay.cases.catalog import Catalog, CatalogColumn, CatalogRoutine, CatalogTable
from sqlassay.cases.relation import Kind, kind_of
from sqlassay.cases.settings import EngineSettings
from sqlassay.cases.snapshot import Snapshot
from sqlassay.dialect_adapters.ddl import TypeMap, as_written, metadata_of, schema_text
from sqlassay.dialect_adapters.routines import described

_KINDS: tuple[tuple[type[sql.TypeEngine[Any]], Kind], ...] = (
    (sql.Boolean, Kind.BOOL),
    (sql.Integer, Kind.INT),
    (sql.REAL, Kind.FLOAT32),
    (sql.Float, Kind.FLOAT64),
    (sql.Numeric, Kind.DECIMAL),
    (sql.JSON, Kind.JSON),
    (sql.Uuid, Kind.UUID),
    (sql.Enum, Kind.TEXT),
    (sql.CHAR, Kind.CHAR),
    (sql.String, Kind.TEXT),
    (sql.Date, Kind.DATE),
    (sql.Time, Kind.TIME),
    (sql.DateTime, Kind.TIMESTAMP),
    (sql.Interval, Kind.INTERVAL),
    (sql.LargeBinary, Kind.BYTES),
    (sql.BINARY, Kind.BYTES),
    (sql.VARBINARY, Kind.BYTES),
    (sql.ARRAY, Kind.ARRAY),
)
Spelled: TypeAlias = Mapping[tuple[str, str], Mapping[str, str]]
"""Each column's type as the engine itself spells it, by (schema, table) and column."""

_ZONED = {Kind.TIME: Kind.TIMETZ, Kind.TIMESTAMP: Kind.TIMESTAMPTZ}


def catalog_of(
    connection: Connection,
    snapshot: Snapshot,
    *,
    schemas: Sequence[str],
    database: str,
    engine_version: str,
    type_of: TypeMap,
    state_digest: str,
    settings: EngineSettings,
    routines: tuple[CatalogRoutine, ...] = (),
    spelled: Spelled,
    notes: tuple[str, ...] = (),
    named_kinds: Mapping[str, Kind] | None = None,
    unquoted: Callable[[str], str] = str,
) -> Catalog:
    """Return every table and view of the given schemas with columns, row counts and DDL, and the routines read before.

    A type that SQLAlchemy does not know is told as the engine has it in `spelled`; its kind is other.

    `named_kinds` says what this engine means by a type name where SQLAlchemy's classes do not tell, `unquoted` what a
    column is called where SQLAlchemy leaves its quotes doubled.
    """
    inspector = inspect(connection)
    read = _Reading(connection, inspector, named_kinds or {}, unquoted, spelled)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Did not recognize type", SAWarning)
        tables = tuple(table for schema in schemas for table in _tables(read, schema))
        told = _ddl(read, snapshot, schemas, type_of)
    return Catalog(
        dialect=connection.dialect.name.replace("postgresql", "postgres"),
        snapshot=snapshot.id,
        database=database,
        engine_version=engine_version,
        tables=tables,
        routines=routines,
        ddl="\n\n".join(part for part in (told, described(routines)) if part),
        state_digest=state_digest,
        settings=settings,
        notes=notes,
    )


@dataclass(frozen=True, slots=True)
class _Reading:
    """What reading one table needs: the connection, its inspector, and how this engine names things."""

    connection: Connection
    inspector: Inspector
    named: Mapping[str, Kind]
    unquoted: Callable[[str], str]
    spelled: Spelled

    def type(self, schema: str, table: str, column: str, declared: sql.TypeEngine[Any]) -> sql.TypeEngine[Any]:
        """Return a reflected type, one that SQLAlchemy cannot spell by the engine's own text."""
        try:
            declared.compile(dialect=as_written(self.connection.dialect))
        except CompileError:
            return AsSpelled(self.spelled.get((schema, table), {}).get(column, "other"), declared)
        return declared


def _tables(read: _Reading, schema: str) -> list[CatalogTable]:
    """Return the tables, then the views, of one schema in name order."""
    views = {*read.inspector.get_view_names(schema)}
    with contextlib.suppress(NotImplementedError):  # most engines have none
        views |= {*read.inspector.get_materialized_view_names(schema)}
    names = sorted({*read.inspector.get_table_names(schema)} - views)
    return [_table(read, schema, name, is_view=name in views) for name in [*names, *sorted(views)]]


def _table(read: _Reading, schema: str, name: str, *, is_view: bool) -> CatalogTable:
    """Return one table with its columns and its row count."""
    # Built, not written as text, in which a percent sign or a colon of a name would be read as a parameter.
    counted = select(func.count()).select_from(table(quoted_name(name, True), schema=quoted_name(schema, True)))
    columns = read.inspector.get_columns(name, schema)
    return CatalogTable(
        name=name,
        schema_name=schema,
        is_view=is_view,
        rows=_count(read, counted),
        columns=tuple(
            CatalogColumn(
                name=read.unquoted(column["name"]),
                kind=column_kind(column["type"], read.named),
                declared=_declared(read.connection, read.type(schema, name, column["name"], column["type"])),
                nullable=bool(column["nullable"]),
            )
            for column in columns
        ),
    )


def _count(read: _Reading, counted: Executable) -> int | None:
    """Return a table's or view's number of rows, None where it cannot be read, as a view that was never filled."""
    try:
        return int(read.connection.execute(counted).scalar_one())
    except DBAPIError as error:
        if error.connection_invalidated:
            raise
        return None  # these connections commit by themselves: what failed leaves no transaction behind


class AsSpelled(sql.UserDefinedType[object]):
    """A type by the engine's own text, for DDL that is read and never run."""

    cache_ok = True

    def __init__(self, text: str, declared: sql.TypeEngine[Any] | None = None) -> None:
        """Keep the text, and what SQLAlchemy made of it."""
        self.text = text
        self.declared = declared

    def get_col_spec(self, **_: object) -> str:
        """Return the text."""
        return self.text


def column_kind(declared: sql.TypeEngine[Any], named: Mapping[str, Kind]) -> Kind:
    """Return the kind of a reflected type."""
    if (name := type(declared).__name__.upper()) in named:
        return named[name]
    kind = next((kind for base, kind in _KINDS if isinstance(declared, base)), None)
    if kind is None:
        return kind_of(type(declared).__name__)
    return _ZONED.get(kind, kind) if getattr(declared, "timezone", False) else kind


def _declared(connection: Connection, declared: sql.TypeEngine[Any]) -> str:
    """Return a type as the engine spells it."""
    return str(declared.compile(dialect=as_written(connection.dialect))).split(" COLLATE ")[0]


def _ddl(read: _Reading, snapshot: Snapshot, schemas: Sequence[str], type_of: TypeMap) -> str:
    """Return CREATE TABLE text: ours where we defined the table (its references may be unenforced), else reflected."""
    ours = metadata_of(snapshot.tables, type_of, foreign_keys=True)
    connection = read.connection
    parts = [schema_text(ours, connection.dialect, [one.name for one in snapshot.tables])] if ours.tables else []
    inspector = read.inspector
    if all(name in ours.tables for schema in schemas for name in inspector.get_table_names(schema)):
        return "\n\n".join(parts)
    found = MetaData()
    default = schemas[0]
    for schema in schemas:
        found.reflect(bind=connection, schema=None if schema == default else schema)
    for one in found.tables.values():
        for column in one.columns:
            column.type = read.type(one.schema or default, one.name, column.name, column.type)
    others = [one.key for one in found.sorted_tables if one.name not in ours.tables]
    if others:
        parts.append(schema_text(found, connection.dialect, others))
    return "\n\n".join(parts)
