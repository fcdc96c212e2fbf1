"""One joint column permutation for all rows: signatures, twins, colour refinement, then a budgeted search.

Every step keeps only necessary conditions, so a mapping that exists is never lost; the caller verifies each one
that is found. Colours are sums of hashes: a collision can merge two colours and cost time, never a verdict.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from operator import add

from sqlassay.harness.compare.matching import Budget
from sqlassay.harness.compare.plain import Keys

_MASK = (1 << 61) - 1


@dataclass(frozen=True, slots=True)
class Problem:
    """The keyed columns of both sides, what each row is known by (its tie group), and what else tells columns apart.

    `sorts` are what a column's kind adds to the rules: columns of equal keys are exchanged freely only within one sort.
    """

    gold: tuple[Keys, ...]
    pred: tuple[Keys, ...]
    gold_rows: tuple[int, ...]
    pred_rows: tuple[int, ...]
    gold_marks: tuple[Hashable, ...]
    pred_marks: tuple[Hashable, ...]
    loose: frozenset[Hashable]
    as_sets: bool = False
    gold_sorts: tuple[Hashable, ...] = ()
    pred_sorts: tuple[Hashable, ...] = ()


@dataclass(frozen=True, slots=True)
class _State:
    """Colours of columns and rows on both sides, and the column colours the rows already know of."""

    gold: tuple[int, ...]
    pred: tuple[int, ...]
    gold_rows: list[int]
    pred_rows: list[int]
    known: frozenset[int] = frozenset()


def mappings(problem: Problem, budget: Budget) -> Iterator[tuple[int, ...]]:
    """Yield every column mapping, up to exchange of identical columns, that could make the rows agree.

    Raises: OutOfBudgetError where the steps run out before the search ends.
    """
    start = _signed(problem, budget)
    if start is not None:
        yield from _search(problem, start, budget)


def _signed(problem: Problem, budget: Budget) -> _State | None:
    """Colour each column by its bag of keys; None where a gold column has no counterpart."""
    budget.spend(sum(map(len, (*problem.gold, *problem.pred))))
    if not problem.as_sets:  # columns of equal bags have equal sums, which are sooner known
        offered = {sum(map(hash, keys)) for keys in problem.pred}
        if any(sum(map(hash, keys)) not in offered for keys in problem.gold):
            return None
    colours: dict[Hashable, int] = {}
    sides: list[tuple[int, ...]] = []
    for columns, marks in ((problem.gold, problem.gold_marks), (problem.pred, problem.pred_marks)):
        signatures = [
            (mark, _signature(keys, as_set=problem.as_sets)) for keys, mark in zip(columns, marks, strict=True)
        ]
        sides.append(tuple(colours.setdefault(signature, len(colours) + 1) for signature in signatures))
    state = _State(sides[0], sides[1], list(problem.gold_rows), list(problem.pred_rows))
    return state if _possible(state) else None


def _signature(keys: Keys, *, as_set: bool) -> Hashable:
    """Return what two columns share if one can face the other."""
    return frozenset(keys) if as_set else frozenset(Counter(keys).items())


def _possible(state: _State) -> bool:
    """Tell whether every gold colour has at least as many predicted columns."""
    offered = Counter(state.pred)
    return all(offered[colour] >= count for colour, count in Counter(state.gold).items())


def _search(problem: Problem, state: _State, budget: Budget) -> Iterator[tuple[int, ...]]:
    """Refine, then yield the mapping if nothing is left to choose, else try each choice for one column."""
    refined = _refined(problem, state, budget)
    if refined is None:
        return
    column = _undecided(problem, refined)
    if column is None:
        yield _mapping(refined)
        return
    fresh = max((*refined.gold, *refined.pred)) + 1
    tried: list[int] = []
    for other, colour in enumerate(refined.pred):
        if colour != refined.gold[column] or any(_twins(problem, problem.pred, other, before) for before in tried):
            continue
        tried.append(other)
        yield from _search(problem, _paired(refined, column, other, fresh), budget)


def _paired(state: _State, column: int, other: int, fresh: int) -> _State:
    """Return the state in which one gold and one predicted column share a colour of their own."""
    gold, pred = list(state.gold), list(state.pred)
    gold[column] = pred[other] = fresh
    return _State(tuple(gold), tuple(pred), state.gold_rows, state.pred_rows, state.known)


def _undecided(problem: Problem, state: _State) -> int | None:
    """Return a gold column of the smallest colour that still leaves a real choice; None where none does."""
    ours, theirs = _members(state.gold), _members(state.pred)
    best: tuple[int, int] | None = None
    for colour, columns in ours.items():
        others = theirs[colour]
        if len(others) == 1 or (
            _all_twins(problem, problem.gold, columns) and _all_twins(problem, problem.pred, others)
        ):
            continue
        if best is None or len(others) < best[0]:
            best = (len(others), columns[0])
    return None if best is None else best[1]


def _members(colours: Sequence[int]) -> dict[int, list[int]]:
    """Return the columns of each colour."""
    found: dict[int, list[int]] = defaultdict(list)
    for column, colour in enumerate(colours):
        found[colour].append(column)
    return found


def _all_twins(problem: Problem, columns: Sequence[Keys], which: list[int]) -> bool:
    """Tell whether these columns are identical in every row, so that any of them will do."""
    return all(_twins(problem, columns, which[0], other) for other in which[1:])


def _twins(problem: Problem, columns: Sequence[Keys], first: int, second: int) -> bool:
    """Tell whether two columns of one side have the same keys, each of which decides equality."""
    sorts = problem.pred_sorts if columns is problem.pred else problem.gold_sorts
    same = columns[first] == columns[second] and (not sorts or sorts[first] == sorts[second])
    return same and (not problem.loose or problem.loose.isdisjoint(columns[first]))


def _mapping(state: _State) -> tuple[int, ...]:
    """Read the mapping off a state that leaves no choice."""
    theirs = _members(state.pred)
    return tuple(theirs[colour].pop(0) for colour in state.gold)


def _refined(problem: Problem, state: _State, budget: Budget) -> _State | None:
    """Refine rows by columns and columns by rows until nothing changes; None where the sides fall apart."""
    if problem.as_sets and len(problem.gold) != len(problem.pred):
        return state  # rows may coincide once extra columns are dropped, so their colours prove nothing
    while _ambiguous(state):
        rows = _rows_refined(problem, state, budget)
        if rows is None:
            return None
        columns = _columns_refined(problem, rows, budget)
        if not _possible(columns):
            return None
        if len(set(columns.gold)) == len(set(state.gold)) and len(set(columns.pred)) == len(set(state.pred)):
            return rows
        state = columns
    return state


def _ambiguous(state: _State) -> bool:
    """Tell whether some gold colour is shared by several predicted columns."""
    offered = Counter(state.pred)
    return any(offered[colour] > 1 for colour in set(state.gold))


def _rows_refined(problem: Problem, state: _State, budget: Budget) -> _State | None:
    """Colour rows by their cells in the columns whose colour is tight: as many predicted as gold columns."""
    ours, theirs = Counter(state.gold), Counter(state.pred)
    tight = {colour for colour, count in ours.items() if theirs[colour] == count} - state.known
    sums: list[list[int]] = []
    sides = ((problem.gold, state.gold, state.gold_rows), (problem.pred, state.pred, state.pred_rows))
    for columns, colours, rows in sides:
        total = [hash((colour, 0)) for colour in rows]
        for keys, colour in zip(columns, colours, strict=True):
            if colour in tight:
                budget.spend(len(keys))
                weight = {key: hash((colour, key, 1)) & _MASK for key in set(keys)}
                total = list(map(add, total, map(weight.__getitem__, keys)))
        sums.append(total)
    if Counter(sums[0]) != Counter(sums[1]):
        return None
    numbers: dict[int, int] = {}
    gold, pred = ([numbers.setdefault(value, len(numbers)) for value in total] for total in sums)
    return _State(state.gold, state.pred, gold, pred, state.known | tight)


def _columns_refined(problem: Problem, state: _State, budget: Budget) -> _State:
    """Colour the columns that still share a colour by where their keys stand."""
    shared = {colour for colour, count in Counter(state.pred).items() if count > 1}
    numbers: dict[Hashable, int] = {}
    fresh = max((*state.gold, *state.pred)) + 1
    sides: list[tuple[int, ...]] = []
    for columns, colours, rows in (
        (problem.gold, state.gold, state.gold_rows),
        (problem.pred, state.pred, state.pred_rows),
    ):
        made: list[int] = []
        for keys, colour in zip(columns, colours, strict=True):
            if colour not in shared:
                made.append(colour)
                continue
            budget.spend(2 * len(keys))
            placed = (colour, sum(map(hash, zip(rows, keys, strict=True))))
            made.append(numbers.setdefault(placed, fresh + len(numbers)))
        sides.append(tuple(made))
    return _State(sides[0], sides[1], state.gold_rows, state.pred_rows, state.known)
