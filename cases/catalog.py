"""What a snapshot database holds, as the engine itself reports it after loading."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict

from sqlassay.cases.relation import Kind
from sqlassay.cases.settings import DEFAULTS, EngineSettings


class CatalogColumn(BaseModel):
    """A column as the engine declares it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    kind: Kind
    declared: str
    nullable: bool = True


class CatalogTable(BaseModel):
    """A table or view a reader may select from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    columns: tuple[CatalogColumn, ...]
    schema_name: str | None = None
    is_view: bool = False
    rows: int | None = None


class CatalogRoutine(BaseModel):
    """A function, procedure or trigger function of the snapshot's own, as the engine describes it.

    `allowed` says that the pack lets queries call it: the logins were given EXECUTE on it when the image was baked.
    `trigger` is a function that only triggers call, `extension` the one it belongs to, if any.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    kind: Literal["function", "procedure", "aggregate", "window", "trigger"]
    schema_name: str | None = None
    arguments: str = ""
    returns: str = ""
    language: str = ""
    volatility: str = ""
    data_access: str = ""
    security_definer: bool = False
    extension: str = ""
    allowed: bool = False

    @property
    def callable(self) -> bool:
        """Return whether a query can call it at all."""
        return self.kind in {"function", "aggregate", "window"}


class Catalog(BaseModel):
    """Every table and routine of one snapshot database; written beside its image, read by guard, parser and agents.

    Format 1 told of no routines: it is read as a database without any. `settings` are those that hold there,
    `notes` say what of its scripts was left out.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1, 2] = 2
    dialect: str
    snapshot: str
    database: str
    engine_version: str
    tables: tuple[CatalogTable, ...]
    routines: tuple[CatalogRoutine, ...] = ()
    ddl: str = ""
    state_digest: str = ""
    settings: EngineSettings = DEFAULTS
    notes: tuple[str, ...] = ()

    def ddl_of(self, visible: frozenset[str] | None) -> str:
        """Return the DDL of the visible tables and views (None: all), without a word of any other.

        A statement that names a hidden table beside the references, as a view's may, is told by its columns alone.
        """
        if visible is None:
            return self.ddl
        hidden = {table.name.lower() for table in self.tables} - visible
        parts = {_named(part): part for part in _STATEMENT.split(self.ddl)}
        told = [
            _told(parts.get(table.name.lower(), ""), table, hidden)
            for table in self.tables
            if table.name.lower() in visible
        ]
        notes = [line for line in self.ddl.splitlines() if line.startswith(("-- function ", "-- extension "))]
        return "\n\n".join([*told, *(["\n".join(notes)] if notes else [])])


_STATEMENT = re.compile(r"\n\n(?=CREATE\s|-- (?:function|extension) )", re.IGNORECASE)
_HEAD = re.compile(
    r"""\s*CREATE\s+(?:\w+\s+)*?(?:TABLE|VIEW)\s+(?:IF\s+NOT\s+EXISTS\s+)?
    (?:(?:"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|\w+)\s*\.\s*)?
    ("(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|[\w$]+)""",
    re.IGNORECASE | re.VERBOSE,
)


def _named(statement: str) -> str:
    """Return the table or view a CREATE statement makes, in lower case; "" where that cannot be read."""
    found = _HEAD.match(statement)
    if found is None:
        return ""
    name = found[1]
    for mark in '"`':
        if name.startswith(mark):
            name = name[1:-1].replace(mark * 2, mark)
    return name.strip("[]").lower()


def _told(statement: str, table: CatalogTable, hidden: set[str]) -> str:
    """Return a table's statement without its references to hidden tables, its columns alone where more is told."""
    lines = [line for line in statement.splitlines() if not ("references" in line.lower() and _names(line, hidden))]
    text = re.sub(r",(\s*\)\s*;?\s*)$", r"\1", "\n".join(lines))
    whole = bool(text) and not table.is_view and not _names(text, hidden)
    return text if whole else _plain(table)


def _names(text: str, hidden: set[str]) -> bool:
    """Return whether a text holds the name of a hidden table."""
    return any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE) for name in hidden)


def _plain(table: CatalogTable) -> str:
    """Return a statement that tells a table's columns as the engine declares them."""
    columns = ",\n".join(
        f'  "{column.name}" {column.declared or column.kind}{"" if column.nullable else " NOT NULL"}'
        for column in table.columns
    )
    return f'CREATE {"VIEW" if table.is_view else "TABLE"} "{table.name}" (\n{columns}\n);'


def settings_groups(catalogs: Sequence[Catalog]) -> tuple[tuple[EngineSettings, tuple[str, ...]], ...]:
    """Return every set of settings that holds among the databases, with its snapshots, in their order."""
    groups: dict[EngineSettings, list[str]] = {}
    for catalog in catalogs:
        groups.setdefault(catalog.settings, []).append(catalog.snapshot)
    return tuple((settings, tuple(names)) for settings, names in groups.items())


def settings_line(groups: Sequence[tuple[EngineSettings, Sequence[str]]]) -> str:
    """Return the settings in one line for a report; which snapshots are meant only where they differ."""
    if len(groups) == 1:
        return groups[0][0].told
    return "; ".join(f"{_few(names)}: {settings.told}" for settings, names in groups)


def _few(names: Sequence[str]) -> str:
    """Return the first names and how many more there are."""
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"{', '.join(names[:3])}{more}"
