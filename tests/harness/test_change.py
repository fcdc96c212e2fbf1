"""How two states are compared: every part counts, rows as a bag under the policy, and what differs is named."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sqlassay.cases.case import Case
from sqlassay.cases.catalog import Catalog
from sqlassay.cases.outcome import Changed, Failure, TableState
from sqlassay.cases.policy import Policy
from sqlassay.cases.presets import preset
from sqlassay.cases.relation import Column, Relation, Row
from sqlassay.cases.verdicts import FailureKind
from sqlassay.harness.change import cells_between, compare_states, plan, with_known

SKILL = preset("skill")


def relation(names: str, *rows: Row) -> Relation:
    """Return a relation with these columns."""
    return Relation(tuple(Column(name) for name in names.split()), rows)


def part(name: str, kind: str, held: Relation | None, *, rows: int | None = None, digest: str = "") -> TableState:
    """Return one part of a state, its digest over the rows in any order unless one is given."""
    count = rows if rows is not None else len(held.rows if held else ())
    told = digest or f"{[c.name for c in held.columns]}{sorted(map(repr, held.rows))}" if held or digest else "?"
    return TableState(name, kind, count, told, held)  # type: ignore[arg-type]


PEOPLE = part("people", "table", relation("id name", (1, "Ada"), (2, "Bo")))
COLUMNS = part(
    "columns", "schema", relation("table_name column_name position", ("people", "id", 1), ("people", "name", 2))
)
KEYS = part("constraints", "schema", relation("table_name kind constraint_name", ("people", "p", "people_pkey")))


def state(*parts: TableState, touched: tuple[str, ...] = ("table people",), answers: tuple = ()) -> Changed:
    """Return a state that a statement left."""
    return Changed(parts, touched, answers, 0.1)


GOLD = state(PEOPLE, COLUMNS, KEYS)


def people(*rows: Row, names: str = "id name") -> TableState:
    """Return the table people with other rows."""
    return part("people", "table", relation(names, *rows))


@pytest.mark.parametrize(
    ("left", "words"),
    [
        pytest.param((people((1, "Ada"), (2, "Cy")), COLUMNS, KEYS), "table people: rows differ; row 1", id="cell"),
        pytest.param((people((1, "Ada")), COLUMNS, KEYS), "table people: the gold has 2 rows", id="missing row"),
        pytest.param((people((1, "Ada"), (2, "Bo"), (2, "Bo")), COLUMNS, KEYS), "the prediction 3", id="twice"),
        pytest.param((COLUMNS, KEYS), "table people: the gold leaves it, the prediction does not", id="dropped"),
        pytest.param(
            (PEOPLE, part("more", "table", relation("x")), COLUMNS, KEYS), "table more: the prediction", id="extra"
        ),
        pytest.param(
            (people((1, "Ada"), names="id nick"), COLUMNS, KEYS),
            "its columns are id, nick; expected id, name (missing: name; extra: nick)",
            id="columns",
        ),
        pytest.param(
            (PEOPLE, COLUMNS, replace(KEYS, relation=relation("table_name kind constraint_name"), digest="-")),
            "constraints: the gold has 1 rows, the prediction 0",
            id="constraint",
        ),
    ],
)
def test_any_part_that_differs_is_a_mismatch_and_named(left: tuple[TableState, ...], words: str) -> None:
    """The reason names the part and its first difference, whatever the policy forgives in query results."""
    found = compare_states(GOLD, state(*left), SKILL)
    assert (found.verdict, found.rule) == ("mismatch", "state")
    assert words in found.reason


def test_rows_are_a_bag_and_columns_go_by_name() -> None:
    """Neither the order of rows nor that of columns is a difference of a table's content."""
    turned = part("people", "table", relation("name id", ("Bo", 2), ("Ada", 1)))
    assert compare_states(GOLD, state(turned, COLUMNS, KEYS), SKILL).verdict == "match"


def test_cells_compare_as_the_policy_says() -> None:
    """A tolerance or a folded case holds for stored rows as for results."""
    folded = state(people((1, "ADA"), (2, "Bo")), COLUMNS, KEYS)
    assert compare_states(GOLD, folded, SKILL).verdict == "mismatch"
    assert compare_states(GOLD, folded, Policy(text_case="fold")).verdict == "match"


def test_a_set_policy_still_counts_stored_rows() -> None:
    """A preset that judges results as sets forgives no row stored twice."""
    twice = state(people((1, "Ada"), (2, "Bo"), (2, "Bo")), COLUMNS, KEYS)
    assert compare_states(GOLD, twice, preset("bird")).verdict == "mismatch"


def test_names_an_engine_may_choose_count_only_where_the_policy_asks() -> None:
    """A constraint's name is compared under names=match, the place of a column under columns=position."""
    named = part("constraints", "schema", relation("table_name kind constraint_name", ("people", "p", "pk")))
    moved = part(
        "columns", "schema", relation("table_name column_name position", ("people", "id", 2), ("people", "name", 1))
    )
    assert compare_states(GOLD, state(PEOPLE, moved, named), SKILL).verdict == "match"
    assert compare_states(GOLD, state(PEOPLE, COLUMNS, named), Policy(names="match")).verdict == "mismatch"
    assert compare_states(GOLD, state(PEOPLE, moved, KEYS), preset("strict")).verdict == "mismatch"


LARGE = part("people", "table", None, rows=5000, digest="a")


@pytest.mark.parametrize(
    ("wanted", "given", "verdict", "words"),
    [
        pytest.param((), (), "match", "agree", id="same checksum"),
        pytest.param(("table people",), (), "mismatch", "the gold changes it", id="only gold"),
        pytest.param((), ("table people",), "mismatch", "the prediction changes it", id="only prediction"),
        pytest.param(("table people",), ("table people",), "undecided", "too many to compare", id="both"),
    ],
)
def test_a_table_too_large_to_show_is_judged_by_its_checksum(
    wanted: tuple[str, ...], given: tuple[str, ...], verdict: str, words: str
) -> None:
    """Equal checksums are equal rows; other ones are a mismatch where one side alone changed it, else undecided."""
    other = replace(LARGE, digest="a" if verdict == "match" else "b")
    found = compare_states(state(LARGE, touched=wanted), state(other, touched=given), SKILL)
    assert found.verdict == verdict
    assert words in found.reason


def test_two_large_tables_of_other_length_differ() -> None:
    """Where rows cannot be shown their number still decides."""
    other = replace(LARGE, digest="b", rows=4999)
    found = compare_states(state(LARGE), state(other), SKILL)
    assert (found.verdict, found.reason) == ("mismatch", "table people: 5000 rows expected, 4999 left")


def test_views_that_cannot_be_read_agree_only_with_each_other() -> None:
    """A view over what is gone matches another such view and nothing else."""
    sound = part("v", "view", relation("id", (1,)))
    broken = TableState("v", "view", 0, "failed: error", None, "no such table")
    late = replace(broken, digest="failed: timeout", failure="no result")
    assert compare_states(state(broken), state(late), SKILL).verdict == "match"
    assert "cannot be read: no such table" in compare_states(state(sound), state(broken), SKILL).reason
    assert "the gold's cannot be read" in compare_states(state(broken), state(sound), SKILL).reason


def test_eval_queries_are_compared_too() -> None:
    """Equal states with other answers, or an answer that fails, are a mismatch that names the query."""
    one, two = relation("n", (1,)), relation("n", (2,))
    gold = state(PEOPLE, answers=(one,))
    assert compare_states(gold, state(PEOPLE, answers=(one,)), SKILL).verdict == "match"
    assert compare_states(gold, state(PEOPLE, answers=(two,)), SKILL).reason.startswith("eval_query 1: ")
    failed = compare_states(gold, state(PEOPLE, answers=(Failure(FailureKind.ERROR, "no table x"),)), SKILL)
    assert (failed.verdict, "no table x" in failed.reason) == ("mismatch", True)
    unsure = compare_states(state(PEOPLE, answers=(Failure(FailureKind.ERROR, "gone"),)), gold, SKILL)
    assert unsure.verdict == "undecided"


def test_a_gold_that_changes_nothing_is_flagged() -> None:
    """A match on an untouched state is weak evidence, and says so."""
    found = compare_states(state(PEOPLE, touched=()), state(PEOPLE, touched=()), SKILL)
    assert (found.verdict, found.flags) == ("match", ("vacuous",))


def test_further_differences_are_named_after_the_first() -> None:
    """At most five more parts are listed, the rest counted."""
    extra = [part(f"t{number}", "table", relation("x")) for number in range(8)]
    reason = compare_states(GOLD, state(*GOLD.state, *extra), SKILL).reason
    assert reason.endswith("; also table t1, table t2, table t3, table t4, table t5 and 2 more")


def test_a_case_says_how_its_change_is_run() -> None:
    """Profile, setup and questions come from the case, for the dialect of the run."""
    case = Case(
        id="c", question="?", snapshot="s", query_type="ddl", gold={"sqlite": "DROP TABLE t"},
        setup_sql={"sqlite": ["A", "B"], "mysql": "C"}, eval_query={"sqlite": "SELECT 1"},
    )  # fmt: skip
    planned = plan(case, "DROP TABLE t", "sqlite")
    assert (planned.kind, planned.setup, planned.questions) == ("ddl", ("A", "B"), ("SELECT 1",))
    assert plan(case.model_copy(update={"query_type": "dml"}), "x", "postgres").setup == ()


def test_tables_that_setup_made_may_be_named() -> None:
    """The catalogue gains what was there after the setup, and nothing twice."""
    catalog = Catalog(dialect="sqlite", snapshot="s", database="s", engine_version="3", tables=())
    known = replace(GOLD, known=(("made", ("a", "b")),))
    grown = with_known(catalog, known)
    assert [(table.name, [column.name for column in table.columns]) for table in grown.tables] == [("made", ["a", "b"])]
    assert with_known(grown, known) is grown
    assert with_known(catalog, None) is catalog


def test_every_cell_in_which_two_states_differ_is_told_by_part() -> None:
    """Rows are set beside each other by what they share; a part that has no rows to compare says why."""
    left = state(people((2, "Cy"), (1, "Ada")), part("more", "table", relation("x")), replace(COLUMNS, digest="-"))
    told = list(cells_between(GOLD, left, SKILL))
    assert [(title, one.kind) for title, one in told] == [
        ("table people", "differs"),
        ("table more", "the prediction leaves it, the gold does not"),
        ("schema: constraints", "the gold leaves it, the prediction does not"),
    ]
    cell = told[0][1]
    assert (cell.gold_row, cell.predicted_row, cell.gold_column) == (1, 0, "name")
    assert (cell.gold, cell.predicted) == ("Bo", "Cy")
    assert list(cells_between(GOLD, GOLD, SKILL)) == []


def test_the_differences_of_an_eval_query_keep_its_order() -> None:
    """What an eval query gives is told as rows are, and an aspect of the schema by its own cells."""
    gold = state(PEOPLE, answers=(relation("n", (1,), (2,)),))
    left = state(PEOPLE, answers=(relation("n", (1,), (3,)),))
    assert [(title, one.kind, one.gold, one.predicted) for title, one in cells_between(gold, left, SKILL)] == [
        ("eval_query 1", "differs", 2, 3)
    ]
