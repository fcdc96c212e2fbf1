"""Numbers of any type compared by value: tolerance without overflow, and the clusters it links."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from itertools import pairwise
from typing import TypeAlias

Number: TypeAlias = int | float | Decimal

_WIDE = Context(prec=80, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])
_LONG_INT_BITS = 20_000
_FINE_RELATIVE, _FINE_ABSOLUTE = 1e-9, 1e-12
NOISE, NOISE_RELATIVE = 1e-5, 1e-11
"""How far the noise of floats past 10,000 reaches: two seconds of a Julian day, a fiftieth of a second of an epoch."""

_PLACES, _SHORT = 4, 1e10


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far two numbers that are not both whole may lie apart, relative and absolute."""

    relative: float
    absolute: float

    @property
    def monotone(self) -> bool:
        """Tell whether the numbers near a value always form one interval that moves with it."""
        return self.relative < 1

    @property
    def fine(self) -> bool:
        """Tell whether it is no wider than the preset's own, which is for the noise of floats and for nothing else."""
        return self.relative <= _FINE_RELATIVE and self.absolute <= _FINE_ABSOLUTE

    def bound(self, value: float) -> float:
        """Return the distance allowed around a value of this size.

        A fine tolerance is for noise: 1e-9 of a Julian day is three minutes, and no sum is so far off.
        """
        size = abs(value)
        if self.fine:
            return max(self.absolute, min(self.relative * size, max(NOISE, NOISE_RELATIVE * size)))
        return max(self.absolute, self.relative * size)

    def bound_exactly(self, size: Decimal) -> Decimal:
        """Return the same in decimal arithmetic."""
        relative = _WIDE.multiply(_spelled(self.relative), size)
        if self.fine:
            relative = min(relative, max(_spelled(NOISE), _WIDE.multiply(_spelled(NOISE_RELATIVE), size)))
        return max(_spelled(self.absolute), relative)


EXACTLY = Tolerance(0, 0)
"""No distance at all."""


def whole(value: Number) -> bool:
    """Tell whether a finite number has no fraction, whatever its exponent."""
    if isinstance(value, int):
        return True
    if isinstance(value, float):
        return value.is_integer()
    return bool(value == value.to_integral_value(context=_WIDE))


def amount(value: Number) -> bool:
    """Tell whether a number is meant to the last digit: an integer, or one written with at most four decimals.

    A float below 1e10 has at least two more digits than that, so noise never makes one such number of another.
    """
    if isinstance(value, float):
        return -_SHORT < value < _SHORT and round(value, _PLACES) == value
    return isinstance(value, int) or scale_of(value) <= _PLACES


def exact(left: Number, right: Number) -> bool:
    """Tell whether two numbers are compared to the last digit under a fine tolerance: amounts, decimals of a scale."""
    if isinstance(left, Decimal) and isinstance(right, Decimal) and scale_of(left) == scale_of(right):
        return True
    return amount(left) and amount(right)


def near(left: Number, right: Number, tolerance: Tolerance, half_unit: Decimal | None = None) -> bool:
    """Tell whether two finite numbers lie within the tolerance, or within half a unit of a Decimal's last place.

    A float stands for its shortest decimal spelling; binary arithmetic decides only where that cannot matter.
    """
    if left == right:
        return True
    try:
        low, high = float(left), float(right)
    except OverflowError:
        return _near_exactly(left, right, tolerance, half_unit)
    size = max(abs(low), abs(high))
    gap, slack = abs(low - high), 4e-15 * size
    allowed = max(tolerance.bound(size), float(half_unit or 0))
    if not math.isfinite(gap) or abs(gap - allowed) <= slack + 1e-12 * allowed or size < 1e-290:
        return _near_exactly(left, right, tolerance, half_unit)
    return gap < allowed


def _near_exactly(left: Number, right: Number, tolerance: Tolerance, half_unit: Decimal | None) -> bool:
    """Decide nearness in decimal arithmetic with 80 digits, where no exponent overflows."""
    first, second = _decimal(left), _decimal(right)
    if first is None or second is None:
        return False
    gap = _WIDE.abs(_WIDE.subtract(first, second))
    size = max(_WIDE.abs(first), _WIDE.abs(second))
    allowed = max(tolerance.bound_exactly(size), half_unit or Decimal(0))
    return bool(gap <= allowed) if allowed else first == second


def _decimal(value: Number) -> Decimal | None:
    """Return a number as a Decimal; None for an integer too long to be near anything but itself."""
    if isinstance(value, float):
        return _spelled(value)
    if isinstance(value, int) and value.bit_length() > _LONG_INT_BITS:
        return None
    return Decimal(value)


def _spelled(value: float) -> Decimal:
    """Return the shortest decimal that reads back as this float."""
    return Decimal(repr(value))


def half_unit(left: Number, right: Number, least: int = 1) -> Decimal | None:
    """Return half a unit of the coarser Decimal scale; None unless every Decimal has at least so many places.

    The other side may be a float; an integer has no scale to be coarse by.
    """
    scales = [scale_of(value) for value in (left, right) if isinstance(value, Decimal)]
    others = [value for value in (left, right) if not isinstance(value, Decimal | float)]
    if not scales or others or min(scales) < least:
        return None
    return half_of(min(scales))


def half_of(scale: int) -> Decimal:
    """Return half a unit at this many decimal places."""
    return Decimal((0, (5,), -scale - 1))


def scale_of(value: Decimal) -> int:
    """Return how many decimal places a finite Decimal is written with."""
    exponent = value.as_tuple().exponent
    return -exponent if isinstance(exponent, int) else 0


def _far_apart(left: Number, right: Number, tolerance: Tolerance, reach: Decimal | None) -> bool:
    """Tell at once that two ordinary floats in ascending order are not near; False leaves it open."""
    if reach is not None or type(left) is not float or type(right) is not float:
        return False
    return right - left > 2 * (tolerance.absolute + tolerance.relative * (abs(left) + abs(right)))


def link(values: set[Number], tolerance: Tolerance, reach: Decimal | None) -> dict[Number, int]:
    """Number the chains of values in which each neighbour is near the next: a necessary condition for nearness.

    `reach` is the widest half unit any pair of them may use.
    """
    if not tolerance.monotone:
        return dict.fromkeys(values, 0)
    chains: list[list[Number]] = []
    for value in sorted(values):
        last = chains[-1][-1] if chains else None
        if last is None or _far_apart(last, value, tolerance, reach) or not near(last, value, tolerance, reach):
            chains.append([])
        chains[-1].append(value)
    clusters: dict[Number, int] = {}
    number = 0
    for chain in chains:
        apart = reach is None and tolerance.fine and len(chain) > 1 and all(map(amount, chain))
        places = spelled_apart(chain) if apart else [0] * len(chain)
        clusters.update((value, number + place) for value, place in zip(chain, places, strict=True))
        number += places[-1] + 1
    return clusters


def spelled_apart(ascending: Sequence[Number]) -> list[int]:
    """Number ascending amounts, those that are spelled alike as one: a float stands for its shortest decimal."""
    places = [0]
    for left, right in pairwise(ascending):
        places.append(places[-1] + (not near(left, right, EXACTLY)))
    return places
