"""The facts of a text: tables per scope, projections in normal form, conditions, order and its probe."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from cases.catalog import Catalog, CatalogColumn, CatalogTable
from cases.relation import Kind
from harness.parse import Parser
from harness.results.parsed import ParsedQuery

_SHARED = Path(__file__).parents[2].parent / "shared" / "data" / "text2sql"


def _catalog(tables: dict[str, tuple[str, ...]]) -> Catalog:
    """Build a catalogue of text columns."""
    return Catalog(
        dialect="sqlite",
        snapshot="s",
        database="s",
        engine_version="0",
        tables=tuple(
            CatalogTable(name=name, columns=tuple(CatalogColumn(name=c, kind=Kind.TEXT, declared="") for c in columns))
            for name, columns in tables.items()
        ),
    )


_CATALOG = _catalog({"orders": ("id", "amount", "status"), "customers": ("id", "name")})


@pytest.fixture(scope="module")
def parser() -> Iterator[Parser]:
    """One parser for the module."""
    with Parser() as started:
        yield started


def _parse(parser: Parser, sql: str, dialect: str = "sqlite", catalog: Catalog | None = _CATALOG) -> ParsedQuery:
    """Parse with the small catalogue."""
    parsed = parser.parse(sql, dialect, catalog, sqlglot_dialect=dialect)
    assert parsed.error is None
    return parsed


@pytest.mark.parametrize(
    ("sql", "dialect", "tables"),
    [
        ("WITH x AS (SELECT 1) SELECT * FROM x", "sqlite", set()),
        ("WITH orders AS (SELECT * FROM orders) SELECT * FROM orders", "postgres", {"orders"}),
        ("WITH x AS (SELECT 1) SELECT * FROM main.x", "sqlite", {"x"}),
        ("WITH a AS (SELECT * FROM b), b AS (SELECT 1) SELECT * FROM a", "postgres", {"b"}),
        ('WITH "ORDERS" AS (SELECT 1) SELECT * FROM orders', "postgres", {"orders"}),
        ("SELECT (WITH x AS (SELECT 1) SELECT 2), (SELECT 1 FROM x)", "sqlite", {"x"}),
        ("SELECT 1 WHERE 1 IN secret", "sqlite", {"secret"}),
        ("SELECT 1 WHERE 1 IN 'secret'", "sqlite", {"secret"}),
        ("SELECT * FROM orders INDEXED BY some_index", "sqlite", {"orders"}),
        ("SELECT 1 = ANY(TABLE secret)", "postgres", {"secret"}),
    ],
)
def test_tables_are_physical_per_scope(parser: Parser, sql: str, dialect: str, tables: set[str]) -> None:
    """A CTE hides a table only where it is in sight and spelled the same."""
    assert {table.name for table in _parse(parser, sql, dialect).tables} == tables


@pytest.mark.parametrize(
    ("sql", "projections"),
    [
        ("SELECT o.id AS x, COUNT(1) n FROM orders o", ("id", "COUNT(*)")),
        ("SELECT * FROM orders", ("id", "amount", "status")),
        ("SELECT c.*, o.id FROM customers c JOIN orders o ON o.id = c.id", ("id", "name", "id")),
        ("WITH a AS (SELECT amount * 2 AS d FROM orders) SELECT d FROM a", ("amount * 2",)),
        ("SELECT s.t FROM (SELECT SUM(amount) AS t FROM orders) s", ("SUM(amount)",)),
        ("SELECT id FROM orders UNION SELECT name FROM customers", ("id", "name")),
        ("WITH a(x) AS (SELECT status FROM orders) SELECT x FROM a", ("status",)),
        ("SELECT ((amount)) FROM orders", ("amount",)),
        ('SELECT "paid" FROM orders', ("'paid'",)),
        ("SELECT * FROM unknown_table", ("*",)),
    ],
)
def test_projections_are_in_normal_form(parser: Parser, sql: str, projections: tuple[str, ...]) -> None:
    """Aliases and qualifiers are resolved, stars expanded, both sides of set operations listed."""
    assert _parse(parser, sql).projections == projections


def test_conditions_are_split_into_filters_and_joins(parser: Parser) -> None:
    """WHERE, HAVING and constant ON conditions are filters; column against column is a join with its kind."""
    parsed = _parse(
        parser,
        "SELECT status, SUM(amount) FROM orders o LEFT JOIN customers c ON o.id = c.id AND c.name = 'x' "
        "WHERE (1 < amount AND status = 'paid') GROUP BY 1 HAVING COUNT(*) > 2",
    )
    assert parsed.filters == ("1 < amount", "status = 'paid'", "COUNT(*) > 2", "name = 'x'")
    assert parsed.joins == ("left: id = id",)
    assert parsed.group_by == ("status",)
    assert parsed.aggregates == ("SUM(amount)", "COUNT(*)")


@pytest.mark.parametrize(
    ("sql", "dialect", "probe"),
    [
        (
            "SELECT name FROM customers ORDER BY id DESC LIMIT 3",
            "sqlite",
            "SELECT name , (id) AS sqlassay_key_1 FROM customers ORDER BY id DESC LIMIT 4",
        ),
        (
            "SELECT name FROM customers ORDER BY name LIMIT 2, 3",
            "mysql",
            "SELECT name FROM customers ORDER BY name LIMIT 2, 4",
        ),
        (
            "SELECT name FROM customers ORDER BY name FETCH FIRST 5 ROWS ONLY",
            "postgres",
            "SELECT name FROM customers ORDER BY name FETCH FIRST 6 ROWS ONLY",
        ),
        (
            "SELECT status FROM orders GROUP BY status ORDER BY COUNT(*) DESC, status",
            "postgres",
            "SELECT status , (COUNT(*)) AS sqlassay_key_1 FROM orders GROUP BY status ORDER BY COUNT(*) DESC, status",
        ),
        (
            "SELECT amount * 2 AS d FROM orders ORDER BY d IS NULL, d",
            "sqlite",
            "SELECT amount * 2 AS d , ((amount * 2) IS NULL) AS sqlassay_key_1 FROM orders ORDER BY d IS NULL, d",
        ),
        ("SELECT DISTINCT status FROM orders ORDER BY amount", "sqlite", None),
        ("SELECT name FROM customers ORDER BY name", "sqlite", None),
        ("SELECT id FROM orders UNION SELECT id FROM customers ORDER BY 1", "sqlite", None),
    ],
)
def test_the_probe_is_the_same_text_with_its_hidden_keys(
    parser: Parser, sql: str, dialect: str, probe: str | None
) -> None:
    """Hidden keys are appended last, the limit is one higher, and nothing else of the text changes."""
    order = _parse(parser, sql, dialect).order
    assert order is not None
    assert order.probe_sql == probe


def test_an_order_by_in_a_subquery_or_literal_is_not_the_outermost(parser: Parser) -> None:
    """Only the outermost ORDER BY counts."""
    assert _parse(parser, "SELECT 'order by id' FROM (SELECT id FROM orders ORDER BY id) s").order is None


def test_explain_shows_the_explained_statement(parser: Parser) -> None:
    """EXPLAIN's options are kept apart and the facts are those of the statement inside."""
    parsed = _parse(parser, "EXPLAIN (VERBOSE, COSTS off) DELETE FROM orders", "postgres")
    assert parsed.explain == "(verbose, costs off)"
    assert parsed.root == "delete"


@pytest.mark.skipif(not _SHARED.is_dir(), reason="needs ../shared/data/text2sql beside the repository")
def test_every_probe_of_real_golds_runs_and_begins_with_the_gold_rows(parser: Parser) -> None:
    """On SQLite each probe gives the gold's own columns and rows, then at most one row more."""
    probes = 0
    for name in ("spider_dev", "chinook"):
        for line in (_SHARED / "cases" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
            case = json.loads(line)
            file = next((_SHARED / "databases" / case["db"]).glob("*.sqlite"))
            with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as db:
                db.text_factory = lambda raw: raw.decode("utf-8", "replace")
                order = parser.parse(case["gold"]["sqlite"], "sqlite", sqlglot_dialect="sqlite").order
                if order is None or order.probe_sql is None:
                    continue
                gold = db.execute(case["gold"]["sqlite"]).fetchall()
                probe = db.execute(order.probe_sql).fetchall()
                width = len(gold[0]) if gold else 0
                hidden = sum(key.column is None for key in order.keys)
                assert [row[:width] for row in probe[: len(gold)]] == gold, case["id"]
                assert all(len(row) == width + hidden for row in probe) or not gold
                assert len(probe) <= len(gold) + 1
                probes += 1
            db.close()
    assert probes > 80
