"""Sums kept beside a load and asked of the engine afterwards, so that no row or value is lost on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from math import isfinite

from cases.errors import InputError
from cases.relation import Kind, Row
from cases.snapshot import Snapshot, TableDef

_NUMERIC = frozenset({Kind.INT, Kind.DECIMAL, Kind.FLOAT64})
_TEXTUAL = frozenset({Kind.TEXT, Kind.BYTES})


def check_loadable(snapshot: Snapshot, dialect: str) -> None:
    """Refuse, before a server is asked, a snapshot that this dialect could only load in part.

    Raises:
        InputError: neither tables nor a script for the dialect, or an enforced reference to no table.
    """
    if not snapshot.tables and not snapshot.scripts.get(dialect):
        raise InputError(
            f"the snapshot has nothing to load into {dialect}",
            file=snapshot.id,
            remedy=f"Give it tables, or a script under scripts.{dialect}.",
        )
    known = {table.name for table in snapshot.tables}
    for table in snapshot.tables if snapshot.enforce_foreign_keys else ():
        if missing := [key.table for key in table.foreign_keys if key.table not in known]:
            raise InputError(
                f"table {table.name} refers to '{missing[0]}', which is no table of the snapshot",
                file=snapshot.id,
                remedy="Correct the reference, or do not enforce references.",
            )


class Tally:
    """Counts the rows of one table, and per column its values, their sum or their bytes."""

    def __init__(self, table: TableDef) -> None:
        """Start at zero."""
        self.table = table
        self.rows = 0
        self._filled = [0] * len(table.columns)
        self._sums = [Fraction(0)] * len(table.columns)
        self._exact = [True] * len(table.columns)

    def watch(self, rows: Iterator[Row]) -> Iterator[Row]:
        """Pass rows through, counting them."""
        for row in rows:
            self.rows += 1
            for index, cell in enumerate(row):
                if cell is not None:
                    self._filled[index] += 1
                    self._weigh(index, cell)
            yield row

    def question(self, target: str, quote: Callable[[str], str], text_bytes: str = "octet_length({})") -> str:
        """Return the SELECT that asks the engine for the same figures; `text_bytes` is how it counts a text's bytes."""
        parts = ["count(*)"]
        for column in self.table.columns:
            name = quote(column.name)
            parts.append(f"count({name})")
            if column.kind in _NUMERIC:
                parts.append(f"sum({name})")
            elif column.kind in _TEXTUAL:
                counted = text_bytes if column.kind is Kind.TEXT else "octet_length({})"
                parts.append(f"sum({counted.format(name)})")
        return f"SELECT {', '.join(parts)} FROM {target}"  # noqa: S608 - quoted identifiers of our own schema

    def difference(self, answer: Sequence[object]) -> str | None:
        """Return what differs between what was sent and what the engine holds, or None."""
        figures = iter(answer)
        held = next(figures)
        if held != self.rows:
            return f"{self.rows} rows were sent, {held} are held"
        for index, column in enumerate(self.table.columns):
            filled = next(figures)
            if filled != self._filled[index]:
                return f"column {column.name}: {self._filled[index]} values were sent, {filled} are held"
            if column.kind in _NUMERIC | _TEXTUAL and not self._agrees(index, column.kind, next(figures)):
                return f"column {column.name}: values changed on the way (checksum differs)"
        return None

    def _weigh(self, index: int, cell: object) -> None:
        """Add a cell to its column's sum; what has no finite sum ends the comparison of that column."""
        kind = self.table.columns[index].kind
        if kind in _TEXTUAL:
            self._sums[index] += len(cell if isinstance(cell, bytes) else str(cell).encode())
        elif kind in _NUMERIC:
            if isinstance(cell, (int, float, Decimal)) and isfinite(cell):
                self._sums[index] += Fraction(cell)
            else:
                self._exact[index] = False

    def _agrees(self, index: int, kind: Kind, held: object) -> bool:
        """Return whether the engine's sum is ours; floats may differ in the order of adding."""
        if not self._exact[index]:
            return True
        if held is None:
            return self._filled[index] == 0
        if not isinstance(held, (int, float, Decimal)) or not isfinite(held):
            return False
        ours = self._sums[index]
        if kind is Kind.FLOAT64:
            return abs(Fraction(held) - ours) <= Fraction(1, 10**6) * max(abs(ours), Fraction(self._filled[index]))
        return Fraction(held) == ours
