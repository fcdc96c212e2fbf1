"""Partial credit of the Skill's execution score: the share of gold columns found as value bags."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

from sqlassay.cases.policy import Policy
from sqlassay.cases.relation import Relation
from sqlassay.harness.compare.cells import Rules
from sqlassay.harness.compare.columns import KNOWN_OF_NONE, Constants, compared
from sqlassay.harness.compare.encode import encode
from sqlassay.harness.compare.joint import Joint
from sqlassay.harness.compare.loose import pair_class
from sqlassay.harness.compare.matching import Budget, OutOfBudgetError, matched

_STEPS = 300_000


def partial_credit(gold: Relation, predicted: Relation, policy: Policy, constants: Constants = KNOWN_OF_NONE) -> float:
    """Return matched gold columns / gold columns on a mismatch with equal row counts; 0 where all match as bags.

    Each predicted column serves one gold column. All columns found means scrambled rows or a wrong order: no credit.
    Neither has a prediction with more columns than the policy allows, nor one that reads no table.
    """
    ours = compared(gold, policy)
    kept = ours if policy.required_columns is None else sorted(set(policy.required_columns) & set(ours))
    if len(gold.rows) != len(predicted.rows) or not gold.rows or not kept:
        return 0.0
    if policy.extra_columns == "allow" and len(compared(predicted, policy)) > len(ours) + policy.max_extra_columns:
        return 0.0
    found_edges = column_edges(gold, predicted, kept, policy)
    edges = [
        [theirs for theirs in faced if not constants.bar((column,), (theirs,))]
        for column, faced in zip(kept, found_edges, strict=True)
    ]
    found = matched(edges, len(predicted.columns), Budget(_STEPS))
    return 0.0 if found == len(kept) else found / len(kept)


def column_edges(
    gold: Relation, pred: Relation, kept: Sequence[int], policy: Policy, joint: Joint | None = None
) -> list[list[int]]:
    """Return, for each kept gold column, the predicted columns that hold the same bag of values."""
    rules = Rules.of(policy, *(column.kind for column in (*gold.columns, *pred.columns)))
    offered = compared(pred, policy)
    special = rules != Rules.of(policy)
    if joint is not None and joint.kept == tuple(kept):
        coded = joint.encoded
    else:
        theirs = [_cells(pred, index) for index in offered]
        coded = encode([_cells(gold, column) for column in kept], theirs, rules)
    sums = [sum(map(hash, keys)) for keys in coded.pred]
    bags: dict[int, Counter[Hashable]] = {}
    edges: list[list[int]] = []
    for column, keys in zip(kept, coded.gold, strict=True):
        total = sum(map(hash, keys))
        near = [place for place, other in enumerate(sums) if other == total]  # equal bags have equal sums
        bags |= {place: Counter(coded.pred[place]) for place in near if place not in bags}
        bag = Counter(keys) if near else Counter[Hashable]()
        alike = [offered[place] for place in near if bags[place] == bag]
        undecided = special or not coded.loose.isdisjoint(bag)
        pairs = {index: Rules.of(policy, gold.columns[column].kind, pred.columns[index].kind) for index in alike}
        edges.append([i for i in alike if not undecided or _same_bag(_cells(gold, column), _cells(pred, i), pairs[i])])
    return edges


def _cells(relation: Relation, column: int) -> list[object]:
    """Return the cells of one column."""
    return [row[column] for row in relation.rows]


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
