"""What metrics of results share: who is out of the denominator, both relations, and cells as keys of equality."""

from __future__ import annotations

import json
import math
from collections.abc import Hashable
from decimal import Decimal

from sqlassay.cases.outcome import Failure, Rows
from sqlassay.cases.relation import Json, Relation, Row
from sqlassay.cases.verdicts import UNSCORABLE, Verdict
from sqlassay.harness.results.evidence import Evidence, Execution, Score

RAN = frozenset({Verdict.MATCH, Verdict.MISMATCH, Verdict.UNDECIDED, Verdict.TOO_MANY_ROWS, Verdict.TOO_MANY_BYTES})
"""Verdicts of statements the engine ran to rows, be they more than are kept."""

Key = tuple[Hashable, ...]
_DIGITS = 12
_LARGEST_EXPONENT = 40


def unscorable(evidence: Evidence) -> Score | None:
    """Return an unavailable score where the case leaves the denominator."""
    if evidence.verdict in UNSCORABLE:
        return Score(None, f"{evidence.verdict}: {evidence.reason}")
    return None


def ending(evidence: Evidence) -> Verdict:
    """Return how the statement itself ended: its verdict, or where the case has no gold, what running it came to."""
    if evidence.verdict is not Verdict.UNAVAILABLE or evidence.case.gold:
        return evidence.verdict
    execution = last(evidence)
    if execution is not None and execution.predicted is not None:
        found = execution.predicted
        return Verdict(found.kind.value) if isinstance(found, Failure) else Verdict.UNDECIDED
    if evidence.guard is not None and not evidence.guard.allowed:
        return Verdict.BLOCKED
    return Verdict.NO_PREDICTION


def last(evidence: Evidence) -> Execution | None:
    """Return the execution the verdict was decided on."""
    return evidence.executions[-1] if evidence.executions else None


def both(evidence: Evidence) -> tuple[Relation, Relation] | Score:
    """Return the gold and predicted rows, else the score of a case without them: 0 for a failure of the agent's."""
    missing = unscorable(evidence)
    if missing is not None:
        return missing
    execution = last(evidence)
    if execution is not None and isinstance(execution.gold, Rows) and isinstance(execution.predicted, Rows):
        return execution.gold.relation, execution.predicted.relation
    if evidence.case.query_type != "dql":
        return Score(None, "the statement changes data: there are no result rows to compare")
    return Score(0.0, f"the prediction gave no rows: {evidence.reason}")


def keys(rows: tuple[Row, ...]) -> list[Key]:
    """Return each row as a key: equal keys are equal rows, numbers by value to 12 digits, texts to the letter."""
    return [tuple(map(_key, row)) for row in rows]


def _key(cell: object) -> Hashable:
    """Return one cell as a key."""
    match cell:
        case float() | Decimal():
            return _number(cell)
        case bool():
            return int(cell)
        case tuple():
            return tuple(map(_key, cell))
        case Json():
            return ("json", _document(cell.text))
    return cell  # every other cell is frozen by the rules of a relation


def _number(cell: float | Decimal) -> Hashable:
    """Return a number by value, so that 1, 1.0 and Decimal 1.00 are one."""
    if isinstance(cell, Decimal) and (cell.is_nan() or abs(cell.adjusted()) > _LARGEST_EXPONENT):
        return ("nan",) if cell.is_nan() else ("decimal", str(cell.normalize()))
    if not math.isfinite(cell):
        return ("nan",) if math.isnan(cell) else float(cell)
    if cell == int(cell):
        return int(cell)
    return float(f"{cell:.{_DIGITS}g}")


def _document(text: str) -> str:
    """Return a JSON document in one spelling, its text where it is none."""
    try:
        return json.dumps(json.loads(text), sort_keys=True)
    except (ValueError, RecursionError):
        return text


def names(relation: Relation) -> list[str]:
    """Return the column names, lower-cased."""
    return [column.name.lower() for column in relation.columns]


def by_name(gold: Relation, predicted: Relation) -> list[Key]:
    """Return the predicted rows with their columns in the gold's order where both have the same distinct names."""
    ours, theirs = names(gold), names(predicted)
    rows = keys(predicted.rows)
    if ours == theirs or len(set(ours)) != len(ours) or sorted(ours) != sorted(theirs):
        return rows
    places = [theirs.index(name) for name in ours]
    return [tuple(row[place] for place in places) for row in rows]
