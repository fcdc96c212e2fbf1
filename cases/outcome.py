"""What running one statement gave: rows, a changed state, or a failure that is the statement's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from cases.relation import Relation
from cases.verdicts import FailureKind


@dataclass(frozen=True, slots=True)
class Rows:
    """A complete result and the seconds the engine took by the harness clock."""

    relation: Relation
    seconds: float


@dataclass(frozen=True, slots=True)
class Changed:
    """The state a DML or DDL statement left, as (table, relation) pairs, and the rows of its eval query."""

    state: tuple[tuple[str, Relation], ...]
    rows: Relation | None
    seconds: float


@dataclass(frozen=True, slots=True)
class Failure:
    """An agent's statement that gave no result: a value, never an exception."""

    kind: FailureKind
    message: str
    seconds: float = 0.0


Outcome: TypeAlias = Rows | Changed | Failure
