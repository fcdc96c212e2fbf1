"""Find metrics by name among the installed `sqlassay.metrics` entry points, ours registered as a stranger's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import EntryPoint

from sqlassay.cases import extensions
from sqlassay.cases.errors import InputError
from sqlassay.harness.metrics.contract import Metric
from sqlassay.harness.results.evidence import Evidence, MetricSettings, Score
from sqlassay.harness.results.judging import Ask

GROUP = "sqlassay.metrics"

PRIMARY = (
    "routing",
    "structural",
    "execution_accuracy",
    "strict_execution_accuracy",
    "execution_score",
    "disagreement",
)
"""The metrics of a run that names none, in report order."""


_SQLAS_V1 = (
    *("execution_accuracy", "semantic_equivalence", "efficiency_score", "data_scan_efficiency", "sql_quality"),
    *("schema_compliance", "execution_success", "complexity_match", "empty_result_penalty", "faithfulness"),
    *("answer_relevance", "answer_completeness", "fluency", "read_only_compliance", "safety_score"),
)
_SQLAS_V2 = (
    *_SQLAS_V1,
    *("context_precision", "context_recall", "entity_recall", "noise_robustness", "result_set_similarity"),
)
_SPIDER = (
    *("exact_set_match", "execution_accuracy", "test_suite_accuracy", "select", "select_no_agg", "where"),
    *("where_no_op", "group_no_having", "group", "order", "and_or", "iuen", "keywords"),
)
_EVALBENCH = (
    *("exact_match", "returned_sql", "executable_sql", "regexp_matcher", "llmrater", "recall_match", "set_match"),
    "consistency",
)


_NUCLEUSIQ = (
    *("used_sql_tools", "executed_query", "sql_safety", "planned", "correct_answer", "substantive_answer"),
    *("answer_quality", "composite"),
)


def _of(family: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return metrics' whole names."""
    return tuple(f"{family}.{name}" for name in names)


PROFILES: dict[str, tuple[str, ...]] = {
    "skill": PRIMARY,
    "sqlas-v1": _of("sqlas", ("overall", *_SQLAS_V1)),
    "sqlas-v2": _of("sqlas", ("overall_v2", *_SQLAS_V2)),
    "bird": _of("bird", ("execution_accuracy", "soft_f1", "soft_f1_any_order", "ves", "r_ves")),
    "spider": _of("spider", _SPIDER),
    "evalbench": _of("evalbench", _EVALBENCH),
    "stef": ("stef",),
    "nucleusiq": _of("nucleusiq", _NUCLEUSIQ),
}
"""What `--profile` stands for."""

_POLICY = "policy:"
_TIMINGS = "timings:"


def installed() -> dict[str, EntryPoint]:
    """Return every installed metric's entry point by name."""
    return extensions.installed(GROUP)


def metrics(names: Sequence[str] | None) -> tuple[Metric, ...]:
    """Return the named metrics in the given order, the primary ones where none are named.

    `NAME@LABEL` is the metric NAME once more, with options of its own: `NAME@LABEL.option`.

    Raises:
        InputError: an unknown metric; the remedy lists the installed ones.
    """
    chosen = names if names is not None else PRIMARY
    return tuple(_named(name) for name in chosen)


def _named(name: str) -> Metric:
    """Return one metric, once more under a label where the name has one."""
    plain, _, label = name.partition("@")
    metric: Metric = extensions.load(GROUP, plain, what="metric", field="--metrics")
    if not label:
        return metric

    def own(settings: MetricSettings) -> MetricSettings:
        """Return the settings with the options of this label as the metric's."""
        given = ((key.removeprefix(name), value) for key, value in settings.options if key.startswith(f"{name}."))
        return replace(settings, options=tuple((f"{plain}{option}", value) for option, value in given))

    def compute(evidence: Evidence, ask: Ask | None) -> Score:
        """Compute the metric under its own options."""
        return metric.compute(replace(evidence, settings=own(evidence.settings)), ask)

    def check(settings: MetricSettings) -> None:
        """Check the metric's own options."""
        if metric.check is not None:
            metric.check(own(settings))

    return replace(metric, name=name, compute=compute, check=check)


def across_trials(names: Sequence[str]) -> tuple[Metric, ...]:
    """Return those of the named metrics that are found from several trials; one that is gone by now is passed over."""
    there = installed()
    return tuple(
        metric
        for metric in metrics([name for name in names if name.partition("@")[0] in there])
        if metric.across is not None
    )


def profile(name: str) -> tuple[str, ...]:
    """Return the metrics one profile stands for; `all` is every installed one.

    Raises:
        InputError: an unknown profile; the remedy lists the known ones.
    """
    if name == "all":
        return tuple(installed())
    if name not in PROFILES:
        raise InputError(
            f"unknown profile '{name}'", field="--profile", remedy=f"Choose one of {', '.join(PROFILES)}, all"
        )
    return PROFILES[name]


def check_options(chosen: Sequence[Metric], settings: MetricSettings) -> None:
    """Refuse options no chosen metric has, and values their metric refuses.

    Raises:
        InputError: naming the option; the remedy lists those the chosen metrics have.
    """
    known = [f"{metric.name}.{option}" for metric in chosen for option in metric.options]
    for name, _ in settings.options:
        if name not in known:
            have = ", ".join(known) or "none of the chosen metrics has any"
            raise InputError(
                f"no chosen metric has the option '{name}'", field="--metric-option", remedy=f"Known: {have}"
            )
    for metric in chosen:
        if metric.check is not None:
            metric.check(settings)


def presets_needed(chosen: Sequence[Metric]) -> tuple[str, ...]:
    """Return the presets these metrics want the results compared under, sorted."""
    return tuple(sorted({need.removeprefix(_POLICY) for m in chosen for need in m.needs if need.startswith(_POLICY)}))


def is_clocked(metric: Metric) -> bool:
    """Return whether a metric is computed from clocks, so that no two runs give the same value."""
    return any(need.startswith(_TIMINGS) for need in metric.needs)


def repetitions_needed(chosen: Sequence[Metric]) -> int:
    """Return how often gold and prediction are timed in turn for these metrics: the most that one asks for."""
    needs = (need for metric in chosen for need in metric.needs if need.startswith(_TIMINGS))
    return max((int(need.removeprefix(_TIMINGS)) for need in needs), default=0)
