"""What a statement is known for is read from its typed tree."""

from __future__ import annotations

import pytest

from dialect_adapters.sqlite.reading import read
from dialect_adapters.transpile.causes import Difference
from dialect_adapters.transpile.facts import INTEGER, NUMBER, TEXT, Affinity, ColumnFacts, Form, SchemaFacts, Typed
from dialect_adapters.transpile.suspects import suspected_calls, suspects

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
