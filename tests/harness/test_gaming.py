"""An answer that computes nothing never matches, and one that computes is not taken for it."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from functools import cache
from typing import Any

import duckdb
import pytest
from rows import rows_of

from sqlassay.cases.catalog import Catalog, CatalogColumn, CatalogTable
from sqlassay.cases.presets import preset, preset_names
from sqlassay.cases.relation import Column, Kind, Relation
from sqlassay.harness.parse import Parser
from sqlassay.harness.results.evidence import GoldAnswer
from sqlassay.harness.results.parsed import ParsedQuery
from sqlassay.harness.results.verdicts import Comparison
from sqlassay.harness.verdict import GoldRows, credited, judge_rows

TABLE = rows_of("gaming")
OURS = tuple(name for name in preset_names() if preset(name).peer is None)
TABLES = {
    "singer": {"id": "INTEGER", "name": "TEXT", "country": "TEXT", "age": "INTEGER"},
    "concert": {"id": "INTEGER", "singer_id": "INTEGER", "city": "TEXT", "price": "REAL"},
    "staff": {"id": "INTEGER", "city": "TEXT", "hired": "DATE", "active": "BOOLEAN"},
}


class Bench:
    """A small database, and what each text gives on it."""

    def __init__(self, parser: Parser, dialect: str) -> None:
        self._parser, self._dialect = parser, dialect
        self._connection: Any = (sqlite3 if dialect == "sqlite" else duckdb).connect(":memory:")
        for name, columns in TABLES.items():
            self._connection.execute(f"CREATE TABLE {name}({', '.join(map(' '.join, columns.items()))})")
        singers = [
            (1, "Joe", "France", 52), (2, "Tim", "France", 19), (3, "Ann", "Spain", 31), (4, "Rose", "France", 25),
            (5, "Jo", "Italy", 45), (6, "Lee", "Spain", 11), (7, "Kim", "Italy", 60),
        ]  # fmt: skip
        concerts = [(i, i % 7 + 1, ("Paris", "Rome")[i % 2], i * 8.5 + 5.99) for i in range(12)]
        self._connection.executemany("INSERT INTO singer VALUES (?, ?, ?, ?)", singers)
        self._connection.executemany("INSERT INTO concert VALUES (?, ?, ?, ?)", concerts)
        staff = [(1, "Rome", "2020-02-03", True), (2, "Rome", "2020-11-30", False), (3, "Oslo", "2021-05-01", True)]
        self._connection.executemany("INSERT INTO staff VALUES (?, ?, ?, ?)", staff)
        self._catalog = Catalog(
            snapshot="s", dialect=dialect, engine_version="", database="main",
            tables=tuple(
                CatalogTable(
                    name=name,
                    columns=tuple(CatalogColumn(name=c, kind=Kind.OTHER, declared="") for c in columns),
                )
                for name, columns in TABLES.items()
            ),
        )  # fmt: skip

    @cache  # noqa: B019 (the bench lives as long as the module)
    def asked(self, sql: str) -> tuple[Relation, ParsedQuery]:
        cursor = self._connection.execute(sql)
        columns = tuple(Column(each[0]) for each in cursor.description)
        parsed = self._parser.parse(sql, self._dialect, self._catalog, sqlglot_dialect=self._dialect)
        assert parsed.error is None, sql
        return Relation(columns, tuple(cursor.fetchall())), parsed

    def judged(self, gold: str, answer: str, policy: str) -> tuple[Comparison, float | None]:
        ours, facts = self.asked(gold)
        theirs, wrote = self.asked(answer)
        rows = GoldRows.of(GoldAnswer(gold, facts, ours))
        return credited(
            rows,
            theirs,
            preset(policy),
            constants=wrote.constants(len(theirs.columns)),
            literals=wrote.repeated(theirs),
        )


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with Parser() as parser:
        yield Bench(parser, "sqlite")


@pytest.fixture(scope="module")
def benches(bench: Bench) -> Iterator[dict[str, Bench]]:
    with Parser() as parser:
        yield {"sqlite": bench, "duckdb": Bench(parser, "duckdb")}


def answers() -> list[str]:
    """Return the answers that compute nothing, ranges written out."""
    spelled = re.compile(r"\{(\d+)\.\.(\d+)\}")
    return [
        spelled.sub(lambda found: ", ".join(map(str, range(int(found[1]), int(found[2]) + 1))), text)
        for text in TABLE["answers"]
    ]


def test_there_are_enough_answers_that_compute_nothing() -> None:
    """The set has more than sixty answers, each another."""
    assert len(set(answers())) == len(answers()) > 60
    assert {"strict", "skill", "cross_dialect"} == set(OURS)


@pytest.mark.parametrize("answer", answers(), ids=range(len(answers())))
def test_an_answer_that_computes_nothing_matches_no_gold(bench: Bench, answer: str) -> None:
    """Under every preset that is no peer's there is no match, and no partial credit under any."""
    for gold in TABLE["golds"]:
        for policy in OURS:
            found, credit = bench.judged(gold, answer, policy)
            assert found.verdict == "mismatch", (gold, policy, found)
            assert not credit, (gold, policy)


@pytest.mark.parametrize(
    ("row", "dialect"), [(row, dialect) for row in TABLE["right"] for dialect in row.get("dialects", ["sqlite"])]
)
def test_a_right_answer_with_a_constant_in_it_matches(
    benches: dict[str, Bench], row: dict[str, str], dialect: str
) -> None:
    """A constant beside what is computed, for a constant of the gold, or for a column held equal to it is right."""
    assert benches[dialect].judged(row["gold"], row["answer"], "skill")[0].verdict == "match"


def test_the_reason_names_the_columns_that_read_no_table(bench: Bench) -> None:
    """A person learns which column is refused and why."""
    found, _ = bench.judged("SELECT count(*) FROM singer", "SELECT 7 AS n", "skill")
    assert (found.verdict, found.rule) == ("mismatch", "constants")
    assert found.reason == "'n' of the prediction reads no table, so it stands for no column that the gold computes"


def test_more_columns_than_the_limit_are_named(bench: Bench) -> None:
    """The reason says how many columns there are and which field of the policy sets the limit."""
    found, _ = bench.judged("SELECT count(*) FROM singer", "SELECT id, age, id, age, count(*) FROM singer", "skill")
    assert (found.verdict, found.rule) == ("mismatch", "extra_columns")
    assert found.reason == "the gold has 1 columns, the prediction 5: more than 3 beside them (max_extra_columns)"


def test_a_match_by_choice_among_equal_columns_is_flagged(bench: Bench) -> None:
    """Where another predicted column would have done as well, the match says so."""
    gold = "SELECT count(*) FROM singer"
    assert bench.judged(gold, "SELECT count(*), count(id), 3 FROM singer", "skill")[0].flags == ("chosen_columns",)
    assert bench.judged(gold, "SELECT count(*), max(age), 7 FROM singer", "skill")[0].flags == ()


def test_a_peer_keeps_its_rule_and_is_marked(bench: Bench) -> None:
    """A peer accepts an answer that computes nothing, flaws included; the comparison carries the note."""
    found, _ = bench.judged("SELECT count(*) FROM singer", "SELECT 7", "bird")
    assert (found.verdict, found.flags) == ("match", ("constants",))
    assert bench.judged("SELECT count(*) FROM singer", "SELECT count(id) FROM singer", "bird")[0].flags == ()


@pytest.mark.parametrize("answer", TABLE["by_literal"])
def test_a_match_by_a_number_of_the_text_is_flagged(bench: Bench, answer: str) -> None:
    """One row whose number the prediction writes itself is told, where the gold computes it."""
    found, _ = bench.judged("SELECT count(*) FROM singer", answer, "skill")
    assert (found.verdict, "value_by_literal" in found.flags) == ("match", True)


@pytest.mark.parametrize("row", TABLE["unflagged"], ids=range(len(TABLE["unflagged"])))
def test_a_number_that_is_not_the_value_is_not_flagged(bench: Bench, row: dict[str, str]) -> None:
    """Numbers of conditions, defaults of 0, percents, places to round to and numbers of the gold are usual."""
    found, _ = bench.judged(row["gold"], row["answer"], "skill")
    assert (found.verdict, "value_by_literal" in found.flags) == ("match", False)


def test_rows_alone_know_of_no_constants() -> None:
    """Where only relations are compared a constant looks like any other value."""
    one = Relation((Column("n"),), ((7,),))
    assert judge_rows(GoldRows(one), one, preset("skill")).verdict == "match"
