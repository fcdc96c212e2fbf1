"""Lay out what every engine gave, compare every pair, and keep the agreement of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from sqlassay.cases.case import Case
from sqlassay.cases.policy import Policy
from sqlassay.dialect_adapters.transpile.causes import Difference
from sqlassay.harness.crosscheck.probing import kind
from sqlassay.harness.crosscheck.statements import Answered, rows_of
from sqlassay.harness.crossing import crossed
from sqlassay.harness.results.crosscheck import Agreement, Cell, CrossCase, Found, Pair
from sqlassay.harness.results.evidence import GoldAnswer

Truth = Mapping[str, Sequence[GoldAnswer]]
"""The gold answers a case's predictions are judged by, by case id."""

_NOTHING_KNOWN = Found(
    cause=Difference.OTHER.value,
    owner="dialect",
    probe="nothing was there to try",
    explained=False,
)


def agreement(one: Answered, other: Answered, policy: Policy) -> tuple[Agreement, str]:
    """Return how two engines compare on one case, with the first difference."""
    if not one.answers or not other.answers:
        missing = one if not one.answers else other
        return "not run", missing.given.reason
    here, there = rows_of(one), rows_of(other)
    if not here and not there:
        return "both fail", one.answers[0].failure or ""
    if not here or not there:
        failed = one if not here else other
        return "error", failed.answers[0].failure or ""
    found = [crossed(a, b.relation, policy) for a in here for b in there if b.relation is not None]
    if any(comparison.verdict == "match" for comparison in found):
        if any(_holds_a_value(answer) for answer in (*here, *there)):
            return "agree", ""
        return "vacuous", "neither engine gave a value: there is nothing that could differ"
    return ("undecided" if found[0].verdict == "undecided" else "silent"), found[0].reason


def _holds_a_value(answer: GoldAnswer) -> bool:
    """Return whether an answer has a value at all: not without rows, nor with NULL alone."""
    rows = answer.relation.rows if answer.relation is not None else ()
    return any(value is not None for row in rows for value in row)


def cell(dialect: str, side: Answered, verdict: str | None) -> Cell:
    """Return one engine's cell."""
    if not side.answers:
        return Cell(
            dialect=dialect, sql=None, origin=side.given.origin, outcome=side.given.outcome, message=side.given.reason
        )
    shown = next(iter(rows_of(side)), side.answers[0])
    relation = shown.relation
    return Cell(
        dialect=dialect,
        sql=shown.sql,
        origin=side.given.origin,
        outcome="rows" if relation is not None else kind(shown),
        message=shown.failure or "",
        rows=None if relation is None else len(relation.rows),
        verdict=verdict,
    )


def judged(side: Answered, gold: Sequence[GoldAnswer], policy: Policy) -> str | None:
    """Return a prediction's verdict: its rows against each accepted gold that gave rows."""
    usable = [answer for answer in gold if answer.relation is not None]
    if not side.answers or not usable:
        return None
    relation = side.answers[0].relation
    if relation is None:
        return kind(side.answers[0])
    loose = policy.model_copy(update={"columns": "any", "extra_columns": "allow"})
    verdicts = [crossed(answer, relation, loose).verdict for answer in usable]
    return next((verdict for verdict in ("match", "undecided") if verdict in verdicts), "mismatch")


def cross_case(
    case: Case,
    sides: Mapping[str, Answered],
    verdicts: Mapping[str, str | None],
    causes: Mapping[tuple[str, str], Found],
    policy: Policy,
) -> CrossCase:
    """Return one case's cells and pairs; `causes` are why two engines disagree, for each pair by itself."""
    dialects = list(sides)
    pairs = []
    for one, other in combinations(dialects, 2):
        agreed, reason = agreement(sides[one], sides[other], policy)
        at_odds = agreed in ("silent", "error", "undecided")
        found = causes.get((one, other), _NOTHING_KNOWN) if at_odds else None
        pairs.append(Pair(one=one, other=other, agreement=agreed, reason=reason[:2000], found=found))
    cells = tuple(cell(name, side, verdicts.get(name)) for name, side in sides.items())
    return CrossCase(case_id=case.id, question=case.question, cells=cells, pairs=tuple(pairs))
