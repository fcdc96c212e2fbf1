"""The data a case is asked of, before any engine holds it: table definitions, rows, scripts and one digest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol, runtime_checkable

from sqlassay.cases.relation import Kind, Row
from sqlassay.cases.settings import BINARY, DEFAULTS, EngineSettings

EVERY = "*"
"""Stands for every dialect among a snapshot's settings."""


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
    call, as NAME or SCHEMA.NAME: the logins' rights, and so the digest, depend on them. `settings` are what a pack asks
    of engines, by dialect or for every one; the digest covers them too, and `visible`: the tables, lower-cased, that
    predictions may read (None: all), for which engines make a login of their own. With `whole_scripts` an engine's
    scripts are all it loads.
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
    settings: Mapping[str, EngineSettings] = field(default_factory=dict)
    whole_scripts: bool = False
    visible: tuple[str, ...] | None = None

    def on(self, dialect: str) -> Snapshot:
        """Return what an engine loads: where its scripts hold all of the data, the tables are for the others."""
        if self.whole_scripts and self.scripts.get(dialect):
            return replace(self, tables=(), source=None)
        return self

    def settings_for(self, dialect: str) -> EngineSettings:
        """Return what an engine is to be set to: what the pack asks, else its own defaults.

        The rows of a SQLite file were written for an engine that compares bytes: without a word of the pack, another
        engine compares them so too, unless scripts of its own make the tables.
        """
        asked = self.settings.get(dialect, DEFAULTS)
        named = asked.collation or self.settings.get(EVERY, DEFAULTS).collation
        if named is None and self.sqlite_file is not None and not self.scripts.get(dialect):
            named = BINARY
        return asked.model_copy(update={"collation": named})
