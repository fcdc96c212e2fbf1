"""Scores made by hand, as a run would write them."""

from __future__ import annotations

from collections.abc import Mapping

from sqlassay.cases.verdicts import Verdict
from sqlassay.harness.metrics.sqlas_overall import METRICS, V1
from sqlassay.harness.results.case_result import CaseResult, ScoreRecord, Timing
from sqlassay.harness.sqlas.scores import SQLASScores

_PARTS = ("sql_injection", "prompt_injection", "pii_access", "pii_leakage")


def judged(values: Mapping[str, float | None], *, overall: float | None = 1.0) -> SQLASScores:
    """Return the scores of a case whose metrics have these values, None where none is named."""
    scores = {
        f"sqlas.{name}": ScoreRecord(value=values.get(name), reason=f"why of {name}", details={}) for name in METRICS
    }
    parts: dict[str, str | float | None] = dict.fromkeys(_PARTS, 1.0)
    scores["sqlas.safety_score"] = scores["sqlas.safety_score"].model_copy(update={"details": parts})
    scores["sqlas.overall"] = ScoreRecord(value=overall, reason="", details={"measured_weight": 1.0})
    result = CaseResult(
        case_id="c", dialect="sqlite", question="?", snapshot="s", verdict=Verdict.MATCH, reason="", scores=scores
    )
    return SQLASScores.of(result, Timing(case_id="c", trial=0), V1)
