"""Edges of the quick ways: rows as sets, sums of hashes, numbers at the brink of floats."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from decimal import Decimal

import pytest

from sqlassay.cases.policy import Policy
from sqlassay.cases.presets import preset
from sqlassay.cases.relation import Column, Kind, Relation, Row
from sqlassay.harness.compare import compare, partial_credit
from sqlassay.harness.compare.numbers import EXACTLY, Tolerance, amount, near
from sqlassay.harness.compare.plain import chained

TOLERANCE = Tolerance(1e-9, 1e-12)


def relation(*rows: Row) -> Relation:
    return Relation(tuple(Column(f"c{index}") for index in range(len(rows[0]))), rows)


@pytest.mark.parametrize(
    ("gold", "pred", "verdict", "rule"),
    [
        ([(1, "a"), (2, "b")], [(2, "b"), (1, "a")], "match", "exact"),
        ([(1, "a"), (2, "b")], [(1, "a"), (1, "a")], "mismatch", "rows"),
        ([(1, "a"), (2, "b")], [(2, "a"), (1, "b")], "mismatch", "rows"),
        ([("x", 1), ("x", 2)], [("x", 2), ("x", 1)], "match", "exact"),
        ([("x", 1), ("x", 1), ("y", 1)], [("x", 1), ("y", 1), ("x", 1)], "match", "exact"),
        ([("x", 1), ("x", 1), ("y", 1)], [("y", 1), ("y", 1), ("x", 1)], "mismatch", "multiplicity"),
        ([(1, {"a": 1}), (2, {})], [(2, {}), (1, {"a": True})], "mismatch", "rows"),
        ([(1, (1, {"a": 1}))], [(1, (1, {"a": True}))], "mismatch", "rows"),
        ([(1, [1]), (2, [2])], [(2, [2]), (1, [1])], "match", "rows"),
    ],
)
def test_the_quick_ladder_decides_only_what_it_may(gold: list[Row], pred: list[Row], verdict: str, rule: str) -> None:
    """Rows count as often as they occur, and containers are left to their own rules."""
    found = compare(relation(*gold), relation(*pred), Policy())
    assert (found.verdict, found.rule) == (verdict, rule)


def test_a_value_of_a_driver_s_own_subclass_is_what_it_extends() -> None:
    """Some drivers hand over subclasses of text and numbers: the rules of their base hold."""

    class Name(str):
        """A text of a driver's own type."""

        __slots__ = ()

    found = compare(relation((Name("A"),)), relation(("a",)), Policy(text_case="fold"))
    assert (found.verdict, found.rule) == ("match", "rows")


def test_columns_of_equal_sums_are_told_apart() -> None:
    """Sums of hashes only rule columns out: (1, 3) is not (2, 2)."""
    gold, pred = relation((1, 5), (3, 6)), relation((2, 5), (2, 6))
    assert compare(gold, pred, Policy(columns="any")).verdict == "mismatch"
    assert partial_credit(gold, pred, Policy(columns="any")) == 0.5


@pytest.mark.parametrize(
    ("values", "clusters", "loose"),
    [
        ([], 0, 0),
        ([1.5], 1, 0),
        ([1.5, 1.5000000001], 1, 0),
        ([1.5, 1.50000001], 2, 0),
        ([1.5, 1.5 + 1.2e-9, 1.5 + 2.4e-9], 1, 1),
        ([1e10, 1e10 + 1], 2, 0),
        ([1e12, 1e12 + 1], 1, 1),
        ([1e12, 1e12 + 1.5], 1, 0),
        ([2460310.512345678, 2460310.512355678], 1, 0),
        ([2460310.512345678, 2460310.512445678], 2, 0),
        ([10**10, 10**10 + 1], 2, 0),
        ([2**60, 2**60 + 1], 2, 0),
        ([12345678.9, 12345678.91], 2, 0),
        ([12345678.9, 12345678.90000001, 12345678.91], 2, 0),
        ([Decimal("0.1"), 0.1], 1, 0),
        ([Decimal("0.5"), 0.5000000000000001], 1, 0),
        ([0.0, 1e-13, -1e-13], 1, 0),
        ([5e-324, 1e-323], 1, 0),
        ([-1e308, 1e308], 2, 0),
    ],
)
def test_numbers_chain_as_nearness_says(values: list[float], clusters: int, loose: int) -> None:
    """Near neighbours are chained, amounts apart; a chain is loose where its ends are not near, or amounts meet."""
    found, undecided = chained(set(values), TOLERANCE)
    assert (len(set(found.values())), len(undecided)) == (clusters, loose)
    ordered = sorted(values)
    for left, right in zip(ordered, ordered[1:], strict=False):
        apart = all(map(amount, values)) and not near(left, right, EXACTLY)
        assert (found[left] == found[right]) is (near(left, right, TOLERANCE) and not apart)


def test_permuted_columns_are_found_by_the_quick_ladder() -> None:
    """Columns told apart by sums of hashes are put in the gold's order and accepted as they are."""
    found = compare(relation((1, "a"), (2, "b")), relation(("b", 2), ("a", 1)), Policy(columns="any"))
    assert (found.verdict, found.rule, found.columns) == ("match", "exact", (1, 0))


@pytest.mark.parametrize(("text", "verdict"), [("2024-01-02T03:00:00Z", "match"), ("2024-01-02T07:00:00Z", "mismatch")])
def test_an_aware_moment_is_read_by_its_offset(text: str, verdict: str) -> None:
    """Five o'clock two hours east of Greenwich is three o'clock in UTC, not seven."""
    moment = datetime(2024, 1, 2, 5, tzinfo=timezone(timedelta(hours=2)))
    assert compare(relation((moment,)), relation((text,)), Policy()).verdict == verdict


def test_credit_of_a_column_is_judged_by_its_own_kind() -> None:
    """A column of bits elsewhere does not make the text '0101' the number 5 here: no credit for that column."""
    gold = Relation((Column("a", Kind.TEXT), Column("b", Kind.BITS)), (("0101", "0001"), ("0110", "0010")))
    predicted = Relation((Column("a", Kind.INT), Column("b", Kind.BITS)), ((5, "1111"), (6, "1110")))
    assert partial_credit(gold, predicted, preset("cross_dialect")) == 0.0


def test_the_looser_tolerance_ends_at_a_hundredth() -> None:
    """Numbers a hundredth apart are named as a matter of tolerance, numbers further apart are not."""
    near_miss, miss = (
        compare(Relation((Column("x"),), ((1.0,),)), Relation((Column("x"),), ((value,),)), Policy())
        for value in (1.009, 1.015)
    )
    assert near_miss.looser is not None
    assert miss.looser != near_miss.looser
