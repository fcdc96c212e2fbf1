"""How an engine says it would run a query: which tables it reads, and whether from end to end."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scan:
    """One reading of a table, by the name or alias the engine gives.

    `whole` where it is read from end to end, be it along an index; else rows are looked up. `narrowed` says whether a
    condition picks among the rows that are read, None where the engine does not tell.
    """

    table: str
    whole: bool
    narrowed: bool | None = None


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """Every reading of a table in a plan, and whether rows of several are joined."""

    scans: tuple[Scan, ...]
    joined: bool = False
