"""Peer presets give the peer's own verdict, flaws included."""

from __future__ import annotations

from decimal import Decimal

import pytest

from sqlassay.cases.errors import InputError
from sqlassay.cases.policy import Policy
from sqlassay.cases.presets import preset
from sqlassay.cases.relation import Column, Json, Relation, Row
from sqlassay.harness.compare import compare, resolve_policy
from sqlassay.harness.compare.order import exact_order

PAIRS: list[tuple[str, str, tuple[Row, ...], tuple[Row, ...], bool, str, str]] = [
    ("bird", "ab", ((1,), (1,)), ((1,),), False, "match", "duplicates do not count"),
    ("bird", "ab", ((1, 2),), ((2, 1),), False, "mismatch", "columns in position"),
    ("bird", "ab", (({"a": 1},),), (({"a": 1},),), False, "undecided", "a dict cannot be hashed: it crashes"),
    ("evalbench", "ab", ((1,), (1,)), ((1,),), False, "match", "sets of values"),
    ("evalbench", "aa", ((1, 2),), ((9, 2),), False, "mismatch", "columns of one name stay two"),
    ("evalbench", "aa", (([1], 2),), (([1], 2),), False, "match", "columns of one name are numbered in documents"),
    ("evalbench", "ab", (([1], 2),), (([1], 2),), False, "match", "documents compare as counted dicts"),
    ("evalbench", "ab", (({"x": [1]}, 2),), (({"x": [2]}, 2),), False, "mismatch", "documents that differ"),
    ("spider", "ab", ((1, 2), (3, 4)), ((2, 1), (4, 3)), False, "match", "one column permutation"),
    ("spider", "ab", ((1, 2), (3, 4)), ((2, 1), (3, 4)), False, "mismatch", "no single permutation"),
    ("spider", "ab", ((1,), (2,)), ((2,), (1,)), True, "mismatch", "ordered where the gold orders"),
    ("spider", "ab", ((1, 2), (3, 4)), ((2, 1), (4, 3)), True, "match", "ordered and permuted"),
    ("spider", "ab", ((1,), (1,), (2,)), ((1,), (2,), (2,)), False, "mismatch", "rows as a bag"),
    ("spider", "ab", ((1,),), ((1,), (1,)), False, "mismatch", "row counts"),
    ("spider", "ab", (), (), False, "match", "both empty"),
    ("spider2", "ab", ((1.0, 2),), ((2.005, 1),), False, "match", "any column within 0.01"),
    ("spider2", "ab", ((None,),), ((0,),), False, "match", "missing values count as 0"),
    ("spider2", "ab", ((1, 2), (3, 4)), ((1, 4), (3, 2)), False, "match", "columns one by one pass scrambled rows"),
    ("spider2", "ab", ((1,), (2,)), ((2,), (1,)), True, "mismatch", "ordered"),
    ("spider2", "ab", (("x",),), (("y",),), False, "mismatch", "texts exactly"),
    ("spider2", "ab", ((1,),), ((1,), (1,)), False, "mismatch", "row counts"),
    ("sqlas", "ab", (("x", 3),), (("y", 3.4),), False, "match", "numbers within 0.5, texts ignored"),
    ("sqlas", "ab", ((3,),), ((4,),), False, "mismatch", "numbers further apart"),
    ("sqlas", "ab", (("x",),), (("y",),), False, "match", "no numbers at all"),
    ("sqlas", "ab", ((100,),), ((101,),), False, "mismatch", "a lone number loses ten times its relative error"),
    ("sqlas", "ab", ((100, 1),), ((100.4, 1),), False, "match", "numbers of a row within 0.5"),
    ("sqlas", "ab", ((1, 2),), ((2,),), False, "match", "a row that lacks a number is found in the longer one"),
    ("sqlas", "ab", ((1,), (1,)), ((1,),), False, "mismatch", "row counts take from the score"),
    ("sqlas", "ab", (), ((1,),), False, "mismatch", "rows where the gold has none score half"),
    ("sqlas", "ab", ((True, "x"),), ((1, "y"),), False, "match", "a boolean is a number"),
    ("sqlas", "ab", ((1,),) * 2001, ((1,),) * 2001, False, "undecided", "quadratic matching does not end"),
    ("evalbench", "ab", ((bytearray(b"x"),),), ((bytearray(b"x"),),), False, "mismatch", "it scores 0 where it fails"),
    ("evalbench", "ab", (((1, 2),),), (((1, 2),),), False, "match", "arrays are lists, so documents are compared"),
    ("bird", "ab", ((float("nan"),),), ((float("nan"),),), False, "mismatch", "NaN of two fetches is not itself"),
    ("bird", "ab", ((Json("{}"),),), ((Json("{}"),),), False, "undecided", "a document is a dict: it crashes"),
    ("spider", "ab", ((1, 1, 1, 2),), ((2, 1, 1, 1),), True, "match", "four columns, constrained by their values"),
    ("spider2", "ab", (((1, 2),),), (((1, 2),),), False, "undecided", "a list's missing items are ambiguous"),
    ("spider2", "ab", ((1, None), (2, 5)), ((1, 0), (2, 5)), True, "match", "a gap makes floats of whole numbers"),
    ("oracle_spider", "ab", ((1,), (2,)), ((2,), (1,)), False, "match", "rows as a bag"),
    ("oracle_spider", "ab", ((1,), (2,)), ((2,), (1,)), True, "mismatch", "in order where the gold orders"),
    ("oracle_spider", "ab", ((1,), (1,)), ((1,),), False, "mismatch", "dup"),
    ("oracle_spider", "ab", ((0.1234567891,),), ((0.1234567894,),), False, "match", "floats to 9 digits"),
    ("oracle_spider", "ab", ((Decimal("0.5"),),), ((0.5,),), False, "match", "Decimals as floats"),
    ("oracle_spider", "ab", ((1, 2),), ((1,),), False, "mismatch", "column counts"),
]


def relation(names: str, rows: tuple[Row, ...]) -> Relation:
    width = len(rows[0]) if rows else 1
    return Relation(tuple(Column(names[index % 2] + "" * index) for index in range(width)), rows)


@pytest.mark.parametrize(("peer", "names", "gold", "pred", "ordered", "verdict", "why"), PAIRS)
def test_a_peer_preset_gives_the_peers_verdict(
    peer: str, names: str, gold: tuple[Row, ...], pred: tuple[Row, ...], ordered: bool, verdict: str, why: str
) -> None:
    """The rule of the named peer decides, not ours."""
    order = exact_order(len(gold)) if ordered else None
    assert compare(relation(names, gold), relation(names, pred), preset(peer), order=order).verdict == verdict, why


def test_duplicates_are_reported_apart_by_the_spider_oracle() -> None:
    """Equal only as sets is `dup`, other order is `order`."""
    oracle = preset("oracle_spider")
    assert compare(relation("ab", ((1,), (1,))), relation("ab", ((1,),)), oracle).rule == "dup"
    two = relation("ab", ((1,), (2,)))
    assert compare(two, relation("ab", ((2,), (1,))), oracle, order=exact_order(2)).rule == "order"


def test_where_the_peer_would_never_end_it_has_no_verdict() -> None:
    """Spider walks through every permutation of wide results: unavailable, said so."""
    wide = relation("ab", ((1,) * 12, (2,) * 12))
    found = compare(wide, wide, preset("spider"))
    assert (found.verdict, found.rule) == ("undecided", "peer_unavailable")


def test_a_peer_minds_the_order_where_the_policy_says_so() -> None:
    """Without SQL, `row_order` exact or keys stands for a gold that orders; for Spider the text itself does."""
    two, turned = relation("ab", ((1,), (2,))), relation("ab", ((2,), (1,)))
    ordered = preset("spider").model_copy(update={"row_order": "exact"})
    assert compare(two, turned, ordered).verdict == "mismatch"
    assert compare(two, turned, preset("spider")).verdict == "match"
    policy, order = resolve_policy(
        preset("spider"), facts=None, gold=two, probe=None, gold_sql="SELECT 'order by' AS a, b FROM t"
    )
    assert compare(two, turned, policy, order=order).verdict == "mismatch"
    policy, order = resolve_policy(preset("spider"), facts=None, gold=two, probe=None, gold_sql="SELECT b FROM t")
    assert order is None


def test_an_unknown_peer_is_an_input_error() -> None:
    """A policy may name known peers only."""
    with pytest.raises(InputError, match="Choose one of bird"):
        compare(relation("ab", ((1,),)), relation("ab", ((1,),)), Policy(peer="nobody"))


def test_two_empty_results_are_vacuous_for_a_peer_too() -> None:
    """The flag does not depend on whose rule decides."""
    assert compare(relation("ab", ()), relation("ab", ()), preset("bird")).flags == ("vacuous",)
