"""Equal rows are found side by side in the order of a column where one serves, and only then."""

from __future__ import annotations

import gc
import math
import random
from collections import Counter
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from operator import itemgetter
from typing import Any
from unittest.mock import patch
from uuid import UUID

import pytest

from sqlassay.cases.policy import Policy
from sqlassay.cases.relation import Column, Relation, Row
from sqlassay.harness.compare import bags, compare
from sqlassay.harness.compare.bags import same_bag, same_rows

ROWS: list[Row] = [(i % 7, i, f"n{i % 5}", i / 8) for i in range(10_000)]
SHUFFLED = random.Random(1).sample(ROWS, len(ROWS))


@pytest.mark.parametrize(
    ("place", "row", "equal"),
    [
        (7, SHUFFLED[7], True),
        (7, (*SHUFFLED[7][:2], "other", SHUFFLED[7][3]), False),
        (7, SHUFFLED[8], False),
        (7, (0, None, "n1", 0.0), False),
        (7, (0, "text", "n1", 0.0), False),
        (7, (SHUFFLED[7][0], float(str(SHUFFLED[7][1])), *SHUFFLED[7][2:]), True),
    ],
    ids=["as it was", "another text", "a row twice", "a NULL key", "a text key", "a float key of equal value"],
)
def test_many_rows_are_equal_only_as_bags(place: int, row: Row, equal: bool) -> None:
    """A changed, repeated or unsortable row among ten thousand is no match; an equal number of another type is one."""
    pred = [*SHUFFLED[:place], row, *SHUFFLED[place + 1 :]]
    assert same_rows(ROWS, pred) is equal
    assert same_bag(ROWS, pred) is equal


def test_containers_are_not_taken_at_their_own_equality() -> None:
    """JSON true is not 1, in two thousand rows with unique keys as in one."""
    gold = [(i, {"a": True}) for i in range(2_000)]
    pred = [(i, {"a": 1}) for i in reversed(range(2_000))]
    with pytest.raises(TypeError):
        same_rows(gold, pred)
    columns = (Column("id"), Column("doc"))
    assert compare(Relation(columns, tuple(gold)), Relation(columns, tuple(pred)), Policy()).verdict == "mismatch"


def test_repeated_rows_count() -> None:
    """Without a unique column, rows are counted."""
    one: Row = (1, "a")
    gold: list[Row] = [one] * 6_000 + [(2, "b")] * 6_000
    assert same_rows(gold, gold[::-1])
    assert not same_rows(gold, [*gold[1:], (2, "b")])


KEYED: dict[str, Callable[[int], Row]] = {
    "close integers": lambda i: (i, i % 3),
    "integers that repeat": lambda i: (i // 2, i % 3),
    "integers far apart": lambda i: (i * 1_000_003, i % 3),
    "integers below zero": lambda i: (i - 5_000, i % 3),
    "texts": lambda i: (f"k{i}", i % 3),
    "texts that repeat": lambda i: (f"k{i // 7}", i % 3),
    "floats": lambda i: (i / 7, i % 3),
    "floats, one no number": lambda i: (math.nan if i == 4_999 else i / 7, i % 3),
    "integers, one NULL": lambda i: (None if i == 4_999 else i, i % 3),
    "few values": lambda i: (i % 5, i % 3),
}


@pytest.mark.parametrize("make", KEYED.values(), ids=KEYED)
def test_every_way_to_align_rows_agrees_with_counting_them(make: Callable[[int], Row]) -> None:
    """Shuffled rows are equal; with one changed, doubled or exchanged between two keys they are not."""
    gold = [make(i) for i in range(10_000)]
    equal = random.Random(3).sample(gold, len(gold))
    first, second = equal[11], next(row for row in equal if row[1] != equal[11][1])
    doubled = [second if row is first else row for row in equal]
    exchanged = [
        (*row[:1], second[1] if row is first else first[1]) if row is first or row is second else row for row in equal
    ]
    changed = [(*row[:1], 9) if row is first else row for row in equal]
    assert same_rows(gold, equal) is True
    for pred in (doubled, exchanged, changed):
        assert same_rows(gold, pred) is (Counter(gold) == Counter(pred))


def test_an_integer_key_past_all_of_ours_is_no_match() -> None:
    """A row numbered past the last of the gold's equals none of them."""
    gold: list[Row] = [(i, "a") for i in range(10_000)]
    assert same_rows(gold, [*gold[1:], (10**12, "a")]) is False


def test_containers_are_found_in_rows_that_the_collector_watches_or_has_let_go() -> None:
    """A dict in one late row is seen whether or not a collection has run since the rows were made."""
    for collect in (False, True):
        gold: list[Row] = [(i, "a") for i in range(9_999)]
        gold.append((9_999, {"a": True}))
        if collect:
            gc.collect()
        with pytest.raises(TypeError):
            same_rows(gold, [*gold[:-1], (9_999, {"a": 1})])


def ways(ours: list[Row], theirs: list[Row]) -> tuple[bool, list[str]]:
    """Return whether two lists of rows are equal, and which of the slower ways that took."""
    taken: list[str] = []

    def sorting(rows: list[Row], *, key: Callable[[Row], Any]) -> list[Row]:
        """Sort, and note it."""
        taken.append("sort")
        return sorted(rows, key=key)

    def counting(left: list[Row], right: list[Row]) -> bool:
        """Meet the rows as bags, and note it."""
        taken.append("bag")
        return same_bag(left, right)

    with patch.object(bags, "sorted", sorting, create=True), patch.object(bags, "same_bag", counting):
        return same_rows(ours, theirs), taken


SORTED = ["sort", "sort"]
SIZE = 10_123
SCALARS = (None, True, 0.5, Decimal(1), "a", b"a", date(2024, 1, 2), datetime(2024, 1, 2), time(1), timedelta(1))
WAYS: dict[str, tuple[Callable[[int], Row], list[str]]] = {
    "close integers": (lambda i: (i, "a"), []),
    "close integers with gaps": (lambda i: (4 * i, "a"), []),
    "integers one too far apart": (lambda i: (4 * SIZE if i == 5 else i, "a"), SORTED),
    "an integer below zero": (lambda i: (i - 1, "a"), SORTED),
    "floats": (lambda i: (i / 7, "a"), SORTED),
    "texts": (lambda i: (f"k{i}", "a"), SORTED),
    "texts beside integers": (lambda i: (f"k{i}", i, "a"), []),
    "few values": (lambda i: (i % 5, "a"), ["bag"]),
    "every scalar": (lambda i: (i, UUID(int=i), *SCALARS), []),
}


@pytest.mark.parametrize(("make", "taken"), WAYS.values(), ids=WAYS)
def test_no_slower_way_is_taken_than_the_keys_need(make: Callable[[int], Row], taken: list[str]) -> None:
    """Close integers are neither sorted nor hashed, other unique keys are not hashed, and a change is seen anyway."""
    gold = [make(i) for i in range(SIZE)]
    pred = random.Random(4).sample(gold, SIZE)
    assert ways(gold, pred) == (True, taken)
    if taken != ["bag"]:
        for place in (0, SIZE - 1):
            row = sorted(gold, key=itemgetter(0))[place]
            assert ways(gold, [(*one[:-1], "b") if one is row else one for one in pred]) == (False, taken)


def test_rows_are_aligned_from_ten_thousand_on() -> None:
    """Fewer are met as sets."""
    rows: list[Row] = [(i,) for i in range(10_000)]
    assert ways(rows, rows[::-1]) == (True, [])
    assert ways(rows[:-1], rows[-2::-1]) == (True, ["bag"])


@pytest.mark.parametrize("place", [3, 499, 500, 4_999, 9_999])
def test_a_key_that_repeats_where_no_sample_saw_it_is_counted(place: int) -> None:
    """Two rows of one key that come in either order, within a block and across its end, are equal as bags."""
    gold: list[Row] = [(i / 3, "a") for i in range(10_000)]
    gold[place] = (gold[place - 1][0], "b")
    pred = [*gold[: place - 1], gold[place], gold[place - 1], *gold[place + 1 :]]
    assert ways(gold, pred) == (True, [*SORTED, "bag"])
    pred[place] = (gold[place][0], "c")
    assert ways(gold, pred) == (False, [*SORTED, "bag"])
