"""What an adapter or a session may have besides: the engine's plan of a query, and the engine's own stopwatch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from sqlassay.cases.plan import QueryPlan
from sqlassay.cases.relation import Relation
from sqlassay.dialect_adapters.contract import Limits


@dataclass(frozen=True, slots=True)
class PlanRules:
    """How a plan is asked for and read: `ask` is what stands before the query's own text.

    `read` raises ValueError, LookupError, TypeError or AttributeError where an answer is no plan that is known here.
    """

    ask: str
    read: Callable[[Relation], QueryPlan]


@runtime_checkable
class Planning(Protocol):
    """An adapter whose engine tells how it would run a query without running it."""

    @property
    def plans(self) -> PlanRules:
        """Return how a plan is asked for and read."""
        ...


@runtime_checkable
class Stopwatch(Protocol):
    """A session whose engine times a query itself, so that handing out its rows costs nothing."""

    def seconds(self, sql: str, limits: Limits) -> float:
        """Run exactly one query, drop its rows, and return the seconds the engine took.

        Raises:
            StatementError: the statement failed.
            SessionLostError: the connection is gone.
        """
        ...
