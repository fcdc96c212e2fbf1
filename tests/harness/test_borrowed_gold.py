"""What a rewritten gold is worth: usable only where it gave the rows the native one gives."""

from __future__ import annotations

import pytest

from sqlassay.cases.case import Case
from sqlassay.cases.relation import Column, Kind, Relation
from sqlassay.harness.borrowed_gold import source_of, verified
from sqlassay.harness.results.evidence import GoldAnswer
from sqlassay.harness.results.parsed import ParsedQuery

PARSED = ParsedQuery("SELECT 1", "sqlite", "sqlglot")


def answer(*cells: object, failure: str | None = None) -> GoldAnswer:
    """Return a gold answer with one column of these cells, or one that failed."""
    relation = None if failure else Relation((Column("n", Kind.INT),), tuple((cell,) for cell in cells))
    return GoldAnswer("SELECT 1", PARSED, relation, failure=failure)


@pytest.mark.parametrize(
    ("native", "other", "status", "reason"),
    [
        (answer(1, 2), answer(2, 1), "transpiled-verified", None),
        (answer(1, 2), answer(1, 3), "unavailable", "gives other rows on mysql"),
        (answer(1), answer(failure="error: no"), "unavailable", "failed: error: no"),
        (answer(failure="timeout: slow"), answer(1), "transpiled-unverified", "no rows to compare with"),
    ],
)
def test_only_the_same_rows_verify(native, other, status, reason):
    """Other rows, a failure, or nothing to compare with leave no gold, and the reason is said."""
    found = verified(native, other, "sqlite", "mysql")
    assert found.status == status
    assert found.usable == (status == "transpiled-verified")
    assert found.failure is None if reason is None else reason in found.failure


@pytest.mark.parametrize(
    ("fields", "source"),
    [
        ({"gold": {"sqlite": "SELECT 1"}}, "sqlite"),
        ({"gold": {"sqlite": "SELECT 1", "mysql": "SELECT 1"}}, None),
        ({"gold": {"postgres": "SELECT 1"}}, "postgres"),
        ({"gold": {"postgres": "SELECT 1", "sqlite": "SELECT 1"}}, "sqlite"),
        ({"gold": {"duckdb": "SELECT 1"}}, None),
        ({"gold": {"no such engine": "SELECT 1"}}, None),
        ({"gold": {"sqlite": "DELETE FROM t"}, "query_type": "dml"}, None),
        ({"gold": {"sqlite": "SELECT 1"}, "out_of_scope": True}, None),
    ],
)
def test_only_readable_queries_are_borrowed(fields, source):
    """Gold is rewritten where this dialect has none, and only queries of a dialect that can be read."""
    assert source_of(Case(id="a", question="?", snapshot="s", **fields), "mysql") == source
