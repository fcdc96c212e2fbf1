"""A dialect that reads another's statements is guarded no less than its kin is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from rows import rows_of

from sqlassay.cases.catalog import Catalog, CatalogColumn, CatalogTable
from sqlassay.cases.relation import Kind
from sqlassay.dialect_adapters.contract import Akin
from sqlassay.dialect_adapters.registry import adapter, names
from sqlassay.harness.guard import check
from sqlassay.harness.parse import Parser
from sqlassay.harness.results.verdicts import GuardVerdict

_HOSTILE = rows_of("hostile")
_PLAIN = rows_of("plain")
_KIN = [(name, found.kin) for name in names() if isinstance(found := adapter(name), Akin)]
_COLUMNS = {
    "customers": ("id", "name", "email", "country", "update_date", "deleted"),
    "orders": ("id", "customer_id", "amount", "status", "created_at"),
    "t": ("id", "v"),
    "kw": ("delete", "grant", "update"),
    "v_sales": ("id", "amount"),
}
_OWN = frozenset({"unknown_function", "text"})
"""What a kin's plain question may be refused for: a function that this engine lacks, an executable comment."""


@pytest.fixture(scope="module")
def parser() -> Iterator[Parser]:
    """One parser for the module."""
    with Parser() as started:
        yield started


def _verdict(parser: Parser, sql: str, dialect: str) -> GuardVerdict:
    """Parse and guard one text against the red team's tables."""
    tables = tuple(
        CatalogTable(
            name=name,
            columns=tuple(CatalogColumn(name=column, kind=Kind.TEXT, declared="") for column in columns),
            schema_name="shop",
        )
        for name, columns in _COLUMNS.items()
    )
    catalog = Catalog(dialect=dialect, snapshot="s", database="shop", engine_version="0", tables=tables)
    rules = adapter(dialect).rules
    parsed = parser.parse(
        sql,
        dialect,
        catalog,
        sqlglot_dialect=rules.sqlglot_dialect,
        cte_scope=rules.cte_scope,
        spellings=rules.spellings,
        brief=True,
    )
    return check(parsed, rules, catalog)


@pytest.mark.parametrize(("dialect", "kin"), _KIN)
def test_what_is_hostile_to_the_kin_is_hostile_here(parser: Parser, dialect: str, kin: str) -> None:
    """Every hostile statement of the kin's is refused under these rules too."""
    statements = _HOSTILE["queries"][kin]
    assert len(statements) > 200
    assert [sql for sql in statements if _verdict(parser, sql, dialect).allowed] == []


@pytest.mark.parametrize(("dialect", "kin"), _KIN)
def test_a_plain_question_of_the_kin_passes(parser: Parser, dialect: str, kin: str) -> None:
    """What is refused of the kin's plain questions is what this engine does not have, and little of it."""
    questions = _PLAIN["queries"][kin]
    refused = {sql: verdict for sql in questions if not (verdict := _verdict(parser, sql, dialect)).allowed}
    assert {sql: verdict.reason for sql, verdict in refused.items() if verdict.node not in _OWN} == {}
    assert len(refused) < len(questions) / 10


def test_there_is_such_a_dialect() -> None:
    """MariaDB reads MySQL's statements."""
    assert ("mariadb", "mysql") in _KIN
