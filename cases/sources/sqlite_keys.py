"""The keys of a SQLite table that every engine can hold: primary, unique and foreign keys, and plain indexes."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlassay.cases.snapshot import ForeignKey
from sqlassay.cases.sources.sqlite_values import Storage


@dataclass(frozen=True, slots=True)
class Keys:
    """What was kept; `lengths` is the longest text of each text column in a key, as some engines need it."""

    primary_key: tuple[str, ...] = ()
    unique: tuple[tuple[str, ...], ...] = ()
    indexes: tuple[tuple[str, ...], ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    lengths: Mapping[str, int] = field(default_factory=dict)


def quoted(name: str) -> str:
    """Return an identifier in double quotes."""
    return '"' + name.replace('"', '""') + '"'


def read_keys(
    connection: sqlite3.Connection, table: str, primary: Sequence[str], storages: Mapping[str, Storage]
) -> tuple[Keys, list[str]]:
    """Return the keys of a table, and a note for a primary key that holds NULLs or several types."""
    notes: list[str] = []
    if any(storages[column].nulls or storages[column].mixed for column in primary):
        notes.append(f"primary key of '{table}' is dropped: it holds NULLs or several types")
        primary = ()
    unique, indexes = _indexes(connection, table, storages)
    used = {column for columns in (tuple(primary), *unique, *indexes) for column in columns}
    lengths = {column: _longest(connection, table, column) for column in sorted(used) if storages[column].texts}
    return Keys(tuple(primary), unique, indexes, _foreign_keys(connection, table, storages), lengths), notes


def _indexes(
    connection: sqlite3.Connection, table: str, storages: Mapping[str, Storage]
) -> tuple[tuple[tuple[str, ...], ...], tuple[tuple[str, ...], ...]]:
    """Return the unique and the other indexes over plain columns, whole tables only."""
    unique: list[tuple[str, ...]] = []
    plain: list[tuple[str, ...]] = []
    for _, name, is_unique, origin, partial in connection.execute(f"PRAGMA main.index_list({quoted(table)})"):
        names = [row[2] for row in connection.execute(f"PRAGMA main.index_info({quoted(name)})")]
        if origin == "pk" or partial or any(column not in storages for column in names):
            continue
        columns = tuple(names)
        clean = is_unique and not any(storages[column].mixed for column in columns)
        target = unique if clean else plain
        if columns not in target:
            target.append(columns)
    return tuple(reversed(unique)), tuple(reversed(plain))


def _longest(connection: sqlite3.Connection, table: str, column: str) -> int:
    """Return the number of characters of a column's longest value, at least 1."""
    query = f"SELECT MAX(LENGTH({quoted(column)})) FROM {quoted(table)} NOT INDEXED"  # noqa: S608
    return max(int(connection.execute(query).fetchone()[0] or 0), 1)


def _foreign_keys(
    connection: sqlite3.Connection, table: str, storages: Mapping[str, Storage]
) -> tuple[ForeignKey, ...]:
    """Return the foreign keys whose target exists; one without named columns means the target's primary key."""
    grouped: dict[int, list[tuple[str, str, str | None]]] = {}
    for number, _, target, own, there, *_ in connection.execute(f"PRAGMA main.foreign_key_list({quoted(table)})"):
        grouped.setdefault(number, []).append((target, own, there))
    keys = []
    for number in sorted(grouped, reverse=True):
        parts = grouped[number]
        info = list(connection.execute(f"PRAGMA main.table_xinfo({quoted(parts[0][0])})"))
        primary = [row[1] for row in sorted((row for row in info if row[5]), key=lambda row: row[5])]
        there = [part[2] or (primary[i] if i < len(primary) else None) for i, part in enumerate(parts)]
        spelled = {row[1].lower(): row[1] for row in info}
        found = [spelled.get(name.lower()) for name in there if name]
        own = {name.lower(): name for name in storages}
        if len(found) == len(parts) and all(found) and all(part[1].lower() in own for part in parts):
            columns = tuple(own[part[1].lower()] for part in parts)
            keys.append(ForeignKey(columns, parts[0][0], tuple(name for name in found if name)))
    return tuple(keys)
