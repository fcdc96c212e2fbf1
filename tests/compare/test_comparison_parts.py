"""Parts of the comparator on their own: choices of columns, the search, and what each step may spend."""

from __future__ import annotations

from typing import Any

import pytest

from sqlassay.cases.errors import InputError
from sqlassay.cases.policy import Policy
from sqlassay.cases.presets import preset
from sqlassay.cases.relation import Column, Relation, Row
from sqlassay.harness.compare import compare
from sqlassay.harness.compare.columns import ignored_notes, kept_choices, most_choices
from sqlassay.harness.compare.judge import judge
from sqlassay.harness.compare.matching import Budget, OutOfBudgetError
from sqlassay.harness.compare.order import exact_order
from sqlassay.harness.compare.search import Problem, mappings


def relation(width: int, *rows: Row) -> Relation:
    return Relation(tuple(Column(f"c{index}") for index in range(width)), rows)


def test_the_more_cells_the_fewer_choices_of_columns() -> None:
    """Two thousand at most, sixteen at least, and between them ten million cells looked at."""
    row = tuple(range(50))
    assert [most_choices(side, side) for side in (relation(50, *[row] * rows) for rows in (0, 1_000, 10_000))] == [
        2_000,
        100,
        16,
    ]


def test_required_columns_are_kept_and_optional_ones_as_far_as_they_fit() -> None:
    """By position as many as the prediction offers, largest first; in any order the required ones alone."""
    gold, pred = relation(3), relation(2)
    given: dict[str, Any] = {"extra_columns": "allow", "required_columns": (0,)}
    assert kept_choices(gold, pred, Policy(columns="position", **given)) == [(0, 1), (0, 2), (0,)]
    assert kept_choices(gold, pred, Policy(columns="any", **given)) == [(0,)]
    assert kept_choices(gold, pred, Policy(required_columns=(0,))) == [(0, 1), (0, 2)]


def test_one_choice_more_than_are_looked_at_tells_that_there_are_more() -> None:
    """Of sixteen thousand choices two thousand and one are made."""
    policy = Policy(columns="position", extra_columns="allow", required_columns=())
    assert len(kept_choices(relation(14), relation(14), policy)) == 2_001


def test_the_column_after_the_last_cannot_be_required() -> None:
    """A gold of two columns has columns 0 and 1."""
    with pytest.raises(InputError, match="the gold has 2 columns"):
        kept_choices(relation(2), relation(2), Policy(required_columns=(2,)))


def test_a_name_no_side_has_leaves_no_column_out() -> None:
    """The note says that the gold lacks the name, not that a column was ignored."""
    assert ignored_notes(relation(1), relation(1), Policy(ignore_columns=("zz",))) == ("ignored_absent",)


def test_as_many_choices_as_are_looked_at_are_decided() -> None:
    """All 1,820 choices of 1,820 fail by name: that is a mismatch, not an open question."""
    gold = relation(17, *[tuple(range(17))] * 249)
    pred = Relation(tuple(Column(f"x{index}") for index in range(5)), (tuple(range(5)),) * 252)
    policy = Policy(names="match", required_columns=(0,))
    assert most_choices(gold, pred) == len(kept_choices(gold, pred, policy)) == 1_820
    assert judge(gold, pred, policy, None).rule == "names"


@pytest.mark.parametrize(("order", "verdict"), [(False, "mismatch"), (True, "undecided")])
def test_a_cut_result_is_held_to_an_order_the_gold_keeps(order: bool, verdict: str) -> None:
    """Where the gold contradicted itself its first rows prove nothing."""
    policy = Policy(row_order="exact", truncated="gold")
    found = judge(relation(1, (1,), (2,)), relation(1, (2,), (1,)), policy, exact_order(2, contradicted=order))
    assert found.verdict == verdict


def test_rows_earn_steps_of_their_own() -> None:
    """Forty rows in two columns are paired without a step given, as each row brings twenty."""
    rows = [(0.4 * place, 0.4 * place + 0.01) for place in range(40)]
    shifted = [(a + 0.2, b + 0.2) for a, b in rows]
    policy = Policy(rel_tol=0, abs_tol=0.25)
    assert judge(relation(2, *rows), relation(2, *shifted), policy, None, steps=0).verdict == "match"


def test_a_search_may_verify_some_mappings_at_any_size() -> None:
    """Two swapped columns are found without a step given: cells bring the steps to look at them and verify some."""
    rows = [(place + 0.5, place / 7 + 100.1) for place in range(10)]
    swapped = [(b + 1e-12, a) for a, b in rows]
    assert judge(relation(2, *rows), relation(2, *swapped), Policy(columns="any"), None, steps=0).verdict == "match"


@pytest.mark.parametrize(("steps", "verdict"), [(100_000, "mismatch"), (0, "undecided")])
def test_a_search_is_bounded_by_its_steps_and_cells(steps: int, verdict: str) -> None:
    """Where every mapping could be right and none is, the steps decide whether all of them are tried."""
    values = (0.0, 0.5, 1.0, 1.5, 2.0)
    rows = [values[turn:] + values[:turn] for turn in range(5)]
    policy = Policy(columns="any", rel_tol=0, abs_tol=0.6)
    found = judge(relation(5, *rows), relation(5, *[(0.0,) * 5] * 5), policy, None, steps=steps)
    assert found.verdict == verdict


def problem(gold: list[list[int]], pred: list[list[int]]) -> Problem:
    rows, marks = (0,) * len(gold[0]), ("",)
    sides = tuple(map(tuple, gold)), tuple(map(tuple, pred))
    return Problem(*sides, rows, rows, marks * len(gold), marks * len(pred), frozenset())


def test_a_search_yields_the_mappings_that_rows_allow() -> None:
    """Columns of equal bags are told apart by where their values stand; identical ones serve once."""
    one, other = [1, 2, 3, 3], [3, 1, 2, 3]
    assert list(mappings(problem([one, other], [other, one]), Budget(1_000))) == [(1, 0)]
    assert list(mappings(problem([one, one], [one, one]), Budget(1_000))) == [(0, 1)]
    assert list(mappings(problem([one, other], [one, one]), Budget(1_000))) == []


@pytest.mark.parametrize(("steps", "enough"), [(8, True), (7, False)])
def test_each_cell_costs_a_step(steps: int, enough: bool) -> None:
    """Colouring four columns of two rows takes eight steps."""
    found = mappings(problem([[1, 2], [3, 4]], [[4, 3], [2, 1]]), Budget(steps))
    if enough:
        assert list(found) == [(1, 0)]
        return
    with pytest.raises(OutOfBudgetError):
        list(found)


def test_a_mapping_that_could_not_be_verified_leaves_the_verdict_open() -> None:
    """The columns as they stand take too many steps to pair; that they do not fit the other way proves nothing."""
    rows = [(place / 20, 2 + place / 20) for place in range(60)]
    shifted = [(a + 0.3, b + 0.3) for a, b in rows]
    policy = Policy(columns="any", rel_tol=0, abs_tol=1)
    found = judge(relation(2, *rows), relation(2, *shifted), policy, None, steps=0)
    assert (found.verdict, found.rule, found.mapping) == ("undecided", "budget", (0, 1))


@pytest.mark.parametrize(
    ("names", "values", "flags"),
    [
        (("deaths", "births"), (3, 5), ("crossed_names",)),
        (("deaths", "births"), (5, 3), ()),
        (("births", "deaths"), (5, 3), ("crossed_names",)),
        (("deaths", "births"), (3, 3), ()),
        (("a", "b"), (3, 5), ()),
        (("births", "births"), (3, 5), ()),
    ],
)
def test_a_match_against_names_that_both_sides_share_is_flagged(
    names: tuple[str, str], values: tuple[int, int], flags: tuple[str, ...]
) -> None:
    """Births and deaths exchanged under their names are a match of values that says so."""
    gold_values = (3, 3) if values == (3, 3) else (3, 5)
    gold = Relation((Column("Births"), Column("Deaths")), (gold_values,))
    found = compare(gold, Relation(tuple(map(Column, names)), (values,)), preset("skill"))
    assert (found.verdict, found.flags) == ("match", flags)
