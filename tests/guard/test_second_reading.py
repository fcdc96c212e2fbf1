"""Where a second parser reads a text, it must see nothing the first one does not."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec

import pytest

from sqlassay.dialect_adapters.postgres.grammar import RULES
from sqlassay.harness.guard import check
from sqlassay.harness.parse.facts import facts_of
from sqlassay.harness.parse.second import second_reading
from sqlassay.harness.results.parsed import ParsedQuery, SecondReading, TableRef

_SQL = "WITH r AS (SELECT id FROM orders) SELECT count(*) FROM r"
_PARSED = ParsedQuery(
    _SQL,
    "postgres",
    "sqlglot",
    root="select",
    nodes=frozenset({"select", "cte", "with", "column", "count", "from", "identifier", "star", "table", "tablealias"}),
    tables=frozenset({TableRef("orders")}),
    ctes=("r",),
    lexmap="".join(" " if character == " " else "c" for character in _SQL),
)
_AGREES = SecondReading(
    None, 1, frozenset({"SelectStmt"}), frozenset({("orders", ""), ("r", "")}), frozenset({"count"})
)
_NEEDS_PGLAST = pytest.mark.skipif(find_spec("pglast") is None, reason="needs pglast, extra `guard`")


def test_agreement_and_absence_pass() -> None:
    """A second reading that agrees changes nothing, nor does having none."""
    assert check(_PARSED, RULES, None).allowed is True
    assert check(replace(_PARSED, second=_AGREES), RULES, None).allowed is True


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"statements": 2}, "two parsers count 1 and 2 statements"),
        ({"kinds": frozenset({"SelectStmt", "DeleteStmt"})}, "sees 'DeleteStmt'"),
        ({"kinds": frozenset({"SelectStmt", "ExplainStmt"})}, "sees 'ExplainStmt'"),
        ({"kinds": frozenset({"SelectStmt", "intoClause"})}, "sees 'intoClause'"),
        ({"calls": frozenset({"count", "pg_sleep"})}, "sees a call of 'pg_sleep'"),
        ({"calls": frozenset({"evil.count"})}, "sees a call of 'evil.count'"),
        ({"tables": frozenset({("orders", ""), ("gold", "")})}, "sees the table 'gold'"),
        ({"tables": frozenset({("orders", ""), ("r", "eval")})}, "sees the table 'r'"),
    ],
)
def test_every_disagreement_is_rejected(change: dict[str, object], reason: str) -> None:
    """Statements, kinds, calls and tables that only the second parser sees each reject the text."""
    verdict = check(replace(_PARSED, second=replace(_AGREES, **change)), RULES, None)
    assert (verdict.allowed, verdict.node) == (False, "disagreement")
    assert reason in verdict.reason


def test_what_the_engines_own_grammar_refuses_is_a_syntax_error() -> None:
    """The engine would have said so too: the agent's slip, with the engine's words."""
    verdict = check(replace(_PARSED, second=SecondReading("line 1, column 2: syntax error")), RULES, None)
    assert (verdict.allowed, verdict.node) == (False, "syntax_error")
    assert "line 1, column 2: syntax error" in verdict.reason


@_NEEDS_PGLAST
def test_the_second_reading_has_everything_that_stands_in_a_text() -> None:
    """Statements at any depth, tables with their schema and calls by name; grammar's own calls are left out."""
    sql = "WITH d AS (DELETE FROM a.b RETURNING f(x)) SELECT extract(year from now()), pg_catalog.g(1) INTO t FROM d"
    assert second_reading(sql, "postgres") == {
        "error": None,
        "statements": 1,
        "kinds": ["DeleteStmt", "SelectStmt", "intoClause"],
        "tables": [("b", "a"), ("d", ""), ("t", "")],
        "calls": ["f", "now", "pg_catalog.g"],
    }
    assert second_reading("SELECT 1\n FROM FROM", "postgres") == {
        "error": 'line 2, column 7: syntax error at or near "FROM"'
    }


@_NEEDS_PGLAST
def test_the_worker_reads_postgres_twice_and_the_others_once() -> None:
    """Only the dialect with a second parser carries a second reading."""
    assert facts_of("SELECT 1", "postgres", None)["second"]["statements"] == 1
    assert facts_of("SELECT 1", "sqlite", None)["second"] is None
