"""The facts exact set match and the context metrics are made of, as rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from rows import rows_of

from sqlassay.cases.catalog import Catalog, CatalogColumn, CatalogTable
from sqlassay.cases.relation import Kind
from sqlassay.harness.parse import Parser
from sqlassay.harness.results.parsed import ParsedQuery

_TABLE = rows_of("metric_facts")
_CATALOG = Catalog(
    dialect="sqlite",
    snapshot="s",
    database="s",
    engine_version="0",
    tables=tuple(
        CatalogTable(name=name, columns=tuple(CatalogColumn(name=c, kind=Kind.TEXT, declared="") for c in columns))
        for name, columns in _TABLE["catalog"].items()
    ),
)


@pytest.fixture(scope="module")
def parser() -> Iterator[Parser]:
    """One parser for the module."""
    with Parser() as started:
        yield started


def _read(parser: Parser, sql: str) -> ParsedQuery:
    """Return the facts of one text."""
    return parser.parse(sql, "sqlite", _CATALOG, sqlglot_dialect="sqlite")


@pytest.mark.parametrize("row", _TABLE["elements"], ids=lambda row: row["why"])
def test_columns_and_stars(parser: Parser, row: dict[str, Any]) -> None:
    """The columns of the schema a text reads and its stars are those of the row."""
    facts = _read(parser, row["sql"])
    assert facts.error is None
    assert (list(facts.columns), facts.stars) == (row["columns"], row.get("stars", 0))


@pytest.mark.parametrize("row", _TABLE["parts"], ids=lambda row: row["why"])
def test_parts(parser: Parser, row: dict[str, Any]) -> None:
    """The clause of the row is read as the row says."""
    facts = _read(parser, row["sql"])
    assert facts.parts is not None
    for name, wanted in row["has"].items():
        found = getattr(facts.parts, name)
        assert _plain(found) == wanted, name


def test_a_change_has_no_parts(parser: Parser) -> None:
    """What is no query has no clauses to compare."""
    assert _read(parser, "DELETE FROM orders").parts is None


def test_long_chains_and_deep_nests_are_read_without_their_parts(parser: Parser) -> None:
    """Thousands of set operations and dozens of levels leave the clauses out, and every other fact in."""
    chain = " UNION ALL ".join(["SELECT 1"] * 1_000)
    nest = "SELECT id FROM orders WHERE id IN (" * 45 + "1" + ")" * 45
    for text in (chain, nest):
        facts = _read(parser, text)
        assert facts.error is None
        assert facts.parts is None
    assert _read(parser, " UNION ".join(["SELECT 1"] * 30)).parts is not None


def _plain(value: Any) -> Any:
    """Return facts as YAML has them; a condition is its words."""
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if hasattr(value, "operator"):
        words = [*(["not"] if value.negated else []), value.left, value.operator, *("query" for _ in value.nested)]
        return " ".join(word for word in words if word)
    return "query" if hasattr(value, "select") else value
