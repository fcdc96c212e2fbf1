"""Structural agreement: the same tables (τ) and how many of the gold's selected expressions (ρ), from facts alone."""

from __future__ import annotations

from collections import Counter

from sqlassay.cases.verdicts import Verdict
from sqlassay.harness.metrics.contract import Ask, Metric
from sqlassay.harness.results.evidence import Evidence, Score
from sqlassay.harness.results.parsed import ParsedQuery, TableRef


def same_tables(gold: ParsedQuery, predicted: ParsedQuery) -> bool:
    """Return τ: both texts name the same physical tables; a schema counts only where both name one."""
    if {table.name for table in gold.tables} != {table.name for table in predicted.tables}:
        return False
    return all(any(_same(table, other) for other in predicted.tables) for table in gold.tables)


def _same(one: TableRef, other: TableRef) -> bool:
    """Return whether two references may mean one table."""
    return one.name == other.name and (one.schema is None or other.schema is None or one.schema == other.schema)


def projection_recall(gold: ParsedQuery, predicted: ParsedQuery) -> float:
    """Return ρ: the share of the gold's selected expressions the prediction selects, each used once."""
    wanted, given = Counter(gold.projections), Counter(predicted.projections)
    total = sum(wanted.values())
    return sum((wanted & given).values()) / total if total else 1.0


def _compute(evidence: Evidence, _ask: Ask | None) -> Score:
    """Score τ and ρ; a blocked or unparsable prediction is 0; a broken gold leaves the metric unavailable."""
    gold, predicted = evidence.gold_parsed, evidence.predicted_parsed
    if gold is None:
        return Score(None, "there is no gold statement to compare with")
    if gold.error is not None:
        return Score(None, f"the gold statement cannot be parsed: {gold.error}")
    if evidence.verdict in {Verdict.OUT_OF_SCOPE, Verdict.INFRASTRUCTURE, Verdict.GOLD_ERROR}:
        return Score(None, f"not scored: {evidence.verdict.value}")
    if evidence.prediction is None or evidence.prediction.sql is None or predicted is None:
        return Score(0.0, "there is no predicted statement")
    if evidence.verdict is Verdict.BLOCKED or (evidence.guard is not None and not evidence.guard.allowed):
        return Score(0.0, "the predicted statement was blocked")
    if predicted.error is not None:
        return Score(0.0, f"the predicted statement cannot be parsed: {predicted.error}")
    tau, rho = same_tables(gold, predicted), projection_recall(gold, predicted)
    alpha, beta = evidence.settings.alpha, evidence.settings.beta
    value = alpha + (1 - alpha) * rho if tau else beta * rho
    return Score(value, _reason(gold, predicted, tau=tau), (("tau", float(tau)), ("rho", rho)))


def _reason(gold: ParsedQuery, predicted: ParsedQuery, *, tau: bool) -> str:
    """Name what is missing: tables, selected expressions, or nothing."""
    parts = []
    if not tau:
        names = (_names(gold), _names(predicted))
        parts.append(f"tables {names[1]} instead of {names[0]}")
    missing = list((Counter(gold.projections) - Counter(predicted.projections)).elements())
    if missing:
        parts.append(f"not selected: {', '.join(missing)}")
    return "; ".join(parts) or "same tables, every gold expression selected"


def _names(query: ParsedQuery) -> str:
    """Return a text's table names for a reason."""
    return ", ".join(sorted(table.name for table in query.tables)) or "none"


STRUCTURAL = Metric(
    name="structural",
    needs=frozenset({"gold"}),
    citation="Skill paper, structural signal",
    formula="α + (1 − α)·ρ if τ else β·ρ",
    range=(0.0, 1.0),
    compute=_compute,
)
"""The metric."""
