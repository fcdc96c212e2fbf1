"""Which predicted column faces which gold column: the choices a policy leaves before any cell is looked at."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations, islice

from cases.errors import InputError
from cases.policy import Policy
from cases.relation import Relation

_MOST_CHOICES = 2_000
_FEWEST_CHOICES = 16
_CELLS_LOOKED_AT = 10_000_000

Kept = tuple[int, ...]


def kept_choices(gold: Relation, pred: Relation, policy: Policy) -> list[Kept]:
    """Return the sets of gold columns the prediction may answer, largest first; empty where its width rules all out.

    There may be more than `most_choices` of them: then the list is one longer than that.
    Raises: InputError where required_columns names a column the gold lacks.
    """
    width, offered = len(gold.columns), len(pred.columns)
    required = tuple(sorted(set(range(width) if policy.required_columns is None else policy.required_columns)))
    if any(not 0 <= column < width for column in required):
        raise InputError(f"the gold has {width} columns", field="required_columns", remedy="Name gold columns from 0")
    optional = [column for column in range(width) if column not in required]
    fits = range(len(required), width + 1)
    if policy.extra_columns == "forbid":
        sizes = [size for size in fits if size == offered]
    elif policy.columns == "position":
        sizes = [size for size in reversed(fits) if size <= offered]
    else:
        sizes = [len(required)] if len(required) <= offered else []
    chosen = (more for size in sizes for more in combinations(optional, size - len(required)))
    return [tuple(sorted((*required, *more))) for more in islice(chosen, most_choices(gold, pred) + 1)]


def most_choices(gold: Relation, pred: Relation) -> int:
    """Return how many sets of kept columns are looked at: the more, the smaller the relations."""
    cells = sum(len(side.rows) * len(side.columns) for side in (gold, pred))
    return max(_FEWEST_CHOICES, min(_MOST_CHOICES, _CELLS_LOOKED_AT // max(1, cells)))


def by_position(kept: Kept) -> tuple[int, ...]:
    """Map the kept gold columns to the first predicted ones; extra columns trail."""
    return tuple(range(len(kept)))


def by_name(kept: Kept, gold: Relation, pred: Relation) -> tuple[int, ...] | None:
    """Map gold columns to predicted ones of the same case-folded name, duplicates in order of appearance."""
    places: dict[str, list[int]] = defaultdict(list)
    for index, column in enumerate(pred.columns):
        places[column.name.casefold()].append(index)
    mapping: list[int] = []
    for index in kept:
        found = places[gold.columns[index].name.casefold()]
        if not found:
            return None
        mapping.append(found.pop(0))
    return tuple(mapping)


def names_agree(kept: Kept, mapping: tuple[int, ...], gold: Relation, pred: Relation) -> bool:
    """Tell whether every mapped column has the gold's name, case apart."""
    pairs = zip(kept, mapping, strict=True)
    return all(gold.columns[ours].name.casefold() == pred.columns[theirs].name.casefold() for ours, theirs in pairs)
