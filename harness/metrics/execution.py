"""Execution accuracy, the same under `strict`, and the Skill's execution score: the last step from command to score."""

from __future__ import annotations

from sqlassay.cases.verdicts import UNSCORABLE, Verdict
from sqlassay.harness.metrics.contract import Ask, Metric
from sqlassay.harness.results.evidence import Evidence, Execution, Score
from sqlassay.harness.results.verdicts import GOLD_LOST


def _last(evidence: Evidence) -> Execution | None:
    """Return the execution the verdict was decided on."""
    return evidence.executions[-1] if evidence.executions else None


def _unscorable(evidence: Evidence) -> Score | None:
    """Return an unavailable score where the case leaves the denominator."""
    if evidence.verdict in UNSCORABLE:
        return Score(None, f"{evidence.verdict}: {evidence.reason}")
    return None


def execution_accuracy(evidence: Evidence, _ask: Ask | None = None) -> Score:
    """Return 1 where gold and predicted relations agree under the run's policy, else 0."""
    return _unscorable(evidence) or Score(float(evidence.verdict is Verdict.MATCH), evidence.reason)


def strict_execution_accuracy(evidence: Evidence, _ask: Ask | None = None) -> Score:
    """Return 1 where gold and predicted relations agree under the preset `strict`, else 0."""
    missing = _unscorable(evidence)
    if missing:
        return missing
    execution = _last(evidence)
    if execution is None or execution.strict is None:
        return Score(0.0, evidence.reason)
    if execution.strict.rule == GOLD_LOST:
        return Score(None, execution.strict.reason)
    return Score(float(execution.strict.verdict == "match"), execution.strict.reason)


def execution_score(evidence: Evidence, _ask: Ask | None = None) -> Score:
    """Return 1 on a match, the share of gold columns found on a mismatch with equal row counts, else 0."""
    missing = _unscorable(evidence)
    if missing:
        return missing
    if evidence.verdict is Verdict.MATCH:
        return Score(1.0, evidence.reason)
    execution = _last(evidence)
    if evidence.verdict is not Verdict.MISMATCH or execution is None or execution.partial is None:
        return Score(0.0, evidence.reason)
    return Score(execution.partial, f"partial credit {execution.partial:.3f}: {evidence.reason}")


_CITATION = "Yu et al. 2018 (Spider), Li et al. 2023 (BIRD)"

EXECUTION_ACCURACY = Metric(
    name="execution_accuracy",
    needs=frozenset({"gold"}),
    citation=_CITATION,
    formula="matches / scorable cases",
    range=(0.0, 1.0),
    compute=execution_accuracy,
)

STRICT_EXECUTION_ACCURACY = Metric(
    name="strict_execution_accuracy",
    needs=frozenset({"gold"}),
    citation=_CITATION,
    formula="matches under the preset strict / scorable cases",
    range=(0.0, 1.0),
    compute=strict_execution_accuracy,
)

EXECUTION_SCORE = Metric(
    name="execution_score",
    needs=frozenset({"gold"}),
    citation="Ren et al. 2026 (the evaluation Skill)",
    formula="1 on a match; matched gold columns / gold columns on a mismatch with equal row counts; else 0",
    range=(0.0, 1.0),
    compute=execution_score,
)
