"""SQLite's plan of a query (`EXPLAIN QUERY PLAN`), read line by line."""

from __future__ import annotations

import re
from collections import Counter

from sqlassay.cases.plan import QueryPlan, Scan
from sqlassay.cases.relation import Relation
from sqlassay.dialect_adapters.explaining import PlanRules

_READ = re.compile(r"(SCAN|SEARCH) (?:TABLE )?(?P<name>.+?)(?: AS .+?)?(?: (?:USING|VIRTUAL TABLE|LEFT-JOIN)\b.*)?")
_MADE = re.compile(r"(?:MATERIALIZE|CO-ROUTINE) (?P<name>.+)")
_NO_TABLE = re.compile(r"CONSTANT ROWS?|\d+ CONSTANT ROWS?|\d+-ROW VALUES CLAUSE|\(subquery-\d+\)|SUBQUERY \d+")


def plan_of(answer: Relation) -> QueryPlan:
    """Return what a plan says; raises ValueError where a row has no detail, IndexError where there is none.

    SQLite does not tell whether a condition picks among the rows of a scan. Readings below one parent are joined.
    """
    rows = [(parent, str(detail)) for _, parent, _, detail in answer.rows]
    if not rows:
        raise IndexError("an empty plan")
    made = {found["name"] for _, detail in rows if (found := _MADE.fullmatch(detail))}
    scans: list[Scan] = []
    siblings: Counter[object] = Counter()
    for parent, detail in rows:
        found = _READ.fullmatch(detail)
        if found is None or _NO_TABLE.fullmatch(found["name"]):
            continue
        siblings[parent] += 1
        if found["name"] not in made:
            scans.append(Scan(found["name"], whole=found[1] == "SCAN", narrowed=None if found[1] == "SCAN" else True))
    return QueryPlan(tuple(scans), joined=any(count > 1 for count in siblings.values()))


PLANS = PlanRules("EXPLAIN QUERY PLAN ", plan_of)
