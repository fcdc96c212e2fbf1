"""Laxer ways of comparing two engines' rows: one under which they agree tells what kind of difference it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from sqlassay.cases.policy import Policy
from sqlassay.cases.relation import Relation
from sqlassay.harness.crossing import crossed
from sqlassay.harness.results.evidence import GoldAnswer

Loosened = Literal["cut_ties", "row_order", "text_numbers", "decimals", "text_case", "parts"]
"""A laxer way of comparing under which two results agree."""

_LOOSER: tuple[tuple[Loosened, Mapping[str, object]], ...] = (
    ("cut_ties", {"cut_ties": "any"}),
    ("row_order", {"row_order": "ignore"}),
    ("text_numbers", {"text_numbers": True}),
    ("decimals", {"rel_tol": 1e-3, "abs_tol": 5e-4}),
    ("text_case", {"text_case": "fold"}),
)


def agree_by(one: GoldAnswer, other: GoldAnswer, policy: Policy, *, joins: bool) -> tuple[Loosened | None, ...]:
    """Return every way of comparing under which two answers agree, the strict one (None) first; none without rows.

    `joins` says that texts may have been joined of parts, whose order then need not count.
    """
    if one.relation is None or other.relation is None:
        return ()
    found: list[Loosened | None] = []
    if crossed(one, other.relation, policy).verdict == "match":
        found.append(None)
    for name, fields in _LOOSER:
        if crossed(one, other.relation, policy.model_copy(update=dict(fields))).verdict == "match":
            found.append(name)
    if joins and crossed(_parts(one), _in_parts(other.relation), policy).verdict == "match":
        found.append("parts")
    return tuple(found)


def _parts(answer: GoldAnswer) -> GoldAnswer:
    """Return an answer with the characters of every text sorted, so that joined parts may come in any order."""
    if answer.relation is None:
        raise AssertionError("only rows have texts")
    probe = None if answer.probe is None else _in_parts(answer.probe)
    return replace(answer, relation=_in_parts(answer.relation), probe=probe)


def _in_parts(relation: Relation) -> Relation:
    """Return rows with the characters of every text sorted."""
    rows = [tuple("".join(sorted(cell)) if isinstance(cell, str) else cell for cell in row) for row in relation.rows]
    return replace(relation, rows=tuple(rows))
