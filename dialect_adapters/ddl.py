"""Our schema to DDL for every engine: TableDefs become one SQLAlchemy MetaData, which each dialect spells."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from sqlalchemy import Column, ForeignKeyConstraint, Index, MetaData, PrimaryKeyConstraint, Table, UniqueConstraint
from sqlalchemy.engine.interfaces import Dialect
from sqlalchemy.schema import AddConstraint, CreateIndex, CreateTable
from sqlalchemy.types import TypeEngine

from sqlassay.cases.snapshot import ColumnDef, TableDef

TypeMap: TypeAlias = Callable[[ColumnDef, bool], TypeEngine[Any]]
"""A dialect's own choice of type for a column; the bool says whether the column is part of a key or an index."""


@dataclass(frozen=True, slots=True)
class TableDdl:
    """The statements of one table: `create` before the rows, `indexes` and `foreign_keys` after all rows."""

    name: str
    create: str
    indexes: tuple[str, ...] = ()
    foreign_keys: tuple[str, ...] = ()


def metadata_of(
    tables: Sequence[TableDef], type_of: TypeMap, *, foreign_keys: bool, quote: bool | None = None
) -> MetaData:
    """Return the tables as SQLAlchemy MetaData; foreign keys only where asked for.

    `quote` True quotes every name: no list of reserved words is complete. None reads better, for people and agents.
    """
    metadata = MetaData()
    known = {table.name for table in tables}
    for table in tables:
        built = Table(table.name, metadata, *_columns(table, type_of, quote), *_keys(table), quote=quote)
        for number, columns in enumerate(table.indexes):
            Index(_index_name(table.name, number), *(built.c[name] for name in columns))
    if foreign_keys:
        for table in tables:
            for key in table.foreign_keys:
                if key.table in known:
                    # Columns, not `table.column` texts: a name may hold dots.
                    targets = [metadata.tables[key.table].c[name] for name in key.references]
                    metadata.tables[table.name].append_constraint(ForeignKeyConstraint(key.columns, targets))
    return metadata


def table_ddl(
    tables: Sequence[TableDef], type_of: TypeMap, dialect: Dialect, *, foreign_keys: bool, inline: bool = False
) -> tuple[TableDdl, ...]:
    """Return each table's statements in the given order.

    With `inline` foreign keys stand inside CREATE TABLE (for engines that cannot add them later, and for reading).
    """
    metadata = metadata_of(tables, type_of, foreign_keys=foreign_keys, quote=True)
    dialect = as_written(dialect)
    return tuple(_spell(metadata.tables[table.name], dialect, inline=inline) for table in tables)


def schema_text(metadata: MetaData, dialect: Dialect, names: Sequence[str]) -> str:
    """Return the CREATE TABLE statements an agent reads, keys and references included, one table after another."""
    dialect = as_written(dialect)
    return "\n\n".join(_spell(metadata.tables[name], dialect, inline=True).create + ";" for name in names)


def as_written(dialect: Dialect) -> Dialect:
    """Return a dialect whose texts go to the engine as they are: where a driver formats them, `%` would be doubled."""
    plain = copy.copy(dialect)
    plain.paramstyle = "named"
    plain.identifier_preparer = plain.preparer(plain)
    return plain


def _index_name(table: str, number: int) -> str:
    """Return an index's name: within every engine's length, and of one table alone where names are per database."""
    suffix = hashlib.sha256(table.encode()).hexdigest()[:8]
    return f"ix_{table.encode()[:30].decode(errors='ignore')}_{suffix}_{number}"


def _columns(table: TableDef, type_of: TypeMap, quote: bool | None) -> list[Column[Any]]:
    """Return a table's columns; a column of a primary key is never nullable."""
    keyed = {name for key in (table.primary_key, *table.unique, *table.indexes) for name in key}
    keyed.update(name for key in table.foreign_keys for name in key.columns)
    return [
        Column(
            column.name,
            type_of(column, column.name in keyed),
            nullable=column.nullable and column.name not in table.primary_key,
            comment=column.comment or None,
            autoincrement=False,
            quote=quote,
        )
        for column in table.columns
    ]


def _keys(table: TableDef) -> list[PrimaryKeyConstraint | UniqueConstraint]:
    """Return a table's primary key and unique constraints."""
    primary = [PrimaryKeyConstraint(*table.primary_key)] if table.primary_key else []
    return [*primary, *(UniqueConstraint(*columns) for columns in table.unique)]


def _spell(table: Table, dialect: Dialect, *, inline: bool) -> TableDdl:
    """Return one table's statements as the dialect writes them."""
    references = sorted(table.foreign_key_constraints, key=lambda key: tuple(key.column_keys))
    shown = references if inline else []
    create = str(CreateTable(table, include_foreign_key_constraints=shown).compile(dialect=dialect)).strip()
    indexes = sorted(table.indexes, key=lambda index: index.name or "")
    return TableDdl(
        name=table.name,
        create=create.replace("\t", "  ").replace(" \n", "\n"),
        indexes=tuple(str(CreateIndex(index).compile(dialect=dialect)).strip() for index in indexes),
        foreign_keys=()
        if inline
        else tuple(str(AddConstraint(key, isolate_from_table=False).compile(dialect=dialect)) for key in references),
    )
