"""Turn a live database into a pack that lacks nothing but its own questions."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from cases.errors import InputError
from cases.new_folder import new_folder
from cases.sources.csv_writing import write_tables
from dialect_adapters.registry import adapter, names
from dialect_adapters.taking import Takeable, live_database

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9.]*)(?:\+[A-Za-z0-9_]+)?://")
_SPELLED = {"postgresql": "postgres"}
_EXAMPLE = "How many rows does {table} have?"


@dataclass(frozen=True, slots=True)
class Taken:
    """What was read: how many tables and rows, and notes on what could not be carried."""

    tables: int
    rows: int
    notes: tuple[str, ...]


def take(uri: str, folder: Path, *, tables: tuple[str, ...] = ()) -> Taken:
    """Read a database into a new pack; the folder appears whole or not at all, and holds one question to start with.

    Raises:
        InputError: a URI of no engine that can be taken, a table that is not there, or a folder that is in use.
        InfrastructureError: the server does not answer, or the folder cannot be written.
    """
    dialect, engine = _engine(uri)
    with new_folder(folder) as draft, live_database(uri, engine.taking, tables=tables) as live:
        rows = write_tables(draft, live.tables, live.rows)
        _write_pack(draft, folder.name, dialect, live.tables[0].name)
        return Taken(len(live.tables), rows, live.notes)


def _engine(uri: str) -> tuple[str, Takeable]:
    """Return the dialect a URI is of and its adapter; the URI is never repeated, as it may hold a password."""
    scheme = _SCHEME.match(uri)
    word = scheme[1].lower() if scheme else ""
    dialect = _SPELLED.get(word, word)
    found = adapter(dialect) if dialect in names() else None
    if not isinstance(found, Takeable):
        message = f"no live database is taken from '{word}'" if word else "not a connection URI"
        remedy = "Write postgresql://… or mysql://…; a SQLite file is named in the pack as it is"
        raise InputError(message, field="--from", remedy=remedy)
    return dialect, found


def _write_pack(folder: Path, name: str, dialect: str, table: str) -> None:
    """Write the header and one first case over the data."""
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-.") or "taken"
    header = {
        "format": 1,
        "name": plain,
        "snapshots": {"data": {"schema": "schema.yaml", "data": "data"}},
        "cases": ["cases.jsonl"],
    }
    case = {
        "id": "first",
        "question": _EXAMPLE.format(table=table),
        "gold": {dialect: f"SELECT COUNT(*) FROM {table}"},  # noqa: S608 (text to start from, run by a reader)
    }
    (folder / "pack.yaml").write_text(json.dumps(header, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    (folder / "cases.jsonl").write_text(json.dumps(case, ensure_ascii=False) + "\n", encoding="utf-8")
