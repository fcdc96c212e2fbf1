"""What the guard allows asks a real engine for nothing it may not have: the role's refusals are the oracle."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any
from uuid import uuid4

import pytest
from rows import rows_of

from sqlassay.cases.catalog import Catalog
from sqlassay.cases.relation import Kind, Row
from sqlassay.cases.snapshot import ColumnDef, Snapshot, TableDef
from sqlassay.dialect_adapters.contract import Limits, Mode, Pins, Role, SessionLostError, StatementError
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.harness.guard import check
from sqlassay.harness.parse import Parser
from sqlassay.sandboxes.contract import Sandbox
from sqlassay.sandboxes.registry import provider

SAMPLE = 2_500
_TABLE = rows_of("guard")
_DENIED = {
    "postgres": r"permission denied|must be (?:owner|superuser)|read-only transaction|not permitted|only roles with",
    "mariadb": r"denied|\((?:1044|1045|1142|1143|1227|1290|1370|1419|1792)\)",
    "mysql": r"denied|\((?:1044|1045|1142|1143|1227|1290|1370|1419|1792|1836|3879)\)",
    "sqlite": r"not authorized|prohibited|readonly|read-only",
}
"""What the engines say where a role may not do what a statement asks."""

_SHORT = Limits(timeout=5.0, rows=20_000)


@dataclass(frozen=True)
class _Server:
    """One server with the tables the guard's rows name, as the role of a prediction sees it."""

    dialect: str
    sandbox: Sandbox
    catalog: Catalog

    def refusal(self, sql: str) -> str | None:
        """Return the role's refusal of a statement, None where it ran or failed for another reason."""
        try:
            session = self.sandbox.open(self.catalog.database, Role.READER, Pins())
        except SessionLostError:
            return None
        try:
            session.begin_read(_SHORT)
            session.fetch(sql, _SHORT)
        except StatementError as error:
            return error.message if re.search(_DENIED[self.dialect], error.message) else None
        except SessionLostError:
            return None
        finally:
            session.close()
        return None


class _Source:
    """Three rows in every table."""

    def __init__(self, tables: tuple[TableDef, ...]) -> None:
        """Keep the tables."""
        self._tables = {table.name: table for table in tables}

    def rows(self, table: str) -> Iterator[Row]:
        """Yield numbers for numbers and texts for texts."""
        for number in (1, 2, 3):
            yield tuple(number if column.kind is Kind.INT else str(number) for column in self._tables[table].columns)


def _snapshot(name: str, tables: dict[str, Any]) -> Snapshot:
    """Return a snapshot of these tables; ids and amounts are numbers, the rest are texts."""
    numbers = {"id", "customer_id", "amount"}
    made = tuple(
        TableDef(table, tuple(ColumnDef(name, Kind.INT if name in numbers else Kind.TEXT) for name in columns))
        for table, columns in tables.items()
    )
    return Snapshot(name, name, f"guard-differential-{name}-1", made, _Source(made))


@pytest.fixture(scope="module", params=["postgres", "mysql", "mariadb", "sqlite"])
def server(request: pytest.FixtureRequest) -> Iterator[_Server]:
    """A READ-mode server beside whose snapshot lies another with the gold."""
    dialect = request.param
    spoken, makes = adapter(dialect), provider("docker")
    try:
        tables = {name: columns for name, columns in _TABLE["catalogues"][dialect].items() if name != "fts"}
        snapshots = (_snapshot("shop", tables), _snapshot("evalx", {"gold": ("q", "answer"), "gold_answers": ("q",)}))
        image = makes.prepare(spoken, snapshots, lambda line: None)
        sandbox = makes.start(spoken, image, Mode.READ, f"differential-{uuid4().hex[:8]}")
        yield _Server(dialect, sandbox, image.catalog("shop"))
    finally:
        makes.close()


def _soak() -> ModuleType:
    """Load the soak's generator of texts."""
    spec = importlib.util.spec_from_file_location("guard_soak", Path(__file__).with_name("soak.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["guard_soak"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.docker
def test_the_engine_refuses_nothing_that_the_guard_allows(server: _Server) -> None:
    """Of thousands of mutated attacks, those that pass the guard never ask for what the role denies."""
    rules = adapter(server.dialect).rules
    texts = [row["sql"] for row in _TABLE["rows"] if row["dialect"] == server.dialect]
    texts += _soak().texts(SAMPLE, 20261128)
    refused, allowed = [], 0
    with Parser() as parser:
        for sql in texts:
            parsed = parser.parse(sql, server.dialect, server.catalog, sqlglot_dialect=rules.sqlglot_dialect)
            # What is only explained may name what the role may not do: nothing runs.
            if parsed.explain is not None or not check(parsed, rules, server.catalog).allowed:
                continue
            allowed += 1
            if (refusal := server.refusal(sql)) is not None:
                refused.append((sql, refusal))
    assert allowed > 100
    assert refused == []
