"""The collation of an order key decides what ties: the engine that knows it is asked to rank the rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest

from sqlassay.cases.presets import preset
from sqlassay.cases.relation import Column, Relation
from sqlassay.harness.compare import may_tie
from sqlassay.harness.parse import Parser
from sqlassay.harness.results.parsed import ParsedQuery
from sqlassay.harness.results.verdicts import Comparison
from sqlassay.harness.verdict import GoldRows, judge_rows

ROWS = [(1, "b", 5), (2, "B", 6), (3, "a", 7), (4, "A", 8), (5, "c", 9)]


class Bench:
    """A database whose column `ci` ignores case and whose column `cs` does not."""

    def __init__(self, parser: Parser) -> None:
        self._parser = parser
        self._connection = sqlite3.connect(":memory:")
        self._connection.execute("CREATE TABLE t(id INTEGER, ci TEXT COLLATE NOCASE, n INTEGER, cs TEXT)")
        self._connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", [(*row, row[1]) for row in ROWS])

    def rows(self, sql: str) -> Relation:
        cursor = self._connection.execute(sql)
        return Relation(tuple(Column(each[0]) for each in cursor.description), tuple(cursor.fetchall()))

    def parsed(self, sql: str) -> ParsedQuery:
        return self._parser.parse(sql, "sqlite", None, sqlglot_dialect="sqlite")

    def judged(self, gold: str, answer: str) -> Comparison:
        """Judge as a run does: the probe, then the ranks where texts of neighbours may be equal."""
        order, relation = self.parsed(gold).order, self.rows(gold)
        assert order is not None
        probe = None if order.probe_sql is None else self.rows(order.probe_sql)
        if may_tie(order, relation, probe):
            assert order.rank_sql is not None
            probe = self.rows(order.rank_sql)
        return judge_rows(GoldRows(relation, gold, order, probe), self.rows(answer), preset("strict"))


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with Parser() as parser:
        yield Bench(parser)


@pytest.mark.parametrize(
    ("gold", "answer", "verdict"),
    [
        ("SELECT id, ci FROM t ORDER BY ci", "SELECT id, ci FROM t ORDER BY ci, id DESC", "match"),
        ("SELECT id, ci FROM t ORDER BY ci DESC", "SELECT id, ci FROM t ORDER BY ci DESC, id DESC", "match"),
        ("SELECT id, ci AS x FROM t ORDER BY x", "SELECT id, ci FROM t ORDER BY ci, id DESC", "match"),
        ("SELECT id FROM t ORDER BY ci", "SELECT id FROM t ORDER BY ci, id DESC", "match"),
        ("SELECT * FROM t ORDER BY ci", "SELECT * FROM t ORDER BY ci, id DESC", "match"),
        ("SELECT id, ci FROM t ORDER BY ci", "SELECT id, ci FROM t ORDER BY ci DESC", "mismatch"),
        ("SELECT id, ci FROM t ORDER BY ci, id", "SELECT id, ci FROM t ORDER BY ci, id DESC", "mismatch"),
        ("SELECT id, cs FROM t ORDER BY cs", "SELECT id, cs FROM t ORDER BY lower(cs), id", "mismatch"),
        ("SELECT id, cs FROM t ORDER BY lower(cs)", "SELECT id, cs FROM t ORDER BY lower(cs), id DESC", "match"),
        ("SELECT ci, sum(n) FROM t GROUP BY id, ci ORDER BY ci", "SELECT ci, n FROM t ORDER BY ci, n DESC", "match"),
    ],
)
def test_rows_tied_by_the_collation_of_their_key_may_permute(
    bench: Bench, gold: str, answer: str, verdict: str
) -> None:
    """What the column's own collation calls equal is a tie; what only looks alike is none."""
    assert bench.judged(gold, answer).verdict == verdict


def test_a_limit_that_cuts_such_a_tie_is_noted(bench: Bench) -> None:
    """The row past the LIMIT has the rank of the last one."""
    found = bench.judged("SELECT id, ci FROM t ORDER BY ci LIMIT 1", "SELECT id, ci FROM t ORDER BY ci LIMIT 1")
    assert (found.verdict, found.flags) == ("match", ("cut_tie",))


@pytest.mark.parametrize(
    ("first", "second", "asked"),
    [("a", "A", True), ("e", "\u00c9", True), ("a", "a ", True), ("a", "b", False), ("a", "a", False), (1, 2, False)],
)
def test_the_engine_is_asked_only_where_texts_may_be_equal(
    bench: Bench, first: object, second: object, asked: bool
) -> None:
    """Case, accents and blanks at the end are what collations leave out; all else needs no second run."""
    order = bench.parsed("SELECT ci FROM t ORDER BY ci").order
    assert order is not None
    assert may_tie(order, Relation((Column("ci"),), ((first,), (second,))), None) is asked
