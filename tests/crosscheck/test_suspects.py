"""What a statement is known for is read from its typed tree."""

from __future__ import annotations

import pytest

from sqlassay.cases.relation import Kind
from sqlassay.cases.snapshot import ColumnDef, Snapshot, TableDef
from sqlassay.dialect_adapters.mysql.adapter import MysqlAdapter
from sqlassay.dialect_adapters.postgres.adapter import PostgresAdapter
from sqlassay.dialect_adapters.sqlite.reading import read
from sqlassay.dialect_adapters.transpile.causes import Difference
from sqlassay.dialect_adapters.transpile.facts import (
    INTEGER,
    NUMBER,
    TEXT,
    Affinity,
    ColumnFacts,
    Form,
    SchemaFacts,
    Typed,
)
from sqlassay.dialect_adapters.transpile.rewrite import rewrite
from sqlassay.dialect_adapters.transpile.suspects import suspected_calls, suspects

FACTS = SchemaFacts(
    {
        "t": (
            ColumnFacts("n", Typed(INTEGER, Affinity.INTEGER), Form.INT),
            ColumnFacts("s", Typed(TEXT, Affinity.TEXT), Form.TEXT),
            ColumnFacts("mixed", Typed(NUMBER | TEXT, Affinity.NUMERIC), Form.TEXT),
        )
    }
)


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("SELECT n FROM t WHERE n > 1", []),
        ('SELECT n FROM t WHERE s = "Rome"', ["quoted string"]),
        ('SELECT "n" FROM t', ["quoted name"]),
        ("SELECT n FROM t WHERE s LIKE 'a%'", ["LIKE case"]),
        ("SELECT n / 2 FROM t", ["integer division"]),
        ("SELECT n FROM t WHERE s = 1", ["text and number"]),
        ("SELECT n FROM t WHERE s IN (1, 2)", ["text and number"]),
        ("SELECT SUM(s) FROM t", ["text and number", "function meaning"]),
        ("SELECT strftime('%Y', s) FROM t", ["date function"]),
        ("SELECT CAST(n AS TEXT) FROM t", ["cast"]),
        ("SELECT s || 'x' FROM t", ["concatenation"]),
        ("SELECT AVG(n) FROM t", ["AVG decimals"]),
        ("SELECT substr(s, -2) FROM t", ["function meaning"]),
        ("SELECT length(s) FROM t", ["function meaning"]),
        ("SELECT group_concat(s) FROM t", ["order inside an aggregate"]),
        ("SELECT mixed FROM t", ["mixed column as text"]),
        ("SELECT x'41'", ["literal"]),
        (r"SELECT 'a\b'", ["literal"]),
        ("SELECT n FROM t ORDER BY n", ["tie order", "NULL order"]),
        ("SELECT n FROM t ORDER BY s", ["tie order", "NULL order", "collation"]),
        ("SELECT DISTINCT n FROM t ORDER BY n", ["tie order", "NULL order", "DISTINCT ORDER BY"]),
        ("SELECT n FROM (SELECT n FROM t WHERE s LIKE 'b%') AS d", ["LIKE case"]),
    ],
)
def test_suspicions(sql, found):
    """Each statement is suspected of what it holds, and of nothing else."""
    assert suspects(read(sql, FACTS)) == tuple(Difference(name) for name in found)


def test_calls_alone_are_suspicious():
    """Of a statement that cannot be typed the functions are known; those that all engines share say nothing."""
    found = suspected_calls(["json_extract", "count", "strftime"])
    assert found == (Difference.DATE_FUNCTION, Difference.FUNCTION_MEANING)
    assert suspected_calls(["count", "max"]) == ()


PEOPLE = TableDef("people", (ColumnDef("id", Kind.INT), ColumnDef("score", Kind.INT)))


@pytest.mark.parametrize(
    ("sql", "leave", "kept", "lost"),
    [
        ('SELECT "score" FROM people', "quoted name", 'SELECT "score" AS', "`people`.`score`"),
        ('SELECT id AS "s" FROM people ORDER BY "s" DESC', "quoted name", '"s" DESC', "`s` DESC"),
        ('SELECT id FROM people WHERE people."score" = 5', "quoted name", '"score" = 5', "`score` = 5"),
        ("SELECT score FROM people", "quoted name", "`people`.`score`", '"score"'),
        ('SELECT id FROM people ORDER BY "score"', "NULL order", "ORDER BY `people`.`score`", '"score"'),
        ('SELECT AVG("score") FROM people', "AVG decimals", "AVG(`people`.`score`)", '"score"'),
    ],
)
def test_a_name_in_quotes_of_postgres_is_left_for_its_own_cause_alone(sql, leave, kept, lost):
    """MySQL reads a quoted column as text: the quotes stay where they are the suspect, and with no other."""
    snapshot = Snapshot("s", "s", "0", (PEOPLE,))
    leaving = frozenset((Difference(leave),))
    text = rewrite(sql, snapshot, PostgresAdapter(), MysqlAdapter(), leave=leaving, lenient=True).sql
    assert kept in text
    assert lost not in text
    assert '"' not in rewrite(sql, snapshot, PostgresAdapter(), MysqlAdapter(), lenient=True).sql
