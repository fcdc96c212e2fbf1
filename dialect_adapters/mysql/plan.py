"""MySQL's plan of a query (`EXPLAIN FORMAT=JSON`): the tree of iterators of MySQL 9, or the older query block."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from sqlassay.cases.plan import QueryPlan, Scan
from sqlassay.cases.relation import Json, Relation
from sqlassay.dialect_adapters.explaining import PlanRules

_NOT_NULL = re.compile(r"\(*[^()' ]+ is not null\)*(?: and \(*[^()' ]+ is not null\)*)*")
"""What the optimiser adds to the columns of a join, and what a text may ask for as well: it does not tell which."""

_WHOLE = frozenset({"table", "count_rows", "index_scan"})
_BLOCK_WHOLE = frozenset({"ALL", "index"})
_BLOCK_MADE = ("materialized_from_subquery", "materialized")


def plan_of(answer: Relation) -> QueryPlan:
    """Return what a plan says; raises ValueError, LookupError, TypeError or AttributeError where it is none."""
    cell = answer.rows[0][0]
    document = json.loads(cell.text if isinstance(cell, Json) else str(cell))
    if "query_block" in document:
        return _of_block(document["query_block"])
    nodes = list(_nodes(document["query_plan"]))
    scans = tuple(_scan(node, narrowed) for node, narrowed in nodes if "schema_name" in node)
    return QueryPlan(scans, joined=any("join_type" in node for node, _ in nodes))


def _nodes(root: dict[str, Any]) -> Iterator[tuple[dict[str, Any], bool | None]]:
    """Yield every node with whether a condition above it picks among its rows; None where that is not to be told."""
    left: list[tuple[dict[str, Any], bool | None]] = [(root, False)]
    while left:
        node, narrowed = left.pop()
        yield node, narrowed
        condition = node.get("condition") if node.get("access_type") == "filter" else None
        if condition is not None and not narrowed:
            narrowed = None if _NOT_NULL.fullmatch(condition) else True
        lists = (value for value in node.values() if isinstance(value, list))
        left.extend((one, narrowed) for value in lists for one in reversed(value) if isinstance(one, dict))


def _scan(node: dict[str, Any], narrowed: bool | None) -> Scan:
    """Return one reading of a table of the database; what has no schema is made by the query itself."""
    whole = node.get("index_access_type", node["access_type"]) in _WHOLE
    return Scan(str(node["table_name"]), whole=whole, narrowed=narrowed if whole else True)


def _of_block(block: dict[str, Any]) -> QueryPlan:
    """Return what a plan of the older form says, the one that MariaDB has."""
    parts = list(_parts(block))
    tables = [value for key, value in parts if key == "table" and "access_type" in value]
    scans = tuple(_block_scan(table) for table in tables if not any(name in table for name in _BLOCK_MADE))
    return QueryPlan(scans, joined=any(len(value.get("nested_loop", ())) > 1 for _, value in parts))


def _block_scan(table: dict[str, Any]) -> Scan:
    """Return one reading of a table of the database."""
    whole = table["access_type"] in _BLOCK_WHOLE
    condition = table.get("attached_condition")
    narrowed = condition is not None and (None if _NOT_NULL.fullmatch(condition) else True)
    return Scan(str(table["table_name"]), whole=whole, narrowed=narrowed if whole else True)


def _parts(block: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every object in a document with the key it stands under, itself or in a list."""
    left = [("query_block", block)]
    while left:
        name, found = left.pop()
        yield name, found
        for key, value in reversed(found.items()):
            items = value if isinstance(value, list) else [value]
            left.extend((key, one) for one in reversed(items) if isinstance(one, dict))


PLANS = PlanRules("EXPLAIN FORMAT=JSON ", plan_of)
