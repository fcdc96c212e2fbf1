"""Which predicted column faces which gold column: the choices a policy leaves before any cell is looked at."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, islice

from sqlassay.cases.errors import InputError
from sqlassay.cases.policy import Policy
from sqlassay.cases.relation import Relation

_MOST_CHOICES = 2_000
_FEWEST_CHOICES = 16
_CELLS_LOOKED_AT = 10_000_000

_CONSTANTS_TRIED = 4

Kept = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Constants:
    """The columns of either side that read no table, known from the statements; none where only rows are known.

    `literals` are those of either side whose only value is a number that the statement writes.
    What a prediction writes down without reading anything stands for no gold column that is computed.
    """

    gold: frozenset[int] = frozenset()
    pred: frozenset[int] = frozenset()
    gold_literals: frozenset[int] = frozenset()
    literals: frozenset[int] = frozenset()

    def repeat(self, columns: tuple[int | None, ...]) -> bool:
        """Tell whether a column stands for a gold one by a number that only the prediction's text writes."""
        return any(
            theirs in self.literals and ours not in self.gold | self.gold_literals
            for ours, theirs in enumerate(columns)
        )

    def bar(self, kept: Kept, mapping: tuple[int, ...]) -> bool:
        """Tell whether a mapping lets a constant stand for a computed gold column."""
        return any(theirs in self.pred and ours not in self.gold for ours, theirs in zip(kept, mapping, strict=True))

    def leave_too_few(self, gold: Kept, pred: Kept) -> bool:
        """Tell whether fewer of these predicted columns are computed than of these gold ones."""
        return len(set(pred) - self.pred) < len(set(gold) - self.gold)

    def classes(self, kept: Kept, offered: Kept) -> Iterator[tuple[tuple[bool, ...], tuple[bool, ...]]]:
        """Yield the ways to tell columns apart so that constants face constants: True marks those.

        A constant gold column may face a column of either sort, so every choice of those is tried, of many all or none.
        """
        theirs = tuple(column in self.pred for column in offered)
        free = [column for column in kept if column in self.gold] if any(theirs) else []
        if len(free) > _CONSTANTS_TRIED:
            chosen = [tuple(free), ()]
        else:
            chosen = [one for size in range(len(free), -1, -1) for one in combinations(free, size)]
        for one in chosen:
            yield tuple(column in one for column in kept), theirs


KNOWN_OF_NONE = Constants()


def compared(relation: Relation, policy: Policy) -> tuple[int, ...]:
    """Return the columns of one side that the policy does not ignore by name, case apart."""
    ignored = {name.casefold() for name in policy.ignore_columns}
    return tuple(place for place, column in enumerate(relation.columns) if column.name.casefold() not in ignored)


def ignored_notes(gold: Relation, pred: Relation, policy: Policy) -> tuple[str, ...]:
    """Return the notes about columns ignored by name: that some were, and that the gold lacks one of the names."""
    if not policy.ignore_columns:
        return ()
    left_out = any(len(compared(side, policy)) < len(side.columns) for side in (gold, pred))
    held = {column.name.casefold() for column in gold.columns}
    absent = any(name.casefold() not in held for name in policy.ignore_columns)
    return ("ignored_columns",) * left_out + ("ignored_absent",) * absent


def kept_choices(gold: Relation, pred: Relation, policy: Policy) -> list[Kept]:
    """Return the sets of gold columns the prediction may answer, largest first; empty where its width rules all out.

    There may be more than `most_choices` of them: then the list is one longer than that.
    Raises: InputError where required_columns names a column the gold lacks.
    """
    width, ours, offered = len(gold.columns), compared(gold, policy), len(compared(pred, policy))
    named = ours if policy.required_columns is None else policy.required_columns
    if any(not 0 <= column < width for column in named):
        raise InputError(f"the gold has {width} columns", field="required_columns", remedy="Name gold columns from 0")
    required = tuple(sorted(set(named).intersection(ours)))
    optional = [column for column in ours if column not in required]
    fits = range(len(required), len(ours) + 1)
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


def by_position(kept: Kept, pred: Relation, policy: Policy) -> tuple[int, ...]:
    """Map the kept gold columns to the first predicted ones that are not ignored; extra columns trail."""
    return compared(pred, policy)[: len(kept)]


def by_name(kept: Kept, gold: Relation, pred: Relation) -> tuple[int, ...] | None:
    """Map gold columns to predicted ones of the same case-folded name, duplicates in order of appearance.

    Duplicates are counted over all gold columns, those left out included: the second `x` faces the second `x`.
    """
    places: dict[str, list[int]] = defaultdict(list)
    for index, column in enumerate(pred.columns):
        places[column.name.casefold()].append(index)
    seen: Counter[str] = Counter()
    faced: list[int | None] = []
    for column in gold.columns:
        name = column.name.casefold()
        faced.append(places[name][seen[name]] if seen[name] < len(places[name]) else None)
        seen[name] += 1
    mapping = tuple(place for place in (faced[index] for index in kept) if place is not None)
    return mapping if len(mapping) == len(kept) else None


def facing(kept: Kept, gold: Kept, offered: Kept) -> tuple[int, ...]:
    """Map the kept gold columns to the predicted ones in their place where both sides are as wide, else the first."""
    if len(gold) == len(offered):
        return tuple(offered[gold.index(column)] for column in kept)
    return offered[: len(kept)]


def shared_names(kept: Kept, gold: Relation, pred: Relation) -> dict[int, int]:
    """Return the predicted column of the same name for each kept gold column whose name is unique on both sides."""
    ours, theirs = ([column.name.casefold() for column in side.columns] for side in (gold, pred))
    counts = Counter(ours), Counter(theirs)
    return {
        column: theirs.index(ours[column]) for column in kept if counts[0][ours[column]] == counts[1][ours[column]] == 1
    }


def names_agree(kept: Kept, mapping: tuple[int, ...], gold: Relation, pred: Relation) -> bool:
    """Tell whether every mapped column has the gold's name, case apart."""
    pairs = zip(kept, mapping, strict=True)
    return all(gold.columns[ours].name.casefold() == pred.columns[theirs].name.casefold() for ours, theirs in pairs)
