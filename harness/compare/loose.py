"""A class of rows that equal keys do not decide: pairs its members one to one under the tolerance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import cast

from sqlassay.harness.compare.cells import Atom, Rules
from sqlassay.harness.compare.matching import Budget, candidates, matched
from sqlassay.harness.compare.numbers import Number, amount, half_of, scale_of, whole

Rows = Sequence[tuple[Atom, ...]]


def pair_class(gold: Rows, pred: Rows, rules: Sequence[Rules], budget: Budget) -> int:
    """Return how many rows of two equally long lists stay unpaired; each column has its own rules.

    Raises: OutOfBudgetError where the class is too large to decide.
    """
    numbers = len(rules) == 1 and all(row[0][0] == "num" for rows in (gold, pred) for row in rows)
    if numbers and not _sorted_pairs(gold, pred, rules[0], 0, budget):
        return 0  # a pairing that fits is one, in whatever order it was found
    sortable = [column for column, rule in enumerate(rules) if _sortable(gold, pred, rule, column)]
    for column in sortable:  # where one column alone cannot be paired, the rows cannot
        lost = _sorted_pairs(gold, pred, rules[column], column, budget)
        if lost or len(rules) == 1:
            return lost
    axis = _axis(gold, pred, rules)

    def agree(left: int, right: int) -> bool:
        """Tell whether two rows of the class are equal in every column."""
        return all(rule.same(a, b) for rule, a, b in zip(rules, gold[left], pred[right], strict=True))

    if axis is None:
        flat = [0.0] * len(gold)
        edges = candidates(flat, flat, lambda _: 1.0, agree, budget)
    else:
        left, right = ([_float(row[axis]) for row in rows] for rows in (gold, pred))
        edges = candidates(left, right, _reach(gold, pred, rules[axis], axis), agree, budget)
    return len(gold) - matched(edges, len(pred), budget)


def _sorted_pairs(gold: Rows, pred: Rows, rules: Rules, column: int, budget: Budget) -> int:
    """Pair the smallest with the smallest: right where the numbers near a value form an interval that moves with it."""
    budget.spend(len(gold))
    left, right = (
        sorted((row[column] for row in rows), key=lambda atom: cast(Number, atom[2])) for rows in (gold, pred)
    )
    return sum(not rules.same(a, b) for a, b in zip(left, right, strict=True))


def _sortable(gold: Rows, pred: Rows, rules: Rules, column: int) -> bool:
    """Tell whether sorted pairing decides: numbers only, one interval each, and no exact whole numbers in the way."""
    atoms = [row[column] for rows in (gold, pred) for row in rows]
    if not rules.tolerance.monotone or rules.policy.coarse_scale or any(atom[0] != "num" for atom in atoms):
        return False
    if rules.tolerance.fine:
        precise = {atom[2] for atom in atoms if atom[1] == "d" or amount(cast(Number, atom[2]))}
        if len(precise) > 1:
            return False
    if all(atom[1] == "f" for atom in atoms):
        return True
    return len({atom[2] for atom in atoms if whole(cast(Number, atom[2]))}) < 2


def _axis(gold: Rows, pred: Rows, rules: Sequence[Rules]) -> int | None:
    """Return the column of ordinary numbers with the most values to sort by; None where there is none."""
    best: int | None = None
    most = 0
    for column, rule in enumerate(rules):
        atoms = [row[column] for rows in (gold, pred) for row in rows]
        if rule.tolerance.relative > 0.5 or any(
            atom[0] != "num" or not _ordinary(cast(Number, atom[2])) for atom in atoms
        ):
            continue
        values = len({atom[2] for atom in atoms})
        if values > most:
            best, most = column, values
    return best


def _ordinary(value: Number) -> bool:
    """Tell whether a number is of a size floats can hold."""
    return -1e300 < value < 1e300


def _float(atom: Atom) -> float:
    """Return a number atom's value as a float."""
    return float(cast(Number, atom[2]))


def _reach(gold: Rows, pred: Rows, rules: Rules, column: int) -> Callable[[float], float]:
    """Return a distance, a little generous, past which no number is near a value."""
    least = rules.policy.coarse_scale
    scales = [
        scale
        for rows in (gold, pred)
        for row in rows
        if least and isinstance(value := row[column][2], Decimal) and (scale := scale_of(value)) >= least
    ]
    half = float(half_of(min(scales))) if scales else 0.0
    relative = rules.tolerance.relative / (1 - rules.tolerance.relative)
    return lambda value: (
        1.000001 * max(half, rules.tolerance.absolute, relative * abs(value)) + 1e-14 * abs(value) + 1e-300
    )
