"""Every SELECT's clauses are read as plain facts, aliases and ordinals resolved, in each dialect's own spelling."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sqlassay.harness.parse import Parser
from sqlassay.harness.results.blocks import Block


@pytest.fixture(scope="module")
def parser() -> Iterator[Parser]:
    """One parser for the module."""
    with Parser() as started:
        yield started


def _blocks(parser: Parser, sql: str, dialect: str = "postgres") -> tuple[Block, ...]:
    """Return the blocks of one text."""
    parsed = parser.parse(sql, dialect, sqlglot_dialect=dialect)
    assert parsed.error is None
    return parsed.blocks


def _conditions(block: Block) -> list[tuple[str, str, tuple[str, ...], bool, str]]:
    """Return a block's conditions as plain tuples."""
    return [(each.lhs, each.op, each.rhs, each.literal, each.clause) for each in block.conditions]


@pytest.mark.parametrize("dialect", ["postgres", "mysql", "sqlite"])
@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("c = 'x'", ("c", "=", ("x",), True)),
        ("2023 <= t.c", ("c", ">=", ("2023",), True)),
        ("c <> -1", ("c", "!=", ("-1",), True)),
        ("c IS NULL", ("c", "is null", (), True)),
        ("c IS NOT NULL", ("c", "is not null", (), True)),
        ("NOT (c IS NULL)", ("c", "is not null", (), True)),
        ("c LIKE 'a%'", ("c", "like", ("a%",), True)),
        ("c NOT LIKE 'a'", ("c", "not like", ("a",), True)),
        ("c IN (1, 2)", ("c", "in", ("1", "2"), True)),
        ("c NOT IN (1)", ("c", "not in", ("1",), True)),
        ("c BETWEEN 1 AND 2", ("c", "between", ("1", "2"), True)),
        ("c NOT BETWEEN 1 AND 2", ("c", "not between", ("1", "2"), True)),
        ("(c = 1 OR c = 2)", ("c", "in", ("1", "2"), True)),
        ("LOWER(c) = LOWER('X')", ("c", "=", ("X",), True)),
        ("c", ("c", "=", ("true",), True)),
        ("NOT c", ("c", "=", ("false",), True)),
        ("c > d + 1", ("c", ">", ("d + 1",), False)),
        ("(c = 1 OR d = 2)", ("", "or", ("c = 1", "d = 2"), False)),
    ],
)
def test_a_condition_is_a_triple(
    parser: Parser, dialect: str, text: str, row: tuple[str, str, tuple[str, ...], bool]
) -> None:
    """Left side, operator and values stand apart, constants without quotes and on the right."""
    (block,) = _blocks(parser, f"SELECT a FROM t WHERE {text}", dialect)
    assert _conditions(block) == [(*row, "where")]


def test_having_order_and_group_name_what_their_aliases_mean(parser: Parser) -> None:
    """Output names and ordinals become the expressions behind them."""
    sql = "SELECT a AS x, SUM(b) AS total FROM t GROUP BY 1 HAVING total > 10 ORDER BY total DESC, x LIMIT 7"
    (block,) = _blocks(parser, sql, "mysql")
    assert [(each.sql, each.name, each.aggregate) for each in block.selected] == [
        ("a", "x", False),
        ("SUM(b)", "total", True),
    ]
    assert [(each.function, each.column, each.distinct, each.selected) for each in block.called] == [
        ("sum", "b", False, True)
    ]
    assert block.grouped == ("a",)
    assert _conditions(block) == [("SUM(b)", ">", ("10",), True, "having")]
    assert [(each.sql, each.direction, each.aggregate) for each in block.sorted] == [
        ("SUM(b)", "desc", True),
        ("a", "asc", False),
    ]
    assert (block.limit, block.limited) == (7, True)


def test_a_filter_on_a_named_aggregate_of_a_cte_is_on_that_aggregate(parser: Parser) -> None:
    """Names resolve through CTEs; joins, and subqueries whose own conditions are listed, are no conditions."""
    sql = (
        "WITH s AS (SELECT c, COUNT(DISTINCT k) AS n FROM o GROUP BY c) SELECT s.c FROM s JOIN u ON u.c = s.c "
        "AND u.live = 'yes' WHERE n > 3 AND u.id IN (SELECT id FROM z WHERE q = 1)"
    )
    outer, *inner = _blocks(parser, sql)
    assert outer.outermost is True
    assert {row[:3] for row in _conditions(outer)} == {
        ("COUNT(DISTINCT k)", ">", ("3",)),
        ("live", "=", ("yes",)),
    }
    assert sorted(row[:3] for block in inner for row in _conditions(block)) == [("q", "=", ("1",))]
    assert [(each.function, each.column, each.distinct) for block in inner for each in block.called] == [
        ("count", "k", True)
    ]


def test_the_outermost_order_and_limit_are_the_whole_texts(parser: Parser) -> None:
    """A set operation's LIMIT belongs to its first block; a window's sum is no aggregate; a change has no block."""
    first, second = _blocks(parser, "SELECT a FROM t UNION ALL SELECT SUM(b) OVER () FROM v ORDER BY 1 LIMIT 5")
    assert (first.limit, second.limited, second.called) == (5, False, ())
    assert _blocks(parser, "DELETE FROM t WHERE a = 1") == ()
    assert _blocks(parser, "(SELECT 1 LIMIT 3) LIMIT 2")[0].limit == 2


def test_a_limit_that_is_no_literal_is_still_a_limit(parser: Parser) -> None:
    """`limited` holds where the number is not known."""
    (block,) = _blocks(parser, "SELECT a FROM t LIMIT 2 + 3")
    assert (block.limit, block.limited) == (None, True)


def test_deeply_nested_conditions_are_not_written_out(parser: Parser) -> None:
    """A text never grows with the square of its depth; what is inside has blocks of its own."""
    deep = "SELECT a FROM t WHERE a NOT IN " + "(SELECT a FROM t WHERE b > 1 AND a NOT IN " * 8 + "(1)" + ")" * 8
    outer, *inner = _blocks(parser, deep)
    assert _conditions(outer) == [("", "other", ("a condition of nested queries",), False, "where")]
    assert len(inner) == 8
    assert sum(len(str(block)) for block in (outer, *inner)) < 10_000
