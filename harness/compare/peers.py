"""The verdicts of published comparators, their flaws included, so that results can be set beside published ones."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from typing import Literal, TypeAlias

from sqlassay.cases.errors import InputError
from sqlassay.cases.policy import Policy
from sqlassay.cases.relation import Relation, Row
from sqlassay.harness.compare.peer_spider import PeerUnavailableError, spider_equal
from sqlassay.harness.compare.peer_spider2 import spider2_equal
from sqlassay.harness.compare.peer_sqlas import sqlas_score
from sqlassay.harness.results.fetched import as_fetched, dict_rows
from sqlassay.harness.results.verdicts import Comparison

Said: TypeAlias = tuple[Literal["match", "mismatch"], str, str]
"""A verdict, its rule, and what the peer says beyond its name ("" = nothing)."""

Peer: TypeAlias = Callable[[Relation, Relation, bool], Said]


def peer_comparison(gold: Relation, pred: Relation, policy: Policy, *, ordered: bool) -> Comparison:
    """Return the verdict of the peer the policy names; undecided where the peer crashes or hangs.

    Raises: InputError for a peer nobody here knows.
    """
    peer = PEERS.get(policy.peer or "")
    if peer is None:
        raise InputError(
            f"unknown peer {policy.peer!r}", field="peer", remedy=f"Choose one of {', '.join(sorted(PEERS))}"
        )
    flags = ("vacuous",) if not gold.rows and not pred.rows else ()
    try:
        verdict, rule, note = peer(as_fetched(gold), as_fetched(pred), ordered)
    except (TypeError, ValueError, ArithmeticError, IndexError, PeerUnavailableError) as error:
        reason = f"{policy.peer} has no verdict: {type(error).__name__}: {error}"
        return Comparison("undecided", "peer_unavailable", reason, policy.digest, flags=flags)
    relation = "equal" if verdict == "match" else "different"
    reason = f"{relation} by the rule of {policy.peer}{note and f': {note}'}"
    return Comparison(verdict, rule, reason, policy.digest, flags=flags)


def _said(equal: bool, rule: str, note: str = "") -> Said:  # noqa: FBT001 (one positional fact)
    """Return a verdict with its rule."""
    return ("match" if equal else "mismatch"), rule, note


def bird(gold: Relation, pred: Relation, _: bool) -> Said:
    """BIRD: the sets of row tuples are equal; duplicates, order and names do not count."""
    return _said(set(pred.rows) == set(gold.rows), "bird")


def evalbench(gold: Relation, pred: Relation, _: bool) -> Said:
    """EvalBench set_match: the sets of rows are equal; rows with documents are compared as a bag, names included.

    Whatever goes wrong inside counts as different: the peer catches every error and scores 0.
    """
    try:
        ours, theirs = dict_rows(gold), dict_rows(pred)
        if any(isinstance(value, dict | list) for row in (*ours, *theirs) for value in row.values()):
            left, right = (Counter(_frozen(row) for row in rows) for rows in (ours, theirs))
            return _said(left == right, "evalbench")
        return _said({tuple(row.values()) for row in ours} == {tuple(row.values()) for row in theirs}, "evalbench")
    except (TypeError, ValueError, ArithmeticError) as error:
        return _said(False, "evalbench", f"it fails inside and scores 0: {error}")  # noqa: FBT003 (the verdict)


def _frozen(value: object) -> object:
    """Return nested dicts and lists in hashable form."""
    if isinstance(value, list):
        return tuple(map(_frozen, value))
    return frozenset((key, _frozen(item)) for key, item in value.items()) if isinstance(value, dict) else value


def spider(gold: Relation, pred: Relation, ordered: bool) -> Said:  # noqa: FBT001 (the peer's own signature)
    """Spider's test suite: one column permutation, rows as a bag, or as a list where the gold orders."""
    return _said(spider_equal(gold.rows, pred.rows, ordered=ordered), "spider")


def spider2(gold: Relation, pred: Relation, ordered: bool) -> Said:  # noqa: FBT001 (the peer's own signature)
    """Spider2: each gold column, missing values as 0, has some predicted column within 0.01; one may serve two."""
    return _said(spider2_equal(gold, pred, ordered=ordered), "spider2")


def sqlas(gold: Relation, pred: Relation, _: bool) -> Said:
    """SQLAS execution accuracy: a match is the full score at equal speed."""
    score = sqlas_score(gold.rows, pred.rows)
    return _said(score >= 1.0, "sqlas", f"it scores {score:.4f} at equal speed")


def oracle_spider(gold: Relation, pred: Relation, ordered: bool) -> Said:  # noqa: FBT001 (one fact per peer)
    """The handed Spider oracle: columns in position, floats to 9 digits, ordered where the gold orders, `dup` apart."""
    ours, theirs = (tuple(tuple(map(_nine_digits, row)) for row in relation.rows) for relation in (gold, pred))
    if len(gold.columns) != len(pred.columns) and (ours or theirs):
        return _said(False, "mismatch")  # noqa: FBT003 (the verdict)
    if ours == theirs:
        return _said(True, "match")  # noqa: FBT003 (the verdict)
    if Counter(ours) == Counter(theirs):
        return _said(not ordered, "order" if ordered else "match")
    return _said(False, "dup" if _same_set(ours, theirs) else "mismatch")  # noqa: FBT003 (the verdict)


def _same_set(ours: tuple[Row, ...], theirs: tuple[Row, ...]) -> bool:
    """Tell whether two results hold the same distinct rows."""
    return set(ours) == set(theirs)


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
