"""The facts of a snapshot's columns: counted in its SQLite file, or as its own schema declares them."""

from __future__ import annotations

from functools import lru_cache

from sqlassay.cases.relation import Kind
from sqlassay.cases.snapshot import ColumnDef, Snapshot
from sqlassay.cases.sources.sqlite_declared import BY_TYPE
from sqlassay.cases.sources.sqlite_file import SqliteColumn, sqlite_columns
from sqlassay.dialect_adapters.transpile.facts import (
    INTEGER,
    NOTHING,
    REAL,
    TEXT,
    Affinity,
    ColumnFacts,
    Form,
    SchemaFacts,
    Typed,
    affinity_of,
)

_FORMS = {Kind.INT: Form.INT, Kind.FLOAT64: Form.REAL, Kind.TEXT: Form.TEXT, Kind.BYTES: Form.BYTES}
_DECLARED: dict[Kind, tuple[frozenset[str], Affinity, Form]] = {
    Kind.INT: (INTEGER, Affinity.INTEGER, Form.INT),
    Kind.FLOAT32: (REAL, Affinity.REAL, Form.REAL),
    Kind.FLOAT64: (REAL, Affinity.REAL, Form.REAL),
    Kind.BOOL: (INTEGER, Affinity.NUMERIC, Form.BOOL),
    Kind.TEXT: (TEXT, Affinity.TEXT, Form.TEXT),
}


@lru_cache(maxsize=256)
def _by_digest(digest: str, holder: Held) -> SchemaFacts:
    """Return a snapshot's facts, once for each content."""
    del digest
    return _facts(holder.snapshot)


class Held:
    """A snapshot on its way through the cache: equal to every other, as the digest alone is the key."""

    def __init__(self, snapshot: Snapshot) -> None:
        """Keep it."""
        self.snapshot = snapshot

    def __hash__(self) -> int:
        """Return one hash for all."""
        return 0

    def __eq__(self, other: object) -> bool:
        """Return True for every other."""
        return isinstance(other, Held)


def snapshot_facts(snapshot: Snapshot) -> SchemaFacts:
    """Return what rewriting knows of a snapshot's tables; those that only its scripts make are unknown."""
    return _by_digest(snapshot.digest, Held(snapshot))


def _facts(snapshot: Snapshot) -> SchemaFacts:
    """Return the facts of every table of the snapshot."""
    if snapshot.sqlite_file is not None:
        counted = sqlite_columns(snapshot.sqlite_file)
        held = {
            (table.name, column.name): column.kind
            for table in snapshot.tables
            for column in table.columns
            if column.kind in BY_TYPE
        }
        return SchemaFacts(
            {
                name.lower(): tuple(_counted(one, held.get((name, one.name))) for one in columns)
                for name, columns in counted.items()
            }
        )
    return SchemaFacts(
        {table.name.lower(): tuple(_declared(one) for one in table.columns) for table in snapshot.tables}
    )


def _counted(column: SqliteColumn, held: Kind | None) -> ColumnFacts:
    """Return the facts of a column whose values have been counted by storage class."""
    storage = column.storage
    counts = (("i", storage.integers), ("r", storage.reals), ("t", storage.texts), ("b", storage.blobs))
    stores = frozenset(letter for letter, count in counts if count)
    typed = Typed(stores, affinity_of(column.declared), column.nocase)
    return ColumnFacts(column.name, typed, _FORMS[column.kind], held)


def _declared(column: ColumnDef) -> ColumnFacts:
    """Return the facts of a column of our own schema; a kind that engines hold apart has no form to rewrite by."""
    stores, affinity, form = _DECLARED.get(column.kind, (NOTHING, Affinity.NONE, Form.OTHER))
    return ColumnFacts(column.name, Typed(stores, affinity), form, single=column.kind is Kind.FLOAT32)
