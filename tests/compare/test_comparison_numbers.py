"""Nearness of numbers against exact fractions, and the chains it links."""

from __future__ import annotations

import random
from decimal import Decimal
from fractions import Fraction

import pytest

from sqlassay.harness.compare.numbers import Number, Tolerance, half_unit, link, near, scale_of, whole
from sqlassay.harness.compare.plain import chained


def exact(value: Number) -> Fraction:
    return Fraction(repr(value)) if isinstance(value, float) else Fraction(value)


def truly_near(left: Number, right: Number, tolerance: Tolerance, half: Decimal | None) -> bool:
    gap, size = abs(exact(left) - exact(right)), max(abs(exact(left)), abs(exact(right)))
    reach = exact(tolerance.relative) * size
    if tolerance.relative <= 1e-9 and tolerance.absolute <= 1e-12:
        reach = min(reach, max(Fraction(1, 10**5), size / 10**11))
    return gap <= max(exact(tolerance.absolute), reach, Fraction(half or 0))


@pytest.mark.parametrize("tolerance", [Tolerance(0, 0), Tolerance(1e-9, 1e-12), Tolerance(0, 0.5), Tolerance(3, 0)])
def test_near_is_what_fractions_say(tolerance: Tolerance) -> None:
    """At the brink of the tolerance, and far on either side of it, the verdict is that of exact arithmetic."""
    rng = random.Random(7)
    for _ in range(400):
        left = rng.choice((rng.uniform(-2, 2), float(f"{rng.uniform(1, 9)}e{rng.randint(-310, 307)}"), 0.0, -1e308))
        reach = tolerance.bound(left) * rng.choice((1, 1 + 1e-15, 1 - 1e-15, 1 + 1e-11, 0.5, 2))
        right = rng.choice((left + reach, left - reach, -left, left * (1 + 1e-9)))
        if right in (float("inf"), float("-inf")):
            continue
        half = rng.choice((None, None, Decimal("0.05")))
        assert near(left, right, tolerance, half) is truly_near(left, right, tolerance, half), (left, right)


def test_numbers_past_the_floats_are_near_by_exact_arithmetic() -> None:
    """No exponent is too large or too small, and a gap wider than floats is no gap without end."""
    assert near(1e308, -1e308, Tolerance(3, 0)) is True
    assert near(1e308, -1e308, Tolerance(1.5, 0)) is False
    assert near(Decimal("1E+400"), Decimal("1.1E+400"), Tolerance(0.1, 0)) is True
    assert near(Decimal("1E+400"), Decimal("1.2E+400"), Tolerance(0.1, 0)) is False
    assert near(10**80 + 3, Decimal("0.5"), Tolerance(0, 1e80)) is True  # what lies past eighty digits is rounded


def test_a_very_long_integer_is_near_itself_alone() -> None:
    """Integers past 20,000 bits are not written out as decimals."""
    within, past, wide = 2**20_000 - 1, 2**20_000, Tolerance(0.5, 0)
    assert near(within, within - 1, wide) is True
    assert near(past, past + 1, wide) is False
    assert near(past, 1.5, wide) is False
    assert near(past, past, wide) is True


def test_whole_numbers_are_told_by_value() -> None:
    """A type says nothing about a fraction."""
    assert [whole(value) for value in (3, 3.0, 3.5, Decimal("3.0"), Decimal("3.5"), Decimal("3E+900"))] == [
        True,
        True,
        False,
        True,
        False,
        True,
    ]


@pytest.mark.parametrize(("relative", "monotone"), [(0.0, True), (0.999, True), (1.0, False), (1.5, False)])
def test_only_a_relative_tolerance_below_one_is_monotone(relative: float, monotone: bool) -> None:
    """From one on, zero is near every number."""
    assert Tolerance(relative, 0).monotone is monotone


def test_half_a_unit_is_that_of_the_coarser_scale() -> None:
    """Integers have no scale, floats go by the other side, and whole Decimals have none either."""
    assert half_unit(Decimal("0.25"), Decimal("0.1")) == Decimal("0.05")
    assert half_unit(Decimal("0.25"), 0.5) == Decimal("0.005")
    assert half_unit(0.5, Decimal("0.2")) == Decimal("0.05")
    assert half_unit(Decimal("0.25"), 1) is None
    assert half_unit(Decimal("0.25"), Decimal(1)) is None
    assert half_unit(0.25, 0.5) is None
    assert [scale_of(Decimal(text)) for text in ("1", "1.0", "1E+3", "NaN")] == [0, 1, -3, 0]


@pytest.mark.parametrize(
    ("values", "tolerance", "reach", "clusters"),
    [
        ([1.0, 1.0 + 5e-10, 2.0, 9], Tolerance(1e-9, 0), None, [0, 0, 1, 2]),
        ([0.5, Decimal(3), 4.0, Decimal("4.4")], Tolerance(0, 0.5), None, [0, 1, 2, 2]),
        ([Decimal("0.1"), 0.1, 0.14, 0.3], Tolerance(0, 0), Decimal("0.05"), [0, 0, 0, 1]),
        ([0.0, 0.5, 1.25, 2.0], Tolerance(0, 0.5), None, [0, 0, 1, 2]),
        ([-2.0, 0.0, 7.0], Tolerance(1, 0), None, [0, 0, 0]),
        ([], Tolerance(0, 0), None, []),
    ],
)
def test_chains_are_numbered_in_ascending_order(
    values: list[Number], tolerance: Tolerance, reach: Decimal | None, clusters: list[int]
) -> None:
    """Neighbours that are near share a number; a tolerance that is not monotone leaves one chain."""
    assert link(set(values), tolerance, reach) == dict(zip(values, clusters, strict=True))


def test_chains_of_a_set_are_numbered_from_zero() -> None:
    """A wide relative tolerance is measured by the larger number, not by the sum of both."""
    assert chained({1.0, 2.0, 9.0}, Tolerance(0, 1)) == ({1.0: 0, 2.0: 0, 9.0: 1}, frozenset({0}))
    assert chained({100.0, 210.0}, Tolerance(0.5, 0)) == ({100.0: 0, 210.0: 1}, frozenset())
    assert chained({100.5, 190.5}, Tolerance(0.5, 0)) == ({100.5: 0, 190.5: 0}, frozenset())
