"""One query clause by clause as Spider's exact set match compares it: units without values, no tree."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Unit:
    """One condition without its values: negated, operator, left side, and the queries it compares with.

    `compared` are those queries as the published script compares them, "" in the reading of the tree.
    """

    negated: bool
    operator: str
    left: str
    nested: tuple[Parts, ...] = ()
    compared: str = ""


@dataclass(frozen=True, slots=True)
class Parts:
    """One SELECT; columns are `table.column`, and columns a join makes equal have one name.

    `select` and `order_by` are (aggregate or "", expression). `on`, `where` and `having` are conditions, the fields
    ending in `_by` the words between them. `derived` are the queries in FROM, `sets` the set operation that follows
    (kind and its right side), `order_aggregates` counts those of ORDER BY that stand within its expressions. DISTINCT
    and values are left out, as the published rule does.
    """

    select: tuple[tuple[str, str], ...] = ()
    tables: tuple[str, ...] = ()
    derived: tuple[Parts, ...] = ()
    on: tuple[Unit, ...] = ()
    on_by: tuple[str, ...] = ()
    where: tuple[Unit, ...] = ()
    where_by: tuple[str, ...] = ()
    group_by: tuple[str, ...] = ()
    having: tuple[Unit, ...] = ()
    having_by: tuple[str, ...] = ()
    order_by: tuple[tuple[str, str], ...] = ()
    direction: str = ""
    limit: bool = False
    sets: tuple[tuple[str, Parts], ...] = ()
    order_aggregates: int = 0
