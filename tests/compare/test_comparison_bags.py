"""Equal rows are found by sorting where a column of unique integers allows it, and only then."""

from __future__ import annotations

import random

import pytest

from cases.policy import Policy
from cases.relation import Column, Relation, Row
from harness.compare import compare
from harness.compare.bags import same_bag, same_rows

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
    """JSON true is not 1, in ten thousand rows with unique keys as in one."""
    gold = [(i, {"a": True}) for i in range(10_000)]
    pred = [(i, {"a": 1}) for i in reversed(range(10_000))]
    with pytest.raises(TypeError):
        same_rows(gold, pred)
    columns = (Column("id"), Column("doc"))
    assert compare(Relation(columns, tuple(gold)), Relation(columns, tuple(pred)), Policy()).verdict == "mismatch"


def test_repeated_rows_count() -> None:
    """Without a unique column, rows are counted."""
    gold: list[Row] = [(1, "a")] * 6_000 + [(2, "b")] * 6_000
    assert same_rows(gold, gold[::-1])
    assert not same_rows(gold, [*gold[1:], (2, "b")])
