"""What the parts of a rewrite ask of the one who writes: each part writes its own nodes and asks for the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from sqlglot import exp

from sqlassay.dialect_adapters.transpile.causes import Difference
from sqlassay.dialect_adapters.transpile.facts import Form, Out, SchemaFacts, Typed
from sqlassay.dialect_adapters.transpile.spelling import Spelling


@dataclass(slots=True)
class Grouping:
    """The select being written: its group keys as they are read, and what a column outside them takes."""

    keys: frozenset[str] = frozenset()
    grouped: bool = False
    extreme: exp.Anonymous | None = None
    inside: int = 0


class Pen(Protocol):
    """Writes any node; `group` is the SELECT being written, `spell` the target's own words."""

    spell: Spelling
    leave: frozenset[Difference]
    """The causes whose parts are left as they are written."""
    lenient: bool
    """Whether what cannot be written is left as it is."""
    unsaid: list[Difference]
    """What is known of the parts that could not be written."""
    groups: list[Grouping]
    by_letters: SchemaFacts | None
    """The tables' facts where the target by itself compares text without case."""

    @property
    def group(self) -> Grouping:
        """Return the SELECT being written."""
        ...

    def spend(self, size: int) -> None:
        """Count a part of this many characters; raises Refused where all parts together are too much."""
        ...

    def typed(self, node: exp.Expr) -> Typed:
        """Return the type the reading gave a node."""
        ...

    def query(self, node: exp.Expr, forms: Sequence[Form] | None = None) -> str:
        """Return a query."""
        ...

    def forms(self, node: exp.Expr) -> list[Form]:
        """Return the forms of a query's columns as they are written."""
        ...

    def form(self, node: exp.Expr) -> Form:
        """Return the form a projection is written in."""
        ...

    def sort_keys(self, key: exp.Expr) -> list[str]:
        """Return the keys that sort as one of SQLite's does."""
        ...

    def value(self, node: exp.Expr) -> Out:
        """Return an expression as the engine computes it."""
        ...

    def inside(self, node: exp.Expr) -> Out:
        """Return an expression whose columns may stand as they are: a group key, or an aggregate's argument."""
        ...

    def condition(self, node: exp.Expr, *, positive: bool = True) -> str:
        """Return an expression as a condition; `positive` where unknown and false mean the same."""
        ...

    def number(self, node: exp.Expr) -> str:
        """Return an expression as SQLite computes with it."""
        ...

    def as_number(self, out: Out) -> str:
        """Return a written value as a number."""
        ...

    def text(self, node: exp.Expr) -> str:
        """Return an expression as SQLite writes it as text."""
        ...

    def as_form(self, node: exp.Expr, form: Form) -> str:
        """Return an expression in a form that holds its values."""
        ...

    def real_literal(self, text: str) -> str:
        """Return a numeral as a number literal."""
        ...

    def date_text(self, moment: str, pattern: str) -> str:
        """Return a moment by a strftime pattern."""
        ...
