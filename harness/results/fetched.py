"""Rows as a Python driver hands them over: what published scorers are fed, whose own equality is Python's."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal

from sqlassay.cases.relation import Interval, Json, Relation


def as_fetched(relation: Relation) -> Relation:
    """Return the rows as a driver hands them over: lists, documents and durations as Python's, NaN anew.

    Two fetches never share a NaN object, and a NaN equals itself only where the object is shared.
    """
    if not any(type(cell) in _SPECIAL for row in relation.rows for cell in row):
        return relation
    rows = tuple(tuple(_fetched(cell) for cell in row) for row in relation.rows)
    return Relation(relation.columns, rows)


def dict_rows(relation: Relation) -> list[dict[str, object]]:
    """Return rows as dicts by column name, as EvalBench 1.20 makes them."""
    names = unique_names([column.name for column in relation.columns])
    return [dict(zip(names, row, strict=True)) for row in relation.rows]


def unique_names(names: Sequence[str]) -> list[str]:
    """Return the names with each one that came before numbered on: a, a_1, a_2, past names that are taken."""
    taken, made = set(names), []
    for name in names:
        free = name
        if name in made:
            number = 1
            while f"{name}_{number}" in taken:
                number += 1
            free = f"{name}_{number}"
            taken.add(free)
        made.append(free)
    return made


_SPECIAL = frozenset({float, Decimal, tuple, Json, Interval})


def _fetched(cell: object) -> object:
    """Return one cell as a driver hands it over."""
    match cell:
        case float():
            return float("nan") if math.isnan(cell) else cell
        case Decimal():
            return Decimal("NaN") if cell.is_nan() else cell
        case tuple():
            return [_fetched(item) for item in cell]
        case Interval():
            return timedelta(days=30 * cell.months + cell.days, microseconds=cell.microseconds)
        case Json():
            return _document(cell)
    return cell


def _document(cell: Json) -> object:
    """Return a JSON document as Python's value, its text where it is none."""
    try:
        return json.loads(cell.text)
    except (ValueError, RecursionError):
        return cell.text
