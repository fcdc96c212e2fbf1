"""Partial credit of the Skill's execution score: the share of gold columns found as value bags."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from cases.policy import Policy
from cases.relation import Relation
from harness.compare.cells import Rules
from harness.compare.encode import encode
from harness.compare.loose import pair_class
from harness.compare.matching import Budget, OutOfBudgetError, matched

_STEPS = 300_000


def partial_credit(gold: Relation, predicted: Relation, policy: Policy) -> float:
    """Return matched gold columns / gold columns on a mismatch with equal row counts; 0 where all match as bags.

    Each predicted column serves one gold column. All columns found means scrambled rows or a wrong order: no credit.
    """
    width = len(gold.columns)
    kept = range(width) if policy.required_columns is None else sorted(set(policy.required_columns) & set(range(width)))
    if len(gold.rows) != len(predicted.rows) or not gold.rows or not kept:
        return 0.0
    edges = column_edges(gold, predicted, kept, policy)
    found = matched(edges, len(predicted.columns), Budget(_STEPS))
    return 0.0 if found == len(kept) else found / len(kept)


def column_edges(gold: Relation, pred: Relation, kept: Sequence[int], policy: Policy) -> list[list[int]]:
    """Return, for each kept gold column, the predicted columns that hold the same bag of values."""
    ours = list(zip(*gold.rows, strict=True)) if gold.rows else [()] * len(gold.columns)
    theirs = list(zip(*pred.rows, strict=True)) if pred.rows else [()] * len(pred.columns)
    kinds = frozenset(column.kind for column in (*gold.columns, *pred.columns))
    rules = Rules.of(policy, *kinds)
    special = rules != Rules.of(policy)
    coded = encode([ours[column] for column in kept], theirs, rules)
    bags = [Counter(keys) for keys in coded.pred]
    edges: list[list[int]] = []
    for column, keys in zip(kept, coded.gold, strict=True):
        bag = Counter(keys)
        alike = [index for index, other in enumerate(bags) if other == bag]
        undecided = special or not coded.loose.isdisjoint(bag)
        pairs = {index: Rules.of(policy, gold.columns[column].kind, pred.columns[index].kind) for index in alike}
        edges.append([i for i in alike if not undecided or _same_bag(ours[column], theirs[i], pairs[i])])
    return edges


def _same_bag(ours: Sequence[object], theirs: Sequence[object], rules: Rules) -> bool:
    """Tell whether two columns are equal as bags where a tolerance decides; a bag too large to tell is not."""
    left, right = ([(rules.atom(cell),) for cell in column] for column in (ours, theirs))
    try:
        coded = encode([ours], [theirs], rules)
        if Counter(coded.gold[0]) != Counter(coded.pred[0]):
            return False
        classes: dict[object, tuple[list[int], list[int]]] = {}
        for side, keys in enumerate((coded.gold[0], coded.pred[0])):
            for index, key in enumerate(keys):
                if key in coded.loose:
                    classes.setdefault(key, ([], []))[side].append(index)
        budget = Budget(_STEPS)
        return not any(
            pair_class([left[i] for i in mine], [right[k] for k in other], [rules], budget)
            for mine, other in classes.values()
        )
    except OutOfBudgetError:
        return False
