"""Spider2's comparison of two data frames: column by column, numbers within 0.01, sorted as text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal

from sqlassay.cases.relation import Relation

_TOLERANCE = 1e-2


def spider2_equal(gold: Relation, pred: Relation, *, ordered: bool) -> bool:
    """Return whether each gold column has some predicted column like it; one may serve several.

    Raises: ValueError for a list of several items, whose missing values the peer cannot tell.
    """
    ours, theirs = (_vectors(relation, ordered=ordered) for relation in (gold, pred))
    return all(any(_alike(left, right) for right in theirs) for left in ours)


def _vectors(relation: Relation, *, ordered: bool) -> list[list[object]]:
    """Return the columns as the peer compares them: missing values as 0, sorted by text unless ordered."""
    columns: list[Sequence[object]] = [()] * len(relation.columns)
    if relation.rows:
        columns = list(zip(*relation.rows, strict=True))
    framed = [_framed(column) for column in columns]
    if (
        framed
        and all(map(_is_numeric, framed))
        and any(isinstance(cell, float) for column in framed for cell in column)
    ):
        framed = [[float(cell) for cell in column] for column in framed]  # type: ignore[arg-type]
    vectors = [[_zeroed(cell) for cell in column] for column in framed]
    return vectors if ordered else [sorted(vector, key=_as_text) for vector in vectors]


def _framed(column: Sequence[object]) -> list[object]:
    """Return a column as a data frame holds it: whole numbers with a gap, or beside floats, become floats."""
    numbers = [cell for cell in column if cell is not None]
    whole = all(isinstance(cell, int) for cell in numbers)
    if not numbers or not _is_numeric(numbers) or (whole and len(numbers) == len(column)):
        return list(column)
    return [math.nan if cell is None else float(cell) for cell in column]  # type: ignore[arg-type]


def _is_numeric(cells: Sequence[object]) -> bool:
    """Tell whether a column holds ints and floats only; booleans are a type of their own in a data frame."""
    return all(isinstance(cell, int | float) and not isinstance(cell, bool) for cell in cells)


def _zeroed(cell: object) -> object:
    """Return 0 for a missing value, as the peer does."""
    if isinstance(cell, list) and len(cell) != 1:
        raise ValueError("the truth value of a list's missing items is ambiguous")
    missing = cell is None or (isinstance(cell, float | Decimal) and math.isnan(cell))
    return 0 if missing else cell


def _as_text(cell: object) -> tuple[str, bool]:
    """Return what the peer sorts by."""
    return str(cell), isinstance(cell, int | float)


def _alike(left: list[object], right: list[object]) -> bool:
    """Compare two columns value by value."""
    return len(left) == len(right) and all(map(_same, left, right))


def _same(left: object, right: object) -> bool:
    """Compare two values: numbers within 0.01, anything else exactly."""
    if isinstance(left, int | float) and isinstance(right, int | float):
        return math.isclose(float(left), float(right), abs_tol=_TOLERANCE)
    return bool(left == right)
