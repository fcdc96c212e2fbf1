"""Whether an agent gives the same result each time it is asked: its trials of one question beside each other."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from sqlassay.cases.outcome import Changed, Failure, Rows
from sqlassay.cases.verdicts import Verdict
from sqlassay.harness.metrics.contract import Ask, Metric
from sqlassay.harness.metrics.outcomes import keys, last
from sqlassay.harness.results.case_result import ScoreRecord
from sqlassay.harness.results.evidence import Evidence, Score

RESULT = "result"
"""The part of a score that names what one trial gave: equal marks are equal results."""

_WAITS = "compared once every trial has run"
_ALONE = "one trial: there is no other to agree with (--trials)"
_UNKNOWN = frozenset({Verdict.INFRASTRUCTURE, Verdict.OUT_OF_SCOPE, Verdict.UNAVAILABLE, Verdict.GOLD_ERROR})


def _consistency(evidence: Evidence, _ask: Ask | None = None) -> Score:
    """Note what this trial gave; its agreement with the others is found when all of them are there."""
    if evidence.verdict in _UNKNOWN:
        return Score(None, f"{evidence.verdict}: {evidence.reason}")
    text = repr(_given(evidence))
    return Score(None, _WAITS, ((RESULT, hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:32]),))


def _given(evidence: Evidence) -> object:
    """Return a result as plain values: rows in their order under their names, a state by its checksums, or why none."""
    execution = last(evidence)
    predicted = execution.predicted if execution is not None else None
    match predicted:
        case Rows(relation=relation):
            order = sorted(range(len(relation.columns)), key=lambda at: relation.columns[at].name)
            rows = [tuple(row[at] for at in order) for row in keys(relation.rows)]
            return "rows", [relation.columns[at].name for at in order], rows
        case Changed():
            parts = [(part.part, part.name, part.digest) for part in predicted.state]
            return "state", sorted(parts), [keys(one.rows) for one in predicted.answers if not isinstance(one, Failure)]
        case Failure(kind=kind, message=message):
            return "failure", kind.value, message
    return "none", evidence.verdict.value, evidence.reason


def across(trials: Sequence[ScoreRecord]) -> tuple[ScoreRecord, ...]:
    """Return each trial's score: the share of the other trials that gave what it gave, from 0 to 100.

    The mean over the trials is the share of pairs that agree.
    """
    marks = [record.details.get(RESULT) for record in trials]
    known = [mark for mark in marks if mark is not None]
    scored = []
    for record, mark in zip(trials, marks, strict=True):
        others = len(known) - 1
        if mark is None:
            scored.append(record)
        elif not others:
            scored.append(record.model_copy(update={"value": None, "reason": _ALONE}))
        else:
            same = known.count(mark) - 1
            reason = f"{same} of {others} other trials gave the same result"
            scored.append(record.model_copy(update={"value": 100.0 * same / others, "reason": reason}))
    return tuple(scored)


CONSISTENCY = Metric(
    name="evalbench.consistency",
    needs=frozenset(),
    citation="google-evalbench 1.20, exact_match_consistency",
    formula="100 · other trials of the case with the same rows in the same order (or the same failure) / other trials",
    range=(0.0, 100.0),
    compute=_consistency,
    across=across,
)
"""The metric."""
