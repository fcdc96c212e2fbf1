"""The verdicts of published comparators, their flaws included, so that results can be set beside published ones."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import permutations
from typing import Literal, TypeAlias

from cases.errors import InputError
from cases.policy import Policy
from cases.relation import Relation, Row
from harness.results.verdicts import Comparison

Said: TypeAlias = tuple[Literal["match", "mismatch"], str]
Peer: TypeAlias = Callable[[Relation, Relation, bool], Said]

_MOST_PERMUTATIONS = 50_000


class PeerUnavailableError(Exception):
    """The peer itself would crash or not end on this pair, so it has no verdict."""


def peer_comparison(gold: Relation, pred: Relation, policy: Policy, *, ordered: bool) -> Comparison:
    """Return the verdict of the peer the policy names; undecided where the peer crashes or hangs.

    Raises: InputError for a peer nobody here knows.
    """
    peer = PEERS.get(policy.peer or "")
    if peer is None:
        raise InputError(
            f"unknown peer {policy.peer!r}", field="peer", remedy=f"Choose one of {', '.join(sorted(PEERS))}"
        )
    try:
        verdict, rule = peer(gold, pred, ordered)
    except (TypeError, ValueError, ArithmeticError, IndexError, PeerUnavailableError) as error:
        reason = f"{policy.peer} has no verdict: {type(error).__name__}: {error}"
        return Comparison("undecided", "peer_unavailable", reason, policy.digest)
    relation = "equal" if verdict == "match" else "different"
    flags = ("vacuous",) if not gold.rows and not pred.rows else ()
    return Comparison(verdict, rule, f"{relation} by the rule of {policy.peer}", policy.digest, flags=flags)


def _said(equal: bool, rule: str) -> Said:  # noqa: FBT001 (one positional fact)
    """Return a verdict with its rule."""
    return ("match" if equal else "mismatch"), rule


def bird(gold: Relation, pred: Relation, _: bool) -> Said:
    """BIRD: the sets of row tuples are equal; duplicates, order and names do not count."""
    return _said(set(pred.rows) == set(gold.rows), "bird")


def evalbench(gold: Relation, pred: Relation, _: bool) -> Said:
    """EvalBench set_match: rows are dicts by column name, so equal names collapse; their value sets are equal."""
    ours, theirs = _dict_rows(gold), _dict_rows(pred)
    if any(isinstance(value, dict | list) for row in (*ours, *theirs) for value in row.values()):
        left = Counter(_frozen(row) for row in ours)
        return _said(left == Counter(_frozen(row) for row in theirs), "evalbench")
    return _said({tuple(row.values()) for row in ours} == {tuple(row.values()) for row in theirs}, "evalbench")


def _dict_rows(relation: Relation) -> list[dict[str, object]]:
    """Return rows as dicts by column name; of two equal names the last value stays."""
    names = [column.name for column in relation.columns]
    return [dict(zip(names, row, strict=True)) for row in relation.rows]


def _frozen(value: object) -> object:
    """Return nested dicts and lists in hashable form."""
    if isinstance(value, list):
        return tuple(map(_frozen, value))
    return frozenset((key, _frozen(item)) for key, item in value.items()) if isinstance(value, dict) else value


def spider(gold: Relation, pred: Relation, ordered: bool) -> Said:  # noqa: FBT001 (the peer's own signature)
    """Spider's test suite result_eq: one column permutation, rows as a bag, or as a list where the gold orders.

    Raises: PeerUnavailableError where the permutations it would walk through are too many to end.
    """
    ours, theirs = list(gold.rows), list(pred.rows)
    if not ours and not theirs:
        return _said(True, "spider")
    if len(ours) != len(theirs) or len(ours[0]) != len(theirs[0]):
        return _said(False, "spider")
    left, right = ([_unordered(row) for row in rows] for rows in (ours, theirs))
    if (left != right) if ordered else (set(left) != set(right)):
        return _said(False, "spider")
    width = len(ours[0])
    if math.factorial(min(width, 12)) * len(ours) > _MOST_PERMUTATIONS * 100:
        raise PeerUnavailableError(f"{width} columns would be permuted one by one")
    for order in permutations(range(width)):
        moved = [tuple(row[index] for index in order) for row in theirs]
        if (ours == moved) if ordered else (Counter(ours) == Counter(moved)):
            return _said(True, "spider")
    return _said(False, "spider")


def _unordered(row: Row) -> Row:
    """Return a row with its cells sorted by text and type, as the peer does to reject early."""
    return tuple(sorted(row, key=lambda cell: str(cell) + str(type(cell))))


def spider2(gold: Relation, pred: Relation, ordered: bool) -> Said:  # noqa: FBT001 (the peer's own signature)
    """Spider2: each gold column, missing values as 0, has some predicted column within 0.01; one may serve two."""
    found = [_columns(relation) for relation in (gold, pred)]
    ours, theirs = ([[_zeroed(cell) for cell in column] for column in columns] for columns in found)
    return _said(all(any(_vectors_match(a, b, ordered=ordered) for b in theirs) for a in ours), "spider2")


def _columns(relation: Relation) -> list[Sequence[object]]:
    """Return the cells column by column."""
    return list(zip(*relation.rows, strict=True)) if relation.rows else [()] * len(relation.columns)


def _zeroed(cell: object) -> object:
    """Return 0 for a missing value, as the peer does."""
    return 0 if cell is None or (isinstance(cell, float) and math.isnan(cell)) else cell


def _vectors_match(left: list[object], right: list[object], *, ordered: bool) -> bool:
    """Compare two columns value by value, sorted by text first unless ordered."""
    if len(left) != len(right):
        return False
    if not ordered:
        left, right = (sorted(v, key=lambda x: (x is None, str(x), isinstance(x, int | float))) for v in (left, right))
    for a, b in zip(left, right, strict=True):
        if isinstance(a, int | float) and isinstance(b, int | float):
            if not math.isclose(float(a), float(b), abs_tol=1e-2):
                return False
        elif a != b:
            return False
    return True


def sqlas(gold: Relation, pred: Relation, _: bool) -> Said:
    """SQLAS execution accuracy: every gold number has a predicted number within 0.5; nothing else is looked at."""
    wanted, left = _numbers(gold), _numbers(pred)
    for value in wanted:
        found = next((index for index, other in enumerate(left) if abs(other - value) <= 0.5), None)
        if found is None:
            return _said(False, "sqlas")
        del left[found]
    return _said(bool(wanted) or len(gold.rows) == len(pred.rows), "sqlas")


def _numbers(relation: Relation) -> list[float]:
    """Return every int and float cell; Decimals, texts and dates are not looked at."""
    cells = (cell for row in relation.rows for cell in row)
    return [float(cell) for cell in cells if isinstance(cell, int | float) and not isinstance(cell, bool)]


def oracle_spider(gold: Relation, pred: Relation, ordered: bool) -> Said:  # noqa: FBT001 (one fact per peer)
    """The handed Spider oracle: columns in position, floats to 9 digits, ordered where the gold orders, `dup` apart."""
    ours, theirs = ([tuple(map(_nine_digits, row)) for row in relation.rows] for relation in (gold, pred))
    if len(gold.columns) != len(pred.columns) and (ours or theirs):
        return _said(False, "mismatch")
    if ours == theirs:
        return _said(True, "match")
    if Counter(ours) == Counter(theirs):
        return _said(not ordered, "order" if ordered else "match")
    return _said(False, "dup" if set(ours) == set(theirs) else "mismatch")


def _nine_digits(cell: object) -> object:
    """Return a float rounded to nine decimal places, anything else as it is."""
    if isinstance(cell, Decimal):
        cell = float(cell)
    return round(cell, 9) if isinstance(cell, float) and math.isfinite(cell) else cell


PEERS: dict[str, Peer] = {
    "bird": bird,
    "evalbench": evalbench,
    "spider": spider,
    "spider2": spider2,
    "sqlas": sqlas,
    "oracle_spider": oracle_spider,
}
