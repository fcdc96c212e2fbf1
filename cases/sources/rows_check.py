"""Read every row of a pack's snapshots as a run would, so that a dry run refuses what the run would."""

from __future__ import annotations

from collections.abc import Iterable

from sqlassay.cases.errors import InputError
from sqlassay.cases.pack import Pack
from sqlassay.cases.relation import Row
from sqlassay.cases.snapshot import Snapshot, TableDef
from sqlassay.cases.sources.schema import row_fault

KEY_REMEDY = "Correct the row, or the table's key"


def check(pack: Pack) -> int:
    """Return how many rows the snapshots of a pack hold, each read and every key of it compared.

    Raises:
        InputError: a malformed record or value, or two rows with one key, as file:line:column.
    """
    return sum(_count(snapshot, table) for snapshot in pack.snapshots for table in snapshot.tables)


def _count(snapshot: Snapshot, table: TableDef) -> int:
    """Return the number of a table's rows, all of which were read."""
    if snapshot.source is None:
        return 0
    keys = KeyWatch(table)
    count = 0
    for row in snapshot.source.rows(table.name):
        count += 1
        if clash := keys.clash(row):
            raise key_fault(snapshot, table, count, clash)
    return count


class KeyWatch:
    """Remembers the keys of the rows that went by."""

    def __init__(self, table: TableDef) -> None:
        """Start with none."""
        names = [column.name for column in table.columns]
        listed = [key for key in (table.primary_key, *table.unique) if key]
        self._keys = [(key, [names.index(name) for name in key], set[tuple[object, ...]]()) for key in listed]

    def clash(self, row: Row) -> str | None:
        """Return what is wrong with a row's keys, or None; NULL equals nothing."""
        for key, places, seen in self._keys:
            value = tuple(row[place] for place in places)
            if None in value:
                continue
            if value in seen:
                return f"another row has {', '.join(key)} = {', '.join(str(part)[:40] for part in value)} already"
            seen.add(value)
        return None


def key_fault(snapshot: Snapshot, table: TableDef, row: int, clash: str) -> InputError:
    """Return the fault of a row whose key another row has."""
    return row_fault(snapshot, table.name, row, clash, KEY_REMEDY)


def first_clash(snapshot: Snapshot, table: TableDef, rows: Iterable[Row]) -> InputError | None:
    """Return the fault of the first row with a key that stands already, for an engine that names no row."""
    keys = KeyWatch(table)
    for number, row in enumerate(rows, start=1):
        if clash := keys.clash(row):
            return key_fault(snapshot, table, number, clash)
    return None
