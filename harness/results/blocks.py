"""What each SELECT of a text asks for, clause by clause: facts the shielded parser gives, without any tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Clause = Literal["where", "having", "on", "qualify"]
"""Where a condition stands."""


@dataclass(frozen=True, slots=True)
class Selected:
    """One output expression in normal form with its output name; `aggregate` where a call of an aggregate is in it."""

    sql: str
    name: str
    aggregate: bool


@dataclass(frozen=True, slots=True)
class Called:
    """One aggregate: its function, lower-cased, and argument in normal form (`*` for rows).

    `selected` says that it stands in the output of its SELECT, not only in HAVING or ORDER BY.
    """

    function: str
    column: str
    distinct: bool
    selected: bool


@dataclass(frozen=True, slots=True)
class Condition:
    """One conjunct as (lhs, op, rhs); what has no such form has op `or` or `other` and its parts in `rhs`.

    `literal` says that every value of `rhs` is a constant, which then stands without its quotes.
    """

    lhs: str
    op: str
    rhs: tuple[str, ...]
    literal: bool
    clause: Clause


@dataclass(frozen=True, slots=True)
class SortKey:
    """One ORDER BY key in normal form, ordinals and aliases resolved."""

    sql: str
    direction: Literal["asc", "desc"]
    aggregate: bool


@dataclass(frozen=True, slots=True)
class Block:
    """One SELECT: the outermost first, then the arms of a set operation, CTEs and nested queries.

    `sorted` and `limit` of the outermost are those of the whole text. `limited` where the row limit is no literal too.
    """

    outermost: bool
    selected: tuple[Selected, ...]
    called: tuple[Called, ...]
    conditions: tuple[Condition, ...]
    grouped: tuple[str, ...]
    sorted: tuple[SortKey, ...] = ()
    limit: int | None = None
    limited: bool = False
