"""Of a snapshot's own routines exactly those pass that the pack allows, and their calls are flagged."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest
from rows import rows_of

from sqlassay.cases.catalog import Catalog, CatalogColumn, CatalogRoutine, CatalogTable
from sqlassay.cases.relation import Kind
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.harness.guard import check
from sqlassay.harness.parse import Parser
from sqlassay.harness.results.verdicts import GuardVerdict

_TABLE = rows_of("guard_routines")
_KNOWN = rows_of("guard")["catalogues"]
_SCHEMAS = {"postgres": "public", "mysql": "shop"}


@pytest.fixture(scope="module")
def parser() -> Iterator[Parser]:
    """One parser for the module."""
    with Parser() as started:
        yield started


def _catalog(dialect: str, routines: list[dict[str, Any]]) -> Catalog:
    """Return the fixture's catalogue with these routines."""
    tables = tuple(
        CatalogTable(
            name=name,
            schema_name=_SCHEMAS[dialect],
            columns=tuple(CatalogColumn(name=column, kind=Kind.TEXT, declared="") for column in columns),
        )
        for name, columns in _KNOWN[dialect].items()
    )
    found = tuple(CatalogRoutine.model_validate(routine) for routine in routines)
    return Catalog(dialect=dialect, snapshot="s", database="shop", engine_version="0", tables=tables, routines=found)


def _check(parser: Parser, sql: str, catalog: Catalog, profile: str = "dql") -> GuardVerdict:
    """Parse and guard one text."""
    rules = adapter(catalog.dialect).rules
    spoken = {"sqlglot_dialect": rules.sqlglot_dialect, "cte_scope": rules.cte_scope}
    parsed = parser.parse(sql, catalog.dialect, catalog, **spoken)  # type: ignore[arg-type]
    return check(parsed, rules, catalog, profile=profile)


@pytest.mark.parametrize("row", _TABLE["rows"], ids=lambda row: f"{row['dialect']}: {row['sql'][:60]!r}")
def test_every_call_of_a_routine_gets_its_verdict(parser: Parser, row: dict[str, Any]) -> None:
    """Verdict, deciding node, reason and flags are those of the row."""
    catalog = _catalog(row["dialect"], _TABLE["routines"][row["dialect"]])
    verdict = _check(parser, row["sql"], catalog, row.get("profile", "dql"))
    assert verdict.allowed is row["allowed"], verdict.reason
    assert verdict.node == row.get("node")
    assert row.get("says", "") in verdict.reason
    assert verdict.flags == tuple(row.get("flags", ()))


@pytest.mark.parametrize("sql", ["SELECT f_total(1)", "SELECT public.f_total(1)", "SELECT * FROM f_rows()"])
def test_what_is_allowed_is_allowed_by_the_list_alone(parser: Parser, sql: str) -> None:
    """The same call of the same function is refused once the pack does not allow it."""
    found = [{**routine, "allowed": False} for routine in _TABLE["routines"]["postgres"]]
    assert _check(parser, sql, _catalog("postgres", _TABLE["routines"]["postgres"])).allowed is True
    assert _check(parser, sql, _catalog("postgres", found)).node == "function"


@pytest.mark.skipif(find_spec("pglast") is None, reason="needs pglast, extra `guard`")
def test_the_second_parser_sees_the_same_calls(parser: Parser) -> None:
    """A call that only the second parser sees stays a disagreement, whatever is allowed."""
    from dataclasses import replace

    catalog = _catalog("postgres", _TABLE["routines"]["postgres"])
    rules = adapter("postgres").rules
    parsed = parser.parse("SELECT public.f_total(1)", "postgres", catalog, sqlglot_dialect="postgres")
    assert parsed.second is not None
    assert check(parsed, rules, catalog).allowed is True
    other = replace(parsed, second=replace(parsed.second, calls=parsed.second.calls | {"public.f_wipe"}))
    assert check(other, rules, catalog).node == "disagreement"


def test_a_catalogue_of_format_1_tells_of_no_routine(parser: Parser) -> None:
    """An earlier catalogue is read as it was, and a call of a routine is a call of an unknown function."""
    whole = _catalog("postgres", [])
    old = Catalog.model_validate({**whole.model_dump(exclude={"routines"}), "format": 1})
    assert (old.format, old.routines) == (1, ())
    assert _check(parser, "SELECT f_wipe()", old).node == "unknown_function"
