"""On the real engines: whatever name an engine takes for a table, the guard counts as a table too."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random
from uuid import uuid4

import pytest
from cte_queries import Queries

from dialect_adapters.conformance import run_on
from dialect_adapters.conformance_data import ALPHA, BETA
from dialect_adapters.contract import Limits, Mode
from dialect_adapters.registry import adapter
from harness.guard import check
from harness.parse import Parser
from sandboxes.contract import Sandbox
from sandboxes.registry import provider

_MISSING = re.compile(r"no such table: (\w+)|Table 'alpha\.(\w+)' doesn't exist|relation \"(\w+)\" does not exist")
_SAMPLE = 400
"""Of another seed, SQLite may name a table in place of a circular reference: a failure too, and no read."""


@pytest.fixture(scope="module", params=["mysql", "mariadb", "postgres", "sqlite"])
def server(request: pytest.FixtureRequest) -> Iterator[tuple[str, Sandbox]]:
    """A read-only server of each engine."""
    spoken, makes = adapter(request.param), provider("docker")
    try:
        image = makes.prepare(spoken, (ALPHA, BETA), lambda line: None)
        yield request.param, makes.start(spoken, image, Mode.READ, f"ctes-{uuid4().hex[:8]}")
    finally:
        makes.close()


@pytest.mark.docker
def test_every_name_an_engine_takes_for_a_table_is_counted_as_one(server: tuple[str, Sandbox]) -> None:
    """Of random nested CTE queries, no missing table an engine names is a mere CTE to a guard that lets it pass."""
    dialect, sandbox = server
    rules = adapter(dialect).rules
    queries = Queries(Random(20261128), rules.identifier_quotes[0], arms=dialect != "sqlite")
    missed, complained = [], 0
    with Parser() as parser:
        for _ in range(_SAMPLE):
            sql = queries.query()
            parsed = parser.parse(sql, dialect, sqlglot_dialect=rules.sqlglot_dialect, cte_scope=rules.cte_scope)
            assert parsed.error is None, sql
            outcome = run_on(sandbox, f"EXPLAIN {sql}", Limits(timeout=10), database="alpha").outcome
            missing = _MISSING.search(getattr(outcome, "message", ""))
            if missing is not None:
                complained += 1
                name = next(group for group in missing.groups() if group).lower()
                seen = name in {table.name for table in parsed.tables} or not check(parsed, rules, None).allowed
                missed += [] if seen else [sql]
    assert missed == []
    assert complained > _SAMPLE / 8
