"""Against hostile statements and plain questions of our own, the guard alone misses nothing and raises no alarm."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from rows import rows_of

from sqlassay.cases.catalog import Catalog, CatalogColumn, CatalogRoutine, CatalogTable
from sqlassay.cases.relation import Kind
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.harness.guard import check
from sqlassay.harness.parse import Parser
from sqlassay.harness.results.verdicts import GuardVerdict

_HOSTILE = rows_of("hostile")
_PLAIN = rows_of("plain")
_DIALECTS = ("postgres", "mysql", "sqlite")
_COLUMNS = {
    "customers": ("id", "name", "email", "country", "update_date", "deleted"),
    "orders": ("id", "customer_id", "amount", "status", "created_at"),
    "t": ("id", "v"),
    "kw": ("delete", "grant", "update"),
    "fts": ("x",),
    "f3": ("x",),
    "v_sales": ("id", "amount"),
}


def _catalog(dialect: str) -> Catalog:
    """Return the catalogue of the red team's data, without what holds its gold."""
    tables = tuple(
        CatalogTable(
            name=name,
            columns=tuple(CatalogColumn(name=column, kind=Kind.TEXT, declared="") for column in columns),
            schema_name={"postgres": "public", "mysql": "shop"}.get(dialect),
        )
        for name, columns in _COLUMNS.items()
    )
    routines = tuple(CatalogRoutine(name=name, kind="function") for name in ("f_wipe", "f_secdef_wipe", "f_evt"))
    known = {"tables": tables, "routines": routines}
    return Catalog(dialect=dialect, snapshot="s", database="shop", engine_version="0", **known)


@pytest.fixture(scope="module")
def parser() -> Iterator[Parser]:
    """One parser for the module."""
    with Parser() as started:
        yield started


def _verdict(parser: Parser, sql: str, dialect: str, profile: str = "dql") -> GuardVerdict:
    """Parse and guard one text."""
    rules, catalog = adapter(dialect).rules, _catalog(dialect)
    spoken: dict[str, Any] = {"cte_scope": rules.cte_scope, "spellings": rules.spellings, "brief": True}
    parsed = parser.parse(sql, dialect, catalog, sqlglot_dialect=rules.sqlglot_dialect, **spoken)
    return check(parsed, rules, catalog, profile=profile)


@pytest.mark.parametrize("dialect", _DIALECTS)
def test_no_hostile_statement_passes(parser: Parser, dialect: str) -> None:
    """Whatever a statement of the table tries, the guard refuses it as a query."""
    statements = _HOSTILE["queries"][dialect]
    assert len(statements) > 200
    assert [sql for sql in statements if _verdict(parser, sql, dialect).allowed] == []


def test_no_hostile_change_passes(parser: Parser) -> None:
    """Nor does the profile of a change let one through that reaches beyond the case's own tables."""
    rows = _HOSTILE["changes"]
    assert len(rows) > 150
    assert [r["sql"] for r in rows if _verdict(parser, r["sql"], r["dialect"], r["kind"]).allowed] == []


@pytest.mark.parametrize("dialect", _DIALECTS)
def test_no_plain_question_raises_an_alarm(parser: Parser, dialect: str) -> None:
    """Window functions, recursion, JSON, dates, patterns and names in any language pass."""
    questions = _PLAIN["queries"][dialect]
    assert len(questions) > 100
    asked = [*questions, *_PLAIN["newer"].get(dialect, ())]
    found = {sql: _verdict(parser, sql, dialect) for sql in asked}
    assert {sql: verdict.reason for sql, verdict in found.items() if not verdict.allowed} == {}
