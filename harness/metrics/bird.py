"""BIRD: execution accuracy, soft F1 in the paper's pairing and in the best one, and the two efficiency scores."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

from sqlassay.cases.relation import Relation
from sqlassay.harness.metrics.contract import Ask, Metric
from sqlassay.harness.metrics.outcomes import Key, both, keys, last, unscorable
from sqlassay.harness.metrics.pace import NOT_TIMED, pace, paced
from sqlassay.harness.results.evidence import Evidence, Score
from sqlassay.harness.results.fetched import as_fetched

_PAPER = "Li et al. 2023 (BIRD)"
_MINI_DEV = "BIRD mini-dev, evaluation scripts"
_MOST_PAIRED = 120
"""Rows without an equal on the other side that are paired at best; more are paired in their order."""


def under(preset: str) -> Callable[[Evidence, Ask | None], Score]:
    """Return what scores 1 where the comparison under a preset is a match."""

    def compute(evidence: Evidence, _ask: Ask | None = None) -> Score:
        """Return 1 on a match, 0 on a mismatch or failure, nothing where it cannot be decided."""
        missing = unscorable(evidence)
        if missing is not None:
            return missing
        execution = last(evidence)
        comparison = dict(execution.others).get(preset) if execution is not None else None
        if comparison is None and (execution is None or execution.comparison is None):
            return Score(0.0, evidence.reason)
        if comparison is None or comparison.verdict == "undecided":
            return Score(None, f"not compared under {preset}" if comparison is None else comparison.reason)
        return Score(float(comparison.verdict == "match"), comparison.reason)

    return compute


def soft_f1(evidence: Evidence, _ask: Ask | None = None) -> Score:
    """Pair distinct rows in their order, as the paper does, and score the cells they share."""
    found = both(evidence)
    if isinstance(found, Score):
        return found
    gold, predicted = map(_distinct, found)
    return _scored(list(zip(gold, predicted, strict=False)), gold, predicted)


def soft_f1_any_order(evidence: Evidence, _ask: Ask | None = None) -> Score:
    """Pair distinct rows so that they share the most cells: equal rows first, then the best assignment of the rest."""
    found = both(evidence)
    if isinstance(found, Score):
        return found
    gold, predicted = map(_distinct, found)
    common = set(gold) & set(predicted)
    ours = [row for row in gold if row not in common]
    theirs = [row for row in predicted if row not in common]
    if max(len(ours), len(theirs)) <= _MOST_PAIRED:
        rest = [(ours[i], theirs[j]) for i, j in _assigned(ours, theirs)]
    else:
        rest = list(zip(ours, theirs, strict=False))
    return _scored([*((row, row) for row in common), *rest], gold, predicted)


def _distinct(relation: Relation) -> list[Key]:
    """Return distinct rows in their order, equal as Python's values are: the published script has no tolerance.

    Where a value cannot stand in a set (a list, a document), the script would fail; rows are told apart by value then.
    """
    try:
        return list(dict.fromkeys(as_fetched(relation).rows))
    except TypeError:
        return list(dict.fromkeys(keys(relation.rows)))


def _scored(pairs: Sequence[tuple[Key, Key]], gold: Sequence[Key], predicted: Sequence[Key]) -> Score:
    """Return the F1 of pairs of rows and of the rows without a partner."""
    if not gold and not predicted:
        return Score(1.0, "both results are empty")
    shares = [_shares(*pair) for pair in pairs]
    found = math.fsum(share[0] for share in shares)
    extra = math.fsum(share[1] for share in shares) + max(0, len(predicted) - len(pairs))
    lacking = math.fsum(share[2] for share in shares) + max(0, len(gold) - len(pairs))
    precision = found / (found + extra) if found + extra else 0.0
    recall = found / (found + lacking) if found + lacking else 0.0
    value = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    reason = f"precision {precision:.3f}, recall {recall:.3f} over {len(gold)} gold and {len(predicted)} predicted rows"
    return Score(value, reason, (("precision", precision), ("recall", recall)))


def _shares(gold: Key, predicted: Key) -> tuple[float, float, float]:
    """Return the cells found, only predicted and only gold, each divided by the gold's columns."""
    width = len(gold) or 1
    found = sum(cell in gold for cell in predicted)
    return found / width, (len(predicted) - found) / width, sum(cell not in predicted for cell in gold) / width


def _assigned(ours: Sequence[Key], theirs: Sequence[Key]) -> list[tuple[int, int]]:
    """Return the pairing of rows that shares the most cells, ties by their order (the Hungarian method)."""
    flipped = len(ours) > len(theirs)
    rows, columns = (theirs, ours) if flipped else (ours, theirs)
    if not rows:
        return []
    bags = [Counter(row) for row in rows], [Counter(row) for row in columns]
    cost = [[-sum((one & other).values()) for other in bags[1]] for one in bags[0]]
    pairs = _cheapest(cost)
    return sorted((column, row) if flipped else (row, column) for row, column in pairs)


def _cheapest(cost: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """Return the cheapest assignment of every row to a column of its own; there are no fewer columns than rows."""
    width = len(cost[0])
    row_price, column_price = [0] * (len(cost) + 1), [0] * (width + 1)
    taken, way = [0] * (width + 1), [0] * (width + 1)
    for row in range(1, len(cost) + 1):
        taken[0], column = row, 0
        least: list[float] = [math.inf] * (width + 1)
        done = [False] * (width + 1)
        while taken[column]:
            done[column] = True
            here, delta, following = taken[column], math.inf, 0
            for place in range(1, width + 1):
                if done[place]:
                    continue
                price = cost[here - 1][place - 1] - row_price[here] - column_price[place]
                if price < least[place]:
                    least[place], way[place] = price, column
                if least[place] < delta:
                    delta, following = least[place], place
            for place in range(width + 1):
                if done[place]:
                    row_price[taken[place]] += int(delta)
                    column_price[place] -= int(delta)
                else:
                    least[place] -= delta
            column = following
        while column:
            taken[column], column = taken[way[column]], way[column]
    return [(taken[place] - 1, place - 1) for place in range(1, width + 1) if taken[place]]


def _timed(evidence: Evidence, value: Callable[[float], float]) -> Score:
    """Return the value of a correct and timed prediction's pace, 0 for a wrong one."""
    if not evidence.settings.repetitions:
        return Score(None, NOT_TIMED)
    correct = under("bird")(evidence, None)
    if correct.value is None or not correct.value:
        return correct
    found = pace(evidence)
    return found if isinstance(found, Score) else paced(found, value)


def ves(evidence: Evidence, _ask: Ask | None = None) -> Score:
    """Return the valid efficiency score of one case."""
    return _timed(evidence, lambda found: 100.0 * math.sqrt(found))


def r_ves(evidence: Evidence, _ask: Ask | None = None) -> Score:
    """Return the reward-based valid efficiency score of one case."""
    return _timed(evidence, lambda found: 100.0 * math.sqrt(reward(found)))


def reward(found: float) -> float:
    """Return mini-dev's reward of a time ratio."""
    steps = ((2.0, 1.25), (1.0, 1.0), (0.5, 0.75), (0.25, 0.5))
    return next((value for least, value in steps if found >= least), 0.25)


EXECUTION_ACCURACY = Metric(
    name="bird.execution_accuracy",
    needs=frozenset({"gold", "policy:bird"}),
    citation=_PAPER,
    formula="1 if the sets of rows are equal else 0",
    range=(0.0, 1.0),
    compute=under("bird"),
)
SOFT_F1 = Metric(
    name="bird.soft_f1",
    needs=frozenset({"gold"}),
    citation=_MINI_DEV,
    formula="F1 of the cells that distinct rows share, paired in their order",
    range=(0.0, 1.0),
    compute=soft_f1,
)
SOFT_F1_ANY_ORDER = Metric(
    name="bird.soft_f1_any_order",
    needs=frozenset({"gold"}),
    citation="BIRD's soft F1 with the pairing that shares the most cells",
    formula="F1 of the cells that distinct rows share, paired at best",
    range=(0.0, 1.0),
    compute=soft_f1_any_order,
)
VES = Metric(
    name="bird.ves",
    needs=frozenset({"gold", "policy:bird", "timings:5"}),
    citation=_PAPER,
    formula="100 · √median(gold seconds / predicted seconds) over timed rounds if correct else 0",
    range=(0.0, math.inf),
    compute=ves,
)
R_VES = Metric(
    name="bird.r_ves",
    needs=frozenset({"gold", "policy:bird", "timings:5"}),
    citation=_MINI_DEV,
    formula="100 · √reward; reward 1.25, 1, .75, .5, .25 from a median ratio of 2, 1, .5, .25, 0; 0 if wrong",
    range=(0.0, 100.0 * math.sqrt(1.25)),
    compute=r_ves,
)
