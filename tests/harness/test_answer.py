"""An answer is read as the statement in it by declared rules; SQL stays as it is, and what is none is unreadable."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows import rows_of

from sqlassay.dialect_adapters.contract import GrammarRules
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.harness.answer import LONGEST, read_answer

_TABLE = rows_of("answers")
_DIALECTS = ("sqlite", "postgres", "mysql", "mariadb", "duckdb")
_SELECT = "SELECT id, status\nFROM orders\nWHERE status = 1"
_ONE_LINE = "SELECT id, status FROM orders WHERE status = 1"


def _rules(dialect: str) -> GrammarRules:
    """Return a dialect's own rules."""
    return adapter(dialect).rules


def _statement(row: dict[str, Any], sql: str) -> str:
    """Return the row's text with the statement in it."""
    return str(row["text"]).replace("{SQL}", sql)


@pytest.mark.parametrize("row", _TABLE["forms"], ids=lambda row: row["text"][:50])
@pytest.mark.parametrize("sql", [_ONE_LINE, "DROP TABLE orders"])
def test_a_statement_in_any_form_is_read_as_itself(row: dict[str, Any], sql: str) -> None:
    """Every dialect finds the statement, by the rules of the row, whether it is harmless or not."""
    for dialect in row.get("only", _DIALECTS):
        answer = read_answer(_statement(row, sql), _rules(dialect))
        assert list(answer.rules) == row["rules"], dialect
        found = (answer.sql or "").strip()
        assert found in {sql, f"{sql};", *([_statement(row, sql).strip()] if not row["rules"] else [])}, dialect
        assert answer.text == (None if answer.sql == _statement(row, sql) else _statement(row, sql))


@pytest.mark.parametrize(
    "row", [row for row in _TABLE["forms"] if '"' not in row["text"]], ids=lambda r: r["text"][:50]
)
def test_a_statement_of_several_lines_keeps_them(row: dict[str, Any]) -> None:
    """Line breaks inside a statement are no ends of it, whatever stands around."""
    for dialect in row.get("only", _DIALECTS):
        found = (read_answer(_statement(row, _SELECT), _rules(dialect)).sql or "").strip()
        assert _SELECT in found, dialect


@pytest.mark.parametrize("row", _TABLE["kept"], ids=lambda row: row["sql"][:50])
def test_sql_stays_as_it_is(row: dict[str, Any]) -> None:
    """What stands in literals, names and comments is no form of an answer, and several statements stay several."""
    for dialect in row.get("dialects", _DIALECTS):
        answer = read_answer(row["sql"], _rules(dialect))
        assert (answer.sql, answer.rules, answer.text) == (row["sql"], (), None), dialect


@pytest.mark.parametrize("text", _TABLE["unreadable"])
def test_a_text_without_a_statement_is_unreadable(text: str) -> None:
    """There is no SQL, the reason shows the text, and the text is kept."""
    for dialect in _DIALECTS:
        answer = read_answer(text, _rules(dialect))
        assert answer.sql is None, dialect
        assert answer.reason.startswith("unreadable answer: no SQL statement begins in it")
        assert answer.text == text


@pytest.mark.parametrize("row", _TABLE["several"], ids=lambda row: row["text"][:50])
def test_several_statements_are_read_as_several(row: dict[str, Any]) -> None:
    """None of them is chosen: the guard sees all."""
    assert {read_answer(row["text"], _rules(dialect)).sql for dialect in _DIALECTS} == {row["sql"]}


def test_plain_queries_of_the_tables_stay_as_they_are() -> None:
    """No analytical question of the table of plain queries is changed by a character, in a comment's company either."""
    plain = rows_of("plain")
    for dialect, queries in plain["queries"].items():
        for sql in queries:
            for text in (sql, f"-- Here is the query:\n{sql}", f"{sql}\n-- This is it.\n"):
                assert read_answer(text, _rules(dialect)).sql == text


_PIECES = st.sampled_from(
    ["SELECT 1", "DROP TABLE t", "```", "```sql\n", "\n", ";", "'", '"', "`", "--", "/*", "*/", "$$", "{", "}", '"sql"']
    + [
        ":",
        ". ",
        "This is it.",
        "Answer: ",
        "<sql>",
        "</sql>",
        "</think>",
        "x",
        "\\",
        "#",
        "(",
        ")",
        "[",
        "]",
        "\ufeff",
    ]
)


@given(st.lists(_PIECES, max_size=14).map("".join), st.sampled_from(_DIALECTS))
def test_a_reading_is_stable_and_stands_in_the_answer(text: str, dialect: str) -> None:
    """Read twice, an answer gives the same; what was read reads as itself, and nothing but cuts made it."""
    answer = read_answer(text, _rules(dialect))
    assert answer == read_answer(text, _rules(dialect))
    if answer.sql is None:
        return
    for line in answer.sql.replace(";\n", "\n").split("\n"):
        assert line.strip() in text or "\\" in text or '"' in text
    if not answer.rules:
        assert answer.sql == text


@pytest.mark.parametrize(
    "text",
    [
        "<think>" * 30_000,
        "<sql>" * 40_000,
        "```" * 60_000,
        "SELECT 1;\n" + "word\n" * 40_000,
        "x\n" + "WITH a b\n" * 25_000,
        "Use it: select " * 15_000,
        '{"sql": ' * 30_000,
        "[" * 200_000,
        "'" * 200_000,
        "`a " * 80_000,
        "SELECT 1\n```\n" * 18_000,
        "SELECT 1\nAnswer: x\n" * 12_000,
        "/*" * 100_000,
    ],
    ids=lambda text: text[:15],
)
@pytest.mark.slow
def test_no_text_is_slow_to_read(text: str) -> None:
    """A quarter of a megabyte of the worst is read in about a second, of a longer one nothing is looked into."""
    for dialect in ("postgres", "mysql"):
        began = time.process_time()
        read_answer(text[:LONGEST], _rules(dialect))
        assert time.process_time() - began < 20  # A reading in the square of the length takes minutes.
    assert read_answer("x" * (LONGEST + 1), _rules("sqlite")).rules == ()
