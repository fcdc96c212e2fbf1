"""The facts of a text: tables per scope, projections in normal form, conditions, order and its probe."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from sqlassay.cases.catalog import Catalog, CatalogColumn, CatalogTable
from sqlassay.cases.relation import Kind
from sqlassay.harness.parse import Parser
from sqlassay.harness.results.parsed import ParsedQuery

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
        (
            "SELECT id FROM customers ORDER BY name COLLATE NOCASE LIMIT 2",
            "sqlite",
            "SELECT id , (lower(name )) AS sqlassay_key_1 FROM customers ORDER BY name COLLATE NOCASE LIMIT 3",
        ),
        (
            "SELECT name x FROM customers ORDER BY x COLLATE rtrim DESC",
            "sqlite",
            "SELECT name x , (rtrim((name) , ' ')) AS sqlassay_key_1 FROM customers ORDER BY x COLLATE rtrim DESC",
        ),
        ("SELECT id FROM customers ORDER BY name COLLATE german", "sqlite", None),
        ("SELECT id FROM customers ORDER BY name COLLATE NOCASE || 'x'", "sqlite", None),
        ('SELECT id FROM customers ORDER BY name COLLATE "C"', "postgres", None),
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


@pytest.mark.parametrize(
    ("sql", "dialect", "offset"),
    [
        ("SELECT id FROM orders ORDER BY id LIMIT 3 OFFSET 2", "sqlite", True),
        ("SELECT id FROM orders ORDER BY id LIMIT 2, 3", "mysql", True),
        ("SELECT id FROM orders ORDER BY id OFFSET 2 ROWS FETCH FIRST 3 ROWS ONLY", "postgres", True),
        ("SELECT id FROM orders ORDER BY id OFFSET 1 + 1", "postgres", True),
        ("SELECT id FROM orders ORDER BY id LIMIT 3 OFFSET 0", "sqlite", False),
        ("SELECT id FROM orders ORDER BY id LIMIT 3", "sqlite", False),
    ],
)
def test_an_offset_cuts_at_the_start(parser: Parser, sql: str, dialect: str, *, offset: bool) -> None:
    """Rows are cut at the start by every spelling of OFFSET but a literal 0."""
    order = _parse(parser, sql, dialect).order
    assert order is not None
    assert order.offset is offset


@pytest.mark.parametrize(
    ("condition", "joins", "filters"),
    [
        ("DATE(o.status) = DATE(c.name)", ("left: DATE(name) = DATE(status)",), ()),
        ("o.id < c.id + 1 AND o.amount > 5", ("left: id < id + 1",), ("amount > 5",)),
        ("DATE(o.status) = DATE(o.amount)", (), ("DATE(amount) = DATE(status)",)),
        (
            "o.id IN (SELECT 1 FROM orders x WHERE x.id = c.id)",
            (),
            ("id IN (SELECT 1 FROM orders AS x WHERE id = id)",),
        ),
    ],
)
def test_what_ties_two_sources_is_a_join(
    parser: Parser, condition: str, joins: tuple[str, ...], filters: tuple[str, ...]
) -> None:
    """An ON condition between expressions of two sources keeps its join kind; one of a single source is a filter."""
    parsed = _parse(parser, f"SELECT o.id FROM orders o LEFT JOIN customers c ON {condition}")
    assert tuple(join for join in parsed.joins if join.startswith("left")) == joins
    assert tuple(part for part in parsed.filters if part != "id = id") == filters


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT * FROM orders JOIN", "line 1, column 22: expected table name (at 'JOIN')"),
        ("SELECT id,\n  (name FROM orders", "line 2, column 9: expecting ) (at 'FROM')"),
        ("SELECT a b c FROM t", "line 1, column 12: unexpected text (at 'c')"),
    ],
)
def test_a_syntax_error_is_one_clean_line(parser: Parser, sql: str, message: str) -> None:
    """Line and column come first, and nothing of the parser's own notation is left."""
    assert parser.parse(sql, "sqlite", sqlglot_dialect="sqlite").error == f"syntax error: {message}"


def test_arrows_in_calls_and_sums_after_limit_are_expressions(parser: Parser) -> None:
    """`a -> b` in a call is JSON's arrow, not a lambda, and `%` after LIMIT divides."""
    arrow = _parse(parser, "SELECT json_array_length(status -> '$.a') FROM orders")
    assert "lambda" not in arrow.nodes
    assert _parse(parser, "SELECT id FROM orders LIMIT 2 - (SELECT 1) % 2").limit == "2 - (SELECT 1) % 2"


def test_a_subquery_sees_only_the_ctes_in_sight(parser: Parser) -> None:
    """A correlated subquery knows the columns of an earlier CTE, and never those of a later one."""
    early = "WITH d AS (SELECT id AS day FROM orders) SELECT (SELECT max(e.day) FROM d e WHERE e.day <= d.day) FROM d"
    assert _parse(parser, early, "postgres").unresolved == ()
    late = "WITH a AS (SELECT (SELECT t.f FROM orders t)), orders AS (SELECT 1 AS f) SELECT 1 FROM a"
    assert _parse(parser, late, "postgres").unresolved == ("t.f",)


def test_types_the_parser_does_not_know_are_named(parser: Parser) -> None:
    """Types of the snapshot's own are facts, those of the language are not."""
    sql = "SELECT 1::mood, CAST(id AS public.\"Mood\"[]), 'a'::text FROM orders"
    assert _parse(parser, sql, "postgres").types == ("mood", "public.mood")
