"""Which output columns read no table, as rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rows import rows_of

from sqlassay.cases.catalog import Catalog, CatalogColumn, CatalogTable
from sqlassay.cases.relation import Kind
from sqlassay.harness.parse import Parser

TABLE = Path(__file__).parents[1] / "tables" / "constants.yaml"
CATALOG = Catalog(
    snapshot="s",
    dialect="sqlite",
    engine_version="",
    database="main",
    tables=tuple(
        CatalogTable(
            name=name, columns=tuple(CatalogColumn(name=one, kind=Kind.OTHER, declared="") for one in columns.split())
        )
        for name, columns in (("t", "id name country"), ("u", "id tid"))
    ),
)


@pytest.fixture(scope="module")
def parser() -> Iterator[Parser]:
    with Parser() as one:
        yield one


def rows() -> list[Any]:
    found = rows_of(TABLE)
    return [
        pytest.param(row["sql"], dialect, row["constants"], id=f"{dialect}-{number}")
        for number, row in enumerate(found)
        for dialect in row.get("dialects", ["sqlite"])
    ]


@pytest.mark.parametrize(("sql", "dialect", "constants"), rows())
def test_the_columns_that_read_no_table_are_found(
    parser: Parser, sql: str, dialect: str, constants: list[int] | None
) -> None:
    """A constant is seen through aliases, CTEs, nested queries and set operations; what is computed is none."""
    parsed = parser.parse(sql, dialect, CATALOG, sqlglot_dialect=dialect)
    assert parsed.error is None
    if constants is None:
        assert parsed.computed is None
    else:
        assert parsed.computed is not None
        assert [place for place, computed in enumerate(parsed.computed) if not computed] == constants


def test_a_text_without_any_table_is_constant_in_every_column(parser: Parser) -> None:
    """Where nothing is read, no column needs to be followed."""
    parsed = parser.parse("SELECT * FROM generate_series(1, 500)", "postgres", CATALOG, sqlglot_dialect="postgres")
    assert parsed.constants(2) == {0, 1}


def test_columns_that_do_not_fit_the_rows_say_nothing(parser: Parser) -> None:
    """Facts of another width than the result are not trusted."""
    assert parser.parse("SELECT 1, id FROM t", "sqlite", CATALOG, sqlglot_dialect="sqlite").constants(3) == frozenset()
