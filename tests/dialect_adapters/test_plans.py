"""Plans as the engines write them become plain data: which tables are read, whether whole, whether narrowed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
from rows import rows_of

from sqlassay.cases.plan import QueryPlan, Scan
from sqlassay.cases.relation import Column, Json, Relation
from sqlassay.dialect_adapters.explaining import Planning
from sqlassay.dialect_adapters.registry import adapter

_ROWS = rows_of("plans")["rows"]
_BROKEN = (ValueError, LookupError, TypeError, AttributeError)


def _plan(dialect: str, answer: Any) -> QueryPlan:
    """Return what is read from an answer."""
    cells = tuple(map(tuple, answer)) if isinstance(answer, list) else ((answer,),)
    relation = Relation(tuple(Column(f"c{n}") for n in range(len(cells[0]) if cells else 1)), cells)
    found: QueryPlan = import_module(f"dialect_adapters.{dialect}.plan").plan_of(relation)
    return found


@pytest.mark.parametrize("row", _ROWS, ids=lambda row: f"{row['dialect']}: {row['query']}")
def test_recorded_plans(row: dict[str, Any]) -> None:
    """Each recorded plan is read as the row says."""
    scans = tuple(Scan(table, whole=whole, narrowed=narrowed) for table, whole, narrowed in row["scans"])
    assert _plan(row.get("reader", row["dialect"]), row["answer"]) == QueryPlan(scans, joined=row["joined"])


def test_a_plan_in_a_json_cell_is_the_same_plan() -> None:
    """Postgres gives its plan as JSON, which is a cell of its own kind."""
    row = next(row for row in _ROWS if row["dialect"] == "postgres")
    relation = Relation((Column("QUERY PLAN"),), ((Json(row["answer"]),),))
    read = import_module("sqlassay.dialect_adapters.postgres.plan").plan_of
    assert read(relation) == _plan("postgres", row["answer"])


@pytest.mark.parametrize("dialect", ["postgres", "mysql", "sqlite", "duckdb"])
@pytest.mark.parametrize("answer", ["", "[]", "{}", "nonsense", '[{"Plan": []}]', '{"query_plan": 1}', []])
def test_what_is_no_plan_is_refused(dialect: str, answer: Any) -> None:
    """An answer that is no plan raises what the reader says it raises."""
    with pytest.raises(_BROKEN):
        _plan(dialect, answer)


@pytest.mark.parametrize("dialect", ["postgres", "mysql", "mariadb", "sqlite", "duckdb"])
def test_the_adapters_say_how_to_ask(dialect: str) -> None:
    """Each of our adapters has the question, which ends where the query's own text begins."""
    found = adapter(dialect)
    assert isinstance(found, Planning)
    assert found.plans.ask.startswith("EXPLAIN ")
    assert found.plans.ask.endswith(" ")
