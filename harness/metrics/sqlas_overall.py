"""SQLAS's overall score: weights that sum to 1, those of metrics without a value given to the others."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping

from sqlassay.cases.errors import InputError
from sqlassay.cases.verdicts import Verdict
from sqlassay.harness.metrics import judged, sqlas_context, sqlas_results, sqlas_safety
from sqlassay.harness.metrics.contract import Ask, Metric
from sqlassay.harness.results.evidence import LEAST, MOST, Evidence, MetricSettings, Score

_NAME = "sqlas.overall"
_NOT_JUDGED = frozenset({Verdict.INFRASTRUCTURE, Verdict.OUT_OF_SCOPE, Verdict.GOLD_ERROR})
"""Cases whose prediction was never run for a reason that is not its own."""

CATEGORIES: dict[str, tuple[Metric, ...]] = {
    "execution accuracy": (sqlas_results.EXECUTION_ACCURACY,),
    "semantic correctness": (judged.SEMANTIC_EQUIVALENCE,),
    "context quality": (
        sqlas_context.CONTEXT_PRECISION,
        sqlas_context.CONTEXT_RECALL,
        sqlas_context.ENTITY_RECALL,
        sqlas_context.NOISE_ROBUSTNESS,
    ),
    "cost efficiency": (
        sqlas_results.EFFICIENCY_SCORE,
        sqlas_results.DATA_SCAN_EFFICIENCY,
        judged.SQL_QUALITY,
        sqlas_context.SCHEMA_COMPLIANCE,
    ),
    "execution quality": (
        sqlas_results.EXECUTION_SUCCESS,
        judged.COMPLEXITY_MATCH,
        sqlas_results.EMPTY_RESULT_PENALTY,
    ),
    "task success": (judged.FAITHFULNESS, judged.ANSWER_RELEVANCE, judged.ANSWER_COMPLETENESS, judged.FLUENCY),
    "result similarity": (sqlas_results.RESULT_SET_SIMILARITY,),
    "safety": (sqlas_safety.READ_ONLY_COMPLIANCE, sqlas_safety.SAFETY_SCORE),
}
"""All twenty metrics by SQLAS's category."""

METRICS = {metric.name.removeprefix("sqlas."): metric for members in CATEGORIES.values() for metric in members}

V1: dict[str, float] = {
    "execution_accuracy": 0.40,
    "semantic_equivalence": 0.15,
    "efficiency_score": 0.05,
    "data_scan_efficiency": 0.05,
    "sql_quality": 0.03,
    "schema_compliance": 0.02,
    "execution_success": 0.05,
    "complexity_match": 0.03,
    "empty_result_penalty": 0.02,
    "faithfulness": 0.04,
    "answer_relevance": 0.03,
    "answer_completeness": 0.02,
    "fluency": 0.01,
    "read_only_compliance": 0.05,
    "safety_score": 0.05,
}
"""The fifteen weights of SQLAS's first profile."""

V2: dict[str, float] = {
    "execution_accuracy": 0.35,
    "semantic_equivalence": 0.13,
    "context_precision": 0.03,
    "context_recall": 0.03,
    "entity_recall": 0.02,
    "noise_robustness": 0.02,
    "efficiency_score": 0.04,
    "data_scan_efficiency": 0.04,
    "sql_quality": 0.02,
    "schema_compliance": 0.02,
    "execution_success": 0.04,
    "complexity_match": 0.02,
    "empty_result_penalty": 0.02,
    "faithfulness": 0.03,
    "answer_relevance": 0.02,
    "answer_completeness": 0.02,
    "fluency": 0.01,
    "result_set_similarity": 0.04,
    "read_only_compliance": 0.05,
    "safety_score": 0.05,
}
"""The twenty weights of its second."""


def weighted(evidence: Evidence, ask: Ask | None, weights: Mapping[str, float]) -> Score:
    """Return Σ weight·value / Σ weight over the metrics with a value, and name those without."""
    if evidence.verdict in _NOT_JUDGED:
        return Score(None, f"{evidence.verdict}: {evidence.reason}")
    scores = {name: METRICS[name].compute(evidence, ask) for name in weights}
    present = {name: score.value for name, score in scores.items() if score.value is not None}
    total = math.fsum(weights[name] for name in present)
    if not total:
        return Score(None, "none of the metrics has a value")
    value = math.fsum(weights[name] * found for name, found in present.items()) / total
    open_ = math.fsum(weights[name] for name, score in scores.items() if any(part == MOST for part, _ in score.details))
    # What the judge was asked and did not answer may be anything; what no judge was named for is left to the others.
    span = (
        ((LEAST, value * total / (total + open_)), (MOST, (value * total + open_) / (total + open_))) if open_ else ()
    )
    absent = [name for name in weights if name not in present]
    reason = f"{total:.0%} of the weight was measured"
    if absent:
        reason += f"; redistributed: {', '.join(f'{name} ({scores[name].reason})' for name in absent)}"
    return Score(value, reason, (*present.items(), *_categories(present, weights), ("measured_weight", total), *span))


def _categories(present: Mapping[str, float], weights: Mapping[str, float]) -> Iterator[tuple[str, float | None]]:
    """Yield the weighted mean of each category over its metrics with a value, None where none has any."""
    for category, members in CATEGORIES.items():
        names = [name for metric in members if (name := metric.name.removeprefix("sqlas.")) in present]
        total = math.fsum(weights[name] for name in names)
        mean = math.fsum(weights[name] * present[name] for name in names) / total if total else None
        if any(metric.name.removeprefix("sqlas.") in weights for metric in members):
            yield f"category: {category}", mean


def overall(evidence: Evidence, ask: Ask | None = None) -> Score:
    """Return the weighted sum under v1, or under the weights of the option."""
    return weighted(evidence, ask, _weights(evidence.settings))


def overall_v2(evidence: Evidence, ask: Ask | None = None) -> Score:
    """Return the weighted sum under v2."""
    return weighted(evidence, ask, V2)


def _weights(settings: MetricSettings) -> Mapping[str, float]:
    """Return the weights the option gives by name or one by one, v1 without it.

    Raises:
        InputError: an unknown metric, a weight that is none, or a sum that is not 1.
    """
    given = settings.option(_NAME, "weights", "v1")
    if given in ("v1", "v2"):
        return V1 if given == "v1" else V2
    field = f"{_NAME}.weights"
    if not isinstance(given, dict) or not given:
        raise InputError("weights are v1, v2 or a mapping of metric to weight", field=field, remedy="{safety_score: 1}")
    unknown = sorted(str(name) for name in given if name not in METRICS)
    if unknown:
        raise InputError(f"no SQLAS metric {', '.join(unknown)}", field=field, remedy=f"Known: {', '.join(METRICS)}")
    if any(
        isinstance(each, bool) or not isinstance(each, int | float) or not 0 <= each <= 1 for each in given.values()
    ):
        raise InputError("each weight is a number from 0 to 1", field=field, remedy="Give numbers that sum to 1")
    total = math.fsum(given.values())
    if abs(total - 1.0) > 1e-6:
        raise InputError(f"the weights sum to {total:g}, not to 1", field=field, remedy="Give numbers that sum to 1")
    return given


def _check(settings: MetricSettings) -> None:
    """Refuse weights that are none."""
    _weights(settings)


def _needs(weights: Iterable[str]) -> frozenset[str]:
    """Return what the weighted metrics need."""
    return frozenset().union(*(METRICS[name].needs for name in weights))


OVERALL = Metric(
    name=_NAME,
    needs=_needs(METRICS),
    citation=f"{sqlas_context.CITATION}, weights of its document (v1), or of the option",
    formula="Σ weight · value / Σ weight over the metrics that have a value",
    range=(0.0, 1.0),
    compute=overall,
    options=("weights",),
    check=_check,
)
OVERALL_V2 = Metric(
    name="sqlas.overall_v2",
    needs=_needs(V2),
    citation=f"{sqlas_context.CITATION}, weights of its document (v2)",
    formula="Σ weight · value / Σ weight over the metrics that have a value",
    range=(0.0, 1.0),
    compute=overall_v2,
)
