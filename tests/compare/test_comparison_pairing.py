"""Pairing under a tolerance against trying every pairing, and the steps it takes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from decimal import Decimal
from itertools import permutations

import pytest

from sqlassay.cases.policy import Policy
from sqlassay.harness.compare.cells import Atom, Rules
from sqlassay.harness.compare.loose import pair_class
from sqlassay.harness.compare.matching import Budget, OutOfBudgetError, candidates, matched

POOLS: tuple[tuple[object, ...], ...] = (
    (0.5, 1.0, 1.5, 2.0, 2.5, 3.25),
    (1, 2, 1.5, Decimal("1.5"), Decimal(2), 2.25),
    (0, 0.0, -0.0, Decimal("0.0"), 5e-301),
    (Decimal("0.1"), Decimal("0.14"), Decimal("0.15"), 0.125, 0.2, Decimal("0.149")),
    (1e300, -1e300, 1e301, 2e301, Decimal("1E+400"), Decimal("1.5E+400"), 10**400),
    (1.0, 2.0, 4.0, -1.0, -2.0, 3),
    ("a", "b", 1, 1.5, None),
)
POLICIES = (
    Policy(rel_tol=0, abs_tol=0),
    Policy(rel_tol=0, abs_tol=1),
    Policy(rel_tol=0, abs_tol=1.5),
    Policy(rel_tol=0.5, abs_tol=0),
    Policy(rel_tol=0.75, abs_tol=0),
    Policy(rel_tol=1, abs_tol=0),
    Policy(rel_tol=2, abs_tol=0.5),
    Policy(rel_tol=0, abs_tol=0, scale_aware=True),
)


def pairable(agree: Sequence[Sequence[bool]]) -> bool:
    """Tell whether some pairing pairs every row."""
    every = range(len(agree))
    return any(all(agree[i][k] for i, k in zip(every, order, strict=True)) for order in permutations(every))


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: f"{policy.rel_tol}-{policy.abs_tol}")
def test_rows_are_left_over_where_no_pairing_takes_all(policy: Policy) -> None:
    """Sorted pairing and matching take every row in exactly where trying every pairing does."""
    rng = random.Random(3)
    for _ in range(400):
        width, height = rng.randint(1, 2), rng.randint(1, 4)
        pools = [rng.choice(POOLS) for _ in range(width)]
        rules = [Rules.of(policy)] * width
        gold = [tuple(rules[0].atom(rng.choice(pool)) for pool in pools) for _ in range(height)]
        pred = [
            tuple(
                rules[0].atom(rng.choice(pool)) if rng.random() < 0.3 else a for pool, a in zip(pools, row, strict=True)
            )
            for row in rng.sample(gold, height)
        ]
        agree = [[all(map(rules[0].same, ours, theirs)) for theirs in pred] for ours in gold]
        assert (pair_class(gold, pred, rules, Budget(10_000)) == 0) is pairable(agree), (gold, pred)


def numbers(values: Sequence[float], rules: Rules, width: int) -> list[tuple[Atom, ...]]:
    return [tuple(rules.atom(value + column / 100) for column in range(width)) for value in values]


def test_one_column_is_paired_in_one_step_a_row() -> None:
    """Numbers that all lie near each other are sorted, whole floats too, not matched."""
    rules, budget = Rules.of(Policy(rel_tol=0, abs_tol=500)), Budget(1000)
    rows = numbers([float(value) for value in range(100)], rules, 1)
    assert pair_class(rows, rows[::-1], [rules], budget) == 0
    assert budget.left == 900


def test_two_columns_are_matched_among_neighbours_alone() -> None:
    """A row meets the rows within the tolerance of one column, and no other."""
    rules, budget = Rules.of(Policy(rel_tol=0, abs_tol=0.25)), Budget(10_000)
    rows = numbers([0.4 * place for place in range(100)], rules, 2)
    assert pair_class(rows, rows[::-1], [rules] * 2, budget) == 0
    sorted_twice, met, layered = 2 * 100, 100 * 2, 100
    assert budget.left == 10_000 - sorted_twice - met - layered


def kuhn(edges: Sequence[Sequence[int]], right: int) -> int:
    """Return the size of a maximum matching by one augmenting path after another."""
    mate: dict[int, int] = {}

    def grows(left: int, seen: set[int]) -> bool:
        """Tell whether the matching takes one more left node in."""
        for other in edges[left]:
            if other not in seen:
                seen.add(other)
                if other not in mate or grows(mate[other], seen):
                    mate[other] = left
                    return True
        return False

    return sum(grows(left, set()) for left in range(len(edges)))


def test_a_matching_is_as_large_as_any() -> None:
    """Graphs of every density are matched as far as they can be."""
    rng = random.Random(5)
    for _ in range(400):
        left, right, density = rng.randint(0, 9), rng.randint(1, 9), rng.choice((0.1, 0.2, 0.35, 0.6))
        edges = [[other for other in range(right) if rng.random() < density] for _ in range(left)]
        assert matched(edges, right, Budget(10_000)) == kuhn(edges, right), edges


def test_a_long_chain_is_matched_within_few_steps() -> None:
    """Each of two hundred nodes but the last prefers the one its follower needs."""
    size = 200
    edges = [[place, place + 1] if place + 1 < size else [0] for place in range(size)]
    budget = Budget(5 * 2 * size)
    assert matched(edges, size, budget) == size


def test_candidates_lie_within_reach_and_agree() -> None:
    """The ends of the reach count, and each left value costs what it meets and one step more."""
    budget = Budget(100)
    found = candidates([1.0, 5.0], [2.0, 0.0, 2.5, 5.0], lambda _: 1.0, lambda _, other: other != 3, budget)
    assert found == [[1, 0], []]
    assert budget.left == 100 - 3 - 2


def test_a_budget_ends_when_more_is_spent_than_it_held() -> None:
    """The last step is still allowed."""
    budget = Budget(5)
    budget.spend(5)
    with pytest.raises(OutOfBudgetError):
        budget.spend(1)


def test_two_whole_numbers_are_not_paired_by_sorting() -> None:
    """1 and 2 must be equal although they are near, so the smallest does not always face the smallest."""
    rules = Rules.of(Policy(rel_tol=0, abs_tol=1.5))
    gold, pred = ([(rules.atom(value),) for value in side] for side in ((1, 1.5), (2, 2.25)))
    assert pair_class(gold, pred, [rules], Budget(100)) == 0
