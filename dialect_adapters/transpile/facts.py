"""What a rewrite must know of the data: which storage classes a column holds, and how it was loaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from sqlassay.cases.relation import Kind

INTEGER = frozenset("i")
REAL = frozenset("r")
NUMBER = frozenset("ir")
TEXT = frozenset("t")
BLOB = frozenset("b")
NOTHING: frozenset[str] = frozenset()


class Affinity(StrEnum):
    """SQLite's column affinities; NONE is BLOB affinity, and what most expressions have."""

    INTEGER = "integer"
    REAL = "real"
    NUMERIC = "numeric"
    TEXT = "text"
    NONE = "none"

    @property
    def numeric(self) -> bool:
        """Return whether text that looks like a number is stored as one."""
        return self in (Affinity.INTEGER, Affinity.REAL, Affinity.NUMERIC)


class Form(StrEnum):
    """What a value is in the target engine, whatever SQLite calls it."""

    INT = "int"
    REAL = "real"
    DECIMAL = "decimal"
    TEXT = "text"
    BOOL = "bool"
    BYTES = "bytes"
    NULL = "null"
    OTHER = "other"

    @property
    def number(self) -> bool:
        """Return whether the engine computes with it."""
        return self in (Form.INT, Form.REAL, Form.DECIMAL)


@dataclass(frozen=True, slots=True)
class Typed:
    """What is known of an expression: the storage classes its values may have (i, r, t, b), and its affinity.

    `either` says that the arms of a compound query give it several affinities: SQLite may take each row's own.
    """

    stores: frozenset[str]
    affinity: Affinity = Affinity.NONE
    nocase: bool = False
    either: bool = False


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """A column: its name as written, its declared affinity, what it stores, and the form its values need.

    `single` says that engines hold it in single precision.
    `held` is the kind it was loaded as where that is not the form's own: a date is read back as its text.
    """

    name: str
    typed: Typed
    form: Form
    held: Kind | None = None
    single: bool = False

    @property
    def mixed(self) -> bool:
        """Return whether numbers and texts meet in it, which every engine but SQLite holds as text."""
        return self.form is Form.TEXT and bool(self.typed.stores & NUMBER)


@dataclass(frozen=True, slots=True)
class SchemaFacts:
    """Every table's columns, in order, by lower-cased names; views are unknown to it."""

    tables: Mapping[str, tuple[ColumnFacts, ...]] = field(default_factory=dict)

    def columns(self, table: str) -> tuple[ColumnFacts, ...] | None:
        """Return a table's columns, None where there is no such table."""
        return self.tables.get(table.lower())


@dataclass(frozen=True, slots=True)
class Out:
    """A written expression and what it is in the target."""

    sql: str
    form: Form


class Refused(Exception):  # noqa: N818 (a decision with its reason, not a fault)
    """The statement cannot be written for the target so that it surely means the same; the text says why."""


def affinity_of(declared: str) -> Affinity:
    """Return the affinity of a declared type by SQLite's five rules (datatype3.html, section 3.1)."""
    word = declared.upper()
    if "INT" in word:
        return Affinity.INTEGER
    if any(part in word for part in ("CHAR", "CLOB", "TEXT")):
        return Affinity.TEXT
    if not word or "BLOB" in word:
        return Affinity.NONE
    if any(part in word for part in ("REAL", "FLOA", "DOUB")):
        return Affinity.REAL
    return Affinity.NUMERIC
