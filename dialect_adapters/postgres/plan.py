"""Postgres' plan of a query (`EXPLAIN (FORMAT JSON)`), and its stopwatch: `EXPLAIN ANALYZE` without node clocks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from sqlassay.cases.plan import QueryPlan, Scan
from sqlassay.cases.relation import Json, Relation
from sqlassay.dialect_adapters.explaining import PlanRules

TIMED = "EXPLAIN (ANALYZE, TIMING OFF, BUFFERS OFF, SUMMARY ON, FORMAT JSON) "
"""Reading a clock at every node would slow plans with many rows more than others."""

_LOOKUPS = frozenset({"Index Scan", "Index Only Scan", "Bitmap Heap Scan", "Tid Scan", "Tid Range Scan"})
_CONDITIONS = ("Index Cond", "Recheck Cond", "TID Cond")


def plan_of(answer: Relation) -> QueryPlan:
    """Return what a plan says; raises ValueError, LookupError, TypeError or AttributeError where it is none."""
    nodes = list(_nodes(_document(answer)["Plan"]))
    scans = tuple(_scan(node) for node in nodes if "Relation Name" in node)
    return QueryPlan(scans, joined=any("Join Type" in node for node in nodes))


def seconds_of(answer: Relation) -> float:
    """Return how long planning and running took; raises as `plan_of` does."""
    document = _document(answer)
    return (float(document["Planning Time"]) + float(document["Execution Time"])) / 1000


def _document(answer: Relation) -> dict[str, Any]:
    """Return the one object an answer holds."""
    cell = answer.rows[0][0]
    document = json.loads(cell.text if isinstance(cell, Json) else str(cell))[0]
    if not isinstance(document, dict):
        raise TypeError("a plan is an object")
    return document


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a node and all below it."""
    left = [node]
    while left:
        found = left.pop()
        yield found
        left.extend(reversed(found.get("Plans", [])))


def _scan(node: dict[str, Any]) -> Scan:
    """Return one reading of a table; an index without a condition is read from end to end too.

    A bitmap has its condition below it, where an index that is not exact needs it once more.
    """
    kind = node["Node Type"]
    conditions = any(name in below for below in _nodes(node) for name in _CONDITIONS)
    narrowed = any(name in node for name in ("Filter", *_CONDITIONS))
    return Scan(str(node["Relation Name"]), whole=not (kind in _LOOKUPS and conditions), narrowed=narrowed)


PLANS = PlanRules("EXPLAIN (FORMAT JSON) ", plan_of)
