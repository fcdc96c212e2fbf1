"""The data a case is asked of, before any engine holds it: table definitions, rows, scripts and one digest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from cases.relation import Kind, Row


@dataclass(frozen=True, slots=True)
class ColumnDef:
    """A column of our own schema: kind plus the sizes an engine may need."""

    name: str
    kind: Kind
    nullable: bool = True
    length: int | None = None
    precision: int | None = None
    scale: int | None = None
    comment: str = ""


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """A reference to another table; recorded, enforced only where the source asks for it."""

    columns: tuple[str, ...]
    table: str
    references: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TableDef:
    """A table of our own schema."""

    name: str
    columns: tuple[ColumnDef, ...]
    primary_key: tuple[str, ...] = ()
    unique: tuple[tuple[str, ...], ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    indexes: tuple[tuple[str, ...], ...] = ()


class RowSource(Protocol):
    """Gives the rows of a table, in a fixed order, as often as asked."""

    def rows(self, table: str) -> Iterator[Row]:
        """Yield each row of `table` as a tuple in column order."""
        ...


@runtime_checkable
class PlacedRows(Protocol):
    """A source that also knows where each of its rows is written."""

    def place(self, table: str, row: int) -> tuple[Path, int | None]:
        """Return the file and line of the row of that number, from 1."""
        ...


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One database's content. Either `tables` with `source`, or SQL `scripts` per dialect, or both (scripts last).

    `digest` is the sha256 of everything an engine would load: it keys the image. `sqlite_file` is copied as is by
    the SQLite adapter. `notes` say what a source could not carry to every engine (views, dropped keys).
    `schema_file` is where the tables are defined, for errors. `functions` are those of the scripts that queries may
    call, as NAME or SCHEMA.NAME: the logins' rights, and so the digest, depend on them.
    """

    id: str
    database: str
    digest: str
    tables: tuple[TableDef, ...] = ()
    source: RowSource | None = None
    scripts: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)
    enforce_foreign_keys: bool = False
    sqlite_file: Path | None = None
    notes: tuple[str, ...] = ()
    schema_file: Path | None = None
    functions: tuple[str, ...] = ()
