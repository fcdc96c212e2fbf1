"""Over what an analyst asks on an ordinary day the guard raises no alarm, and each statement runs on its engine."""

from __future__ import annotations

import datetime as dt
import importlib.util
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest
from rows import rows_of

from sqlassay.cases.catalog import Catalog, CatalogColumn, CatalogTable
from sqlassay.cases.relation import Kind, Row
from sqlassay.cases.snapshot import ColumnDef, Snapshot, TableDef
from sqlassay.dialect_adapters.contract import Limits, Mode, Pins, Role, StatementError
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.harness.guard import check
from sqlassay.harness.parse import Parser

_GROUPS = rows_of("analyst")
_PLAIN = rows_of("plain")["queries"]
_WANTED = 300
_SHARE = 0.01
_SHORT = Limits(timeout=20.0)
_SCHEMA = {
    "customers": "id:int name:text email:text country:text city:text signup_date:date active:int",
    "products": "id:int name:text category:text price:decimal cost:decimal discontinued:int",
    "orders": "id:int customer_id:int order_date:date status:text total:decimal channel:text",
    "items": "id:int order_id:int product_id:int quantity:int unit_price:decimal discount:decimal",
    "staff": "id:int name:text manager_id:int department:text hired_on:date salary:decimal",
}
_KINDS = {"int": Kind.INT, "text": Kind.TEXT, "date": Kind.DATE, "decimal": Kind.DECIMAL}
_TEXTS = ("paid", "open", "shipped")


def _columns(table: str) -> list[tuple[str, Kind]]:
    """Return a table's columns."""
    pairs = (column.split(":") for column in _SCHEMA[table].split())
    return [(name, _KINDS[kind]) for name, kind in pairs]


def _cell(name: str, kind: Kind, number: int) -> object:
    """Return one cell; the first of the staff has no manager."""
    match kind:
        case Kind.INT:
            return None if name == "manager_id" and number == 1 else 1 if name.endswith("_id") else number
        case Kind.DECIMAL:
            return Decimal(number * 10) / 4
        case Kind.DATE:
            return dt.date(2024, number, 3)
        case _:
            return _TEXTS[number - 1]


class _Source:
    """Three rows in every table."""

    def rows(self, table: str) -> Iterator[Row]:
        """Yield them."""
        for number in (1, 2, 3):
            yield tuple(_cell(name, kind, number) for name, kind in _columns(table))


def _tables() -> tuple[TableDef, ...]:
    """Return the tables."""
    made = []
    for table in _SCHEMA:
        columns = tuple(
            ColumnDef(
                name, kind, nullable=name != "id", **({"precision": 10, "scale": 2} if kind is Kind.DECIMAL else {})
            )
            for name, kind in _columns(table)
        )
        made.append(TableDef(table, columns, primary_key=("id",)))
    return tuple(made)


def _catalog(dialect: str) -> Catalog:
    """Return the catalogue."""
    schema = {"postgres": "public", "mysql": "analyst", "mariadb": "analyst"}.get(dialect)
    tables = tuple(
        CatalogTable(
            name=table,
            columns=tuple(CatalogColumn(name=name, kind=kind, declared="") for name, kind in _columns(table)),
            schema_name=schema,
        )
        for table in _SCHEMA
    )
    return Catalog(dialect=dialect, snapshot="s", database="analyst", engine_version="0", tables=tables)


def _statements(dialect: str) -> list[str]:
    """Return an engine's statements of the file."""
    return [sql for group in _GROUPS if dialect in group["engines"] for sql in group["statements"]]


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb", "postgres", "mysql", "mariadb"])
def test_ordinary_statements_raise_no_alarm(dialect: str) -> None:
    """Of at least 300 statements an engine, those of plain.yaml counted, at most one in a hundred is refused."""
    rules, catalog = adapter(dialect).rules, _catalog(dialect)
    spoken: dict[str, Any] = {"cte_scope": rules.cte_scope, "spellings": rules.spellings, "brief": True}
    asked = _statements(dialect)
    alarms = {}
    with Parser() as parser:
        for sql in asked:
            parsed = parser.parse(sql, dialect, catalog, sqlglot_dialect=rules.sqlglot_dialect, **spoken)
            verdict = check(parsed, rules, catalog)
            if not verdict.allowed:
                alarms[sql] = verdict.reason
    count = len(asked) + len(_PLAIN.get(dialect, ()))
    assert count >= _WANTED
    assert len(alarms) <= _SHARE * len(asked), alarms


@contextmanager
def _sqlite() -> Iterator[Callable[[str], object]]:
    """SQLite in this process."""
    with closing(sqlite3.connect(":memory:")) as base:
        for table in _SCHEMA:
            base.execute(f"CREATE TABLE {table} ({', '.join(name for name, _ in _columns(table))}, PRIMARY KEY (id))")
            for row in _Source().rows(table):
                cells = [str(cell) if isinstance(cell, dt.date) else cell for cell in row]
                cells = [float(cell) if isinstance(cell, Decimal) else cell for cell in cells]
                base.execute(f"INSERT INTO {table} VALUES ({','.join('?' * len(cells))})", cells)
        yield lambda sql: base.execute(sql).fetchall()


@contextmanager
def _duckdb() -> Iterator[Callable[[str], object]]:
    """DuckDB in this process."""
    import duckdb

    types = {Kind.INT: "INTEGER", Kind.TEXT: "VARCHAR", Kind.DATE: "DATE", Kind.DECIMAL: "DECIMAL(10, 2)"}
    with closing(duckdb.connect()) as base:
        for table in _SCHEMA:
            columns = ", ".join(f"{name} {types[kind]}" for name, kind in _columns(table))
            base.execute(f"CREATE TABLE {table} ({columns}, PRIMARY KEY (id))")
            for row in _Source().rows(table):
                base.execute(f"INSERT INTO {table} VALUES ({','.join('?' * len(row))})", row)
        yield lambda sql: base.execute(sql).fetchall()


@contextmanager
def _server(dialect: str) -> Iterator[Callable[[str], object]]:
    """A server, as the role of a prediction sees it."""
    from sqlassay.sandboxes.registry import provider

    spoken, makes = adapter(dialect), provider("docker")
    try:
        snapshot = Snapshot("analyst", "analyst", "guard-analyst-1", _tables(), _Source())
        image = makes.prepare(spoken, [snapshot], lambda line: None)
        sandbox = makes.start(spoken, image, Mode.READ, f"analyst-{uuid4().hex[:8]}")
        session = sandbox.open("analyst", Role.READER, Pins())
        session.begin_read(_SHORT)

        def run(sql: str) -> object:
            """Run a statement; one that fails leaves the next a fresh transaction."""
            try:
                return session.fetch(sql, _SHORT).rows
            except StatementError:
                session.rollback()
                session.begin_read(_SHORT)
                raise

        yield run
        session.close()
    finally:
        makes.close()


_ENGINES = [
    "sqlite",
    pytest.param(
        "duckdb",
        marks=pytest.mark.skipif(
            importlib.util.find_spec("_duckdb") is None, reason="the duckdb package is not installed"
        ),
    ),
    *(pytest.param(dialect, marks=pytest.mark.docker) for dialect in ("postgres", "mysql", "mariadb")),
]


@pytest.mark.parametrize("dialect", _ENGINES)
def test_every_statement_runs_on_its_engine(dialect: str) -> None:
    """The engine takes each statement and gives its rows."""
    opened = {"sqlite": _sqlite, "duckdb": _duckdb}.get(dialect)
    failed = {}
    with opened() if opened is not None else _server(dialect) as run:
        for sql in _statements(dialect):
            try:
                run(sql)
            except Exception as error:  # noqa: BLE001 - every engine has its own class; each is shown
                failed[sql] = str(error).splitlines()[0][:150]
    assert failed == {}
