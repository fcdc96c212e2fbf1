"""DuckDB's plan of a query (`EXPLAIN (FORMAT JSON)`): a tree of operators, each with what it is about."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from sqlassay.cases.plan import QueryPlan, Scan
from sqlassay.cases.relation import Relation
from sqlassay.dialect_adapters.explaining import PlanRules

_JOINS = ("JOIN", "CROSS_PRODUCT")
_FREE = "optional:"
"""Begins a filter that the engine tries for speed, as of a top-k; it picks nothing that the text asks for."""


def plan_of(answer: Relation) -> QueryPlan:
    """Return what a plan says; raises ValueError, LookupError, TypeError or AttributeError where it is none."""
    nodes = [found for root in json.loads(str(answer.rows[0][1])) for found in _nodes(root)]
    if not nodes:
        raise LookupError("an empty plan")
    scans = tuple(_scan(node["extra_info"], narrowed) for node, narrowed in nodes if "Table" in node["extra_info"])
    return QueryPlan(scans, joined=any(word in node["name"] for node, _ in nodes for word in _JOINS))


def _nodes(root: dict[str, Any]) -> Iterator[tuple[dict[str, Any], bool]]:
    """Yield every operator with whether a filter above it picks among its rows."""
    left = [(root, False)]
    while left:
        node, narrowed = left.pop()
        yield node, narrowed
        below = narrowed or node["name"].strip() == "FILTER"
        left.extend((child, below) for child in reversed(node["children"]))


def _scan(info: dict[str, Any], narrowed: bool) -> Scan:
    """Return one reading of a table, by its name without database and schema."""
    found = info.get("Filters", ())
    filters = [found] if isinstance(found, str) else list(found)
    picked = any(not one.startswith(_FREE) for one in filters)
    whole = info.get("Type") == "Sequential Scan"
    return Scan(str(info["Table"]).rsplit(".", 1)[-1], whole=whole, narrowed=narrowed or picked or not whole)


PLANS = PlanRules("EXPLAIN (FORMAT JSON) ", plan_of)
