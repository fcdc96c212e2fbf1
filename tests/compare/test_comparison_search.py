"""The search for a column permutation against trying every one, and the steps it takes."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from itertools import permutations

import pytest

from sqlassay.harness.compare.matching import Budget
from sqlassay.harness.compare.search import Problem, mappings

Side = tuple[tuple[int, ...], ...]


def problem(gold: Side, pred: Side, **fields: object) -> Problem:
    marks = {"gold_marks": ("",) * len(gold), "pred_marks": ("",) * len(pred), "loose": frozenset()}
    rows = {"gold_rows": (0,) * len(gold[0]), "pred_rows": (0,) * len(pred[0])}
    return Problem(gold, pred, **{**rows, **marks, **fields})  # type: ignore[arg-type]


def shown(pred: Side, mapping: Sequence[int]) -> Side:
    return tuple(pred[column] for column in mapping)


def fitting(gold: Side, pred: Side, gold_rows: Sequence[int], pred_rows: Sequence[int]) -> set[Side]:
    """Return what the predicted columns look like under every mapping that makes the rows agree."""
    ours = Counter(zip(*gold, gold_rows, strict=True))
    every = permutations(range(len(pred)), len(gold))
    return {shown(pred, one) for one in every if Counter(zip(*shown(pred, one), pred_rows, strict=True)) == ours}


@pytest.mark.parametrize("values", [1, 2, 3])
@pytest.mark.parametrize("extra", [0, 1])
@pytest.mark.parametrize("groups", [1, 2])
def test_every_mapping_that_fits_is_found_once(values: int, extra: int, groups: int) -> None:
    """A mapping that makes the rows agree is yielded once, up to exchange of identical columns."""
    rng = random.Random(values * 10 + extra)
    superfluous = 0
    for _ in range(120):
        width, height = rng.randint(1, 4), rng.randint(1, 5)
        gold = tuple(tuple(rng.randint(1, values) for _ in range(height)) for _ in range(width))
        order = rng.sample(range(height), height)
        pred = [tuple(column[place] for place in order) for column in gold]
        pred += [tuple(rng.randint(1, values) for _ in range(height)) for _ in range(extra)]
        rng.shuffle(pred)
        if rng.random() < 0.3:
            pred[0] = tuple(rng.sample(pred[0], height))
        known = [rng.randint(1, groups) for _ in range(height)]
        again = [known[place] for place in order]
        asked = problem(gold, tuple(pred), gold_rows=tuple(known), pred_rows=tuple(again))
        found = [shown(tuple(pred), one) for one in mappings(asked, Budget(100_000))]
        fit = fitting(gold, tuple(pred), known, again)
        assert len(set(found)) == len(found), (gold, pred)
        assert set(found) >= fit, (gold, pred)
        superfluous += len(set(found) - fit)
    assert superfluous <= 20  # what is left to the caller's verification: few mappings in 120 searches


def test_identical_columns_of_loose_keys_are_each_tried() -> None:
    """Equal keys that do not decide leave every exchange open."""
    same: Side = ((1, 2), (1, 2), (1, 2))
    assert len(list(mappings(problem(same, same), Budget(1_000)))) == 1
    assert len(list(mappings(problem(same, same, loose=frozenset({2})), Budget(1_000)))) == 6
    assert len(list(mappings(problem(same, same, loose=frozenset({9})), Budget(1_000)))) == 1


SIX: Side = ((1, 1, 2, 2, 3, 3), (1, 2, 1, 2, 3, 3), (2, 1, 1, 3, 3, 2), (7, 7, 8, 8, 8, 9))


def test_sets_of_as_many_columns_are_refined_too() -> None:
    """Distinct rows tell columns of one set of values apart; with a column to spare their colours prove nothing."""
    one, other = (1, 2, 3), (2, 3, 1)
    assert list(mappings(problem((one, other), (other, one), as_sets=True), Budget(1_000))) == [(1, 0)]
    spare = problem((one, other), (other, one, (4, 4, 4)), as_sets=True)
    assert list(mappings(spare, Budget(1_000))) == [(0, 1), (1, 0)]


@pytest.mark.parametrize(("columns", "steps"), [(SIX, 252), (SIX[:3], 276), (SIX[2:], 24)])
def test_what_a_search_costs(columns: Side, steps: int) -> None:
    """Each cell costs a step where its column is first coloured, one where it colours rows and two where rows do."""
    pred = tuple(column[::-1] for column in columns[::-1])
    budget = Budget(1_000)
    found = list(mappings(problem(columns, pred), budget))
    assert tuple(reversed(range(len(columns)))) in found
    assert 1_000 - budget.left == steps


def test_columns_to_spare_are_told_apart_as_well() -> None:
    """Refinement goes on while it tells apart more columns of either side."""
    gold: Side = SIX[:2]
    assert len(list(mappings(problem(gold, (SIX[1], SIX[2], SIX[0])), Budget(1_000)))) == 2


def test_identical_columns_are_not_searched() -> None:
    """Any of them will do: three columns of three rows cost one colouring and one refinement."""
    same: Side = ((1, 1, 2),) * 3
    budget = Budget(100)
    assert list(mappings(problem(same, same), budget)) == [(0, 1, 2)]
    assert budget.left == 100 - 72
