"""What running one statement gave: rows, a changed state, or a failure that is the statement's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from sqlassay.cases.relation import Relation
from sqlassay.cases.verdicts import FailureKind


@dataclass(frozen=True, slots=True)
class Rows:
    """A complete result and the seconds the engine took by the harness clock."""

    relation: Relation
    seconds: float


@dataclass(frozen=True, slots=True)
class Failure:
    """An agent's statement that gave no result: a value, never an exception.

    `doubt` says why a timeout may not be the statement's: the server or this process stood still meanwhile.
    """

    kind: FailureKind
    message: str
    seconds: float = 0.0
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class TableState:
    """One part of a database's state: the rows of a table or view, or one aspect of the schema as a relation.

    `digest` is over the rows in any order. `relation` is None where the rows were not read: a large table as it was
    before the statement, one past the row limit, or a view that cannot be read (`failure` says why).
    """

    name: str
    part: Literal["table", "view", "schema"]
    rows: int
    digest: str
    relation: Relation | None = None
    failure: str | None = None

    @property
    def title(self) -> str:
        """Return how a reason names this part."""
        return self.name if self.part == "schema" else f"{self.part} {self.name}"


@dataclass(frozen=True, slots=True)
class Changed:
    """The state a DML or DDL statement left: every part, which of them differ from before, and its eval queries.

    `touched` are the titles of parts that differ from the state before the statement, dropped ones included.
    `known` are the tables and columns there were before it, once setup_sql had run.
    """

    state: tuple[TableState, ...]
    touched: tuple[str, ...]
    answers: tuple[Relation | Failure, ...]
    seconds: float
    known: tuple[tuple[str, tuple[str, ...]], ...] = ()


Outcome: TypeAlias = Rows | Changed | Failure
