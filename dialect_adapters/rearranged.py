"""The same data stored in another order: what a query gives then is decided by its text alone, or it is not."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from sqlassay.cases.relation import Row
from sqlassay.cases.snapshot import RowSource, Snapshot

RowOrder = Literal["reversed", "shuffled"]
ORDERS: tuple[RowOrder, ...] = ("reversed", "shuffled")
"""The physical orders besides the stored one: last row first flips every pair, a seeded shuffle mixes the rest."""

_VERSION = "1"


@runtime_checkable
class Rearranging(Protocol):
    """An adapter whose engine stores rows in an order of its own unless its files are written for that."""

    def rearranged(self, snapshot: Snapshot, order: RowOrder, seed: int, folder: Path) -> Snapshot | None:
        """Return the snapshot with its rows stored in another order, below `folder`; None where that cannot be."""
        ...


@dataclass(frozen=True, slots=True)
class _Rearranged:
    """A source of the same rows in another order; tables in `kept` come as they are."""

    source: RowSource
    order: RowOrder
    seed: int
    kept: frozenset[str]

    def rows(self, table: str) -> Iterator[Row]:
        """Yield the rows of a table in this order, the same one each time."""
        if table in self.kept:
            yield from self.source.rows(table)
            return
        rows = list(self.source.rows(table))
        if self.order == "reversed":
            rows.reverse()
        else:
            random.Random(f"{self.seed}:{table}").shuffle(rows)  # noqa: S311 (an order, no secret)
        yield from rows


def rearranged(snapshot: Snapshot, order: RowOrder, seed: int) -> Snapshot | None:
    """Return the snapshot whose rows are loaded in another order; None where only its scripts know the rows.

    A table whose enforced references point at itself is loaded as it is: a row may need one before it.
    """
    if snapshot.source is None or not snapshot.tables:
        return None
    own = (table.name for table in snapshot.tables if any(key.table == table.name for key in table.foreign_keys))
    kept = frozenset(own) if snapshot.enforce_foreign_keys else frozenset()
    source = _Rearranged(snapshot.source, order, seed, kept)
    return replace(snapshot, source=source, sqlite_file=None, digest=rearranged_digest(snapshot, order, seed))


def rearranged_digest(snapshot: Snapshot, order: RowOrder, seed: int) -> str:
    """Return the digest of a snapshot in another order; the seed counts only where it decides."""
    chosen = str(seed) if order == "shuffled" else ""
    return hashlib.sha256("\0".join((snapshot.digest, order, chosen, _VERSION)).encode()).hexdigest()
