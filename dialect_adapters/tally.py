"""Sums kept beside a load and asked of the engine afterwards, so that no row or value is lost on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from math import inf, isfinite, log1p

from sqlassay.cases.errors import InputError
from sqlassay.cases.relation import Kind, Row
from sqlassay.cases.snapshot import Snapshot, TableDef

_EXACT = frozenset({Kind.INT, Kind.DECIMAL})
_TEXTUAL = frozenset({Kind.TEXT, Kind.BYTES})
_SUMMED = _EXACT | _TEXTUAL
_ROOMY = 28
"""Digits of a decimal whose sum, of any table there is, fits the 38 that the narrowest engine sums in."""
_EPSILON = 2.0**-52
# A plain sum of doubles depends on the order of adding: 1e17 takes a 3 along or loses it, and can pass any double.
# Of logarithms none is above 710, and a value changed by one part in a thousand weighs the same at every size.
_LOGARITHM = "sign({0}) * ln(1 + abs({0}))"


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
    """Counts the rows of one table, and per column its values, their sum or their bytes.

    Of floats, the least and the greatest stand beside a sum of logarithms, which every engine adds up alike.
    """

    def __init__(self, table: TableDef) -> None:
        """Start at zero."""
        self.table = table
        self.rows = 0
        self._filled = [0] * len(table.columns)
        self._sums = [Fraction(0)] * len(table.columns)
        self._exact = [True] * len(table.columns)
        self._floats = [_Floats() for _ in table.columns]

    def watch(self, rows: Iterator[Row]) -> Iterator[Row]:
        """Pass rows through, counting them."""
        for row in rows:
            self.rows += 1
            for index, cell in enumerate(row):
                if cell is not None:
                    self._filled[index] += 1
                    self._weigh(index, cell)
            yield row

    def question(
        self,
        target: str,
        quote: Callable[[str], str],
        text_bytes: str = "octet_length({})",
        wide_sum: str = "sum({})",
    ) -> str:
        """Return the SELECT that asks the engine for the same figures; `text_bytes` is how it counts a text's bytes.

        `wide_sum` is how it adds up decimals whose sum may pass its own: as text of three numbers, where the sum is
        the first times 10**18 and the second, divided by ten to the power of the third.
        """
        parts = ["count(*)"]
        for column in self.table.columns:
            name = quote(column.name)
            parts.append(f"count({name})")
            if column.kind in _EXACT:
                wide = column.kind is Kind.DECIMAL and (column.precision is None or column.precision > _ROOMY)
                parts.append((wide_sum if wide else "sum({})").format(name))
            elif column.kind is Kind.FLOAT64:
                parts.append(f"sum({_LOGARITHM.format(name)}), min({name}), max({name})")
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
            if column.kind is Kind.FLOAT64:
                agrees = self._floats[index].agrees(next(figures), next(figures), next(figures))
            else:
                agrees = column.kind not in _SUMMED or self._agrees(index, next(figures))
            if not agrees:
                return f"column {column.name}: values changed on the way (checksum differs)"
        return None

    def _weigh(self, index: int, cell: object) -> None:
        """Add a cell to its column's sum; what has no finite sum ends the comparison of that column."""
        kind = self.table.columns[index].kind
        if kind in _TEXTUAL:
            self._sums[index] += len(cell if isinstance(cell, bytes) else str(cell).encode())
        elif kind is Kind.FLOAT64:
            self._floats[index].add(cell)
        elif kind in _EXACT:
            if isinstance(cell, (int, float, Decimal)) and isfinite(cell):
                self._sums[index] += Fraction(cell)
            else:
                self._exact[index] = False

    def _agrees(self, index: int, held: object) -> bool:
        """Return whether the engine's sum is ours."""
        if not self._exact[index]:
            return True
        if held is None:
            return self._filled[index] == 0
        if isinstance(held, str):
            high, low, scale = (int(part) for part in held.split())
            return Fraction(high * 10**18 + low, 10**scale) == self._sums[index]
        return isinstance(held, (int, float, Decimal)) and isfinite(held) and Fraction(held) == self._sums[index]


class _Floats:
    """What is known of the floats of one column that were sent."""

    def __init__(self) -> None:
        """Start at none."""
        self._count = 0
        self._sum = self._size = 0.0
        self._least, self._greatest = inf, -inf
        self._finite = True

    def add(self, cell: object) -> None:
        """Take one value in; one that is no finite number ends the comparison."""
        try:
            value = float(cell) if isinstance(cell, (int, float, Decimal)) else inf
        except OverflowError:
            value = inf
        if not isfinite(value):
            self._finite = False
            return
        weight = log1p(abs(value))
        self._count += 1
        self._sum += weight if value > 0 else -weight
        self._size += weight
        self._least, self._greatest = min(self._least, value), max(self._greatest, value)

    def agrees(self, held: object, least: object, greatest: object) -> bool:
        """Return whether the engine's figures are ours, whatever the order in which each side added."""
        if not self._finite:
            return True
        if self._count == 0:
            return held is None
        # Each of both sums is off by at most count * epsilon / 2 of its terms' size, each term by a few epsilon.
        off = (self._count + 8) * _EPSILON * (self._size + self._count)
        return (
            _near(held, self._sum, off)
            and _near(least, self._least, abs(self._least) * _EPSILON)
            and _near(greatest, self._greatest, abs(self._greatest) * _EPSILON)
        )


def _near(held: object, ours: float, off: float) -> bool:
    """Return whether a figure of the engine's is a number at most so far from ours."""
    return isinstance(held, (int, float, Decimal)) and isfinite(held) and abs(float(held) - ours) <= off
