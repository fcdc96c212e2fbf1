"""EvalBench's scorers as metrics of ours: which metric, with which options, under which name in its tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlassay.cases.errors import InputError
from sqlassay.cases.formats.evalbench_config import wrong
from sqlassay.cases.yaml_reading import YamlDocument
from sqlassay.harness.evalbench.keys import told
from sqlassay.harness.metrics.registry import check_options, metrics
from sqlassay.harness.results.evidence import MetricSettings

COMPAT = "evalbench"
CONSISTENCY = "evalbench.consistency"

_METRICS = {
    **{name: name for name in ("exact_match", "returned_sql", "executable_sql", "regexp_matcher", "recall_match")},
    **{name: name for name in ("set_match", "llmrater")},
    "exact_match_consistency": "consistency",
    "consistency": "consistency",
}
_WITH_COMPAT = ("exact_match", "returned_sql", "executable_sql", "regexp_matcher", "recall_match", "set_match")
_OPTIONS = {
    "regexp_matcher": ("regexp_string_list", "invert_results", "match_all_patterns", "match_whole_query"),
    "recall_match": ("score_type",),
}
_LABEL = re.compile(r"[^A-Za-z0-9_-]+")
_JUDGE = "judges are named by --judge"
_OWN_WITHOUT_EFFECT = {"llmrater": {"model_config": _JUDGE, "hybrid_ground_truth": "gold runs on its own engine"}}
_CONVERSATIONS = frozenset(
    {
        *("trajectory_matcher", "skills_trajectory", "skills_best_practices", "goal_completion", "behavioral_metrics"),
        *("parameter_analysis", "turn_count", "agent_steps", "end_to_end_latency", "tool_call_latency"),
        *("token_consumption", "tokens_processed", "effective_billed_tokens", "binary_rubric_scorer"),
        *("dataform_compile", "dataform_run", "dataform_cloud_compile", "dataform_cloud_run", "dbt_compile"),
        *("dbt_run", "dataset_quality", "analytics_scorer"),
    }
)
_ELSEWHERE = {
    **dict.fromkeys(_CONVERSATIONS, "it scores conversations with agents, not SQL"),
    "python_scorer": "a metric of your own is an entry point (docs/how-to/new-metric.md)",
    "llm_consistency": "exact_match_consistency compares trials without a judge",
}


@dataclass(frozen=True, slots=True)
class Scorer:
    """One scorer under its name in EvalBench's tables, with our metric and that metric's options."""

    name: str
    metric: str
    options: tuple[tuple[str, Any], ...] = ()


def read_scorers(document: YamlDocument, value: object, *, compat: bool) -> tuple[tuple[Scorer, ...], tuple[str, ...]]:
    """Return the scorers a config names, and a line for whatever of it is not taken.

    Raises:
        InputError: options that are no mapping or that a scorer refuses.
    """
    if not isinstance(value, dict):
        if value is not None:
            raise wrong(
                document, ("scorers",), "a mapping of scorers is expected", "Write `scorers:` with one key each"
            )
        return (), (f"{document.path}:{document.line(('scorers',))}:scorers: no scorer is named",)
    found: list[Scorer] = []
    notes: list[str] = []
    for name, given in value.items():
        options = {} if given is None or isinstance(given, bool) else given
        if not isinstance(options, dict):
            remedy = "Write null, or the scorer's options under it"
            raise wrong(document, ("scorers", name), "a mapping of options is expected", remedy)
        kind, place, options = _kind(name, options)
        where = f"{document.path}:{document.line(('scorers', name))}:scorers.{name}"
        if kind is None:
            why = _ELSEWHERE.get(str(options.get("type", name)))
            notes.append(f"{where}: {f'is left out: {why}' if why else 'unknown scorer, ignored'}")
            continue
        notes += _told(document, kind, place, options)
        scorer = _scorer(document, name, kind, place, options, compat=compat)
        if kind == "regexp_matcher" and not options.get("regexp_string_list"):
            notes.append(f"{where}: has no regexp_string_list, so it gives no scores")
        found.append(_apart(scorer, found))
    return tuple(found), tuple(notes)


def _apart(scorer: Scorer, earlier: Sequence[Scorer]) -> Scorer:
    """Return a scorer whose metric is its own where an earlier one of the kind has other options."""
    same = [one for one in earlier if one.metric.partition("@")[0] == scorer.metric]

    def values(one: Scorer) -> dict[str, Any]:
        """Return a scorer's options by their own names."""
        return {key.rpartition(".")[2]: value for key, value in one.options}

    equal = next((one for one in same if values(one) == values(scorer)), None)
    if equal is not None:
        return Scorer(scorer.name, equal.metric, equal.options)
    if not same:
        return scorer
    metric = f"{scorer.metric}@{_LABEL.sub('-', scorer.name)}-{len(same) + 1}"
    return Scorer(scorer.name, metric, tuple((f"{metric}.{key}", value) for key, value in values(scorer).items()))


def _kind(name: str, options: dict[str, Any]) -> tuple[str | None, tuple[str, ...], dict[str, Any]]:
    """Return which scorer a name means, where its options stand, and the options: a `type` may give it another name."""
    if name in _METRICS:
        return name, ("scorers", name), options
    if options.get("type") in tuple(_METRICS):  # a list or a mapping is no name, and has no hash either
        return str(options["type"]), ("scorers", name), options
    nested = next((kind for kind in _METRICS if "type" not in options and isinstance(options.get(kind), dict)), None)
    if nested is not None:
        return nested, ("scorers", name, nested), options[nested]
    return None, ("scorers", name), options


def _told(document: YamlDocument, kind: str, place: tuple[str, ...], options: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each option that is not known or has no effect."""
    known = ("compat", "type", "scorer_name", *_OPTIONS.get(kind, ()))
    idle = {**_OWN_WITHOUT_EFFECT.get(kind, {}), "delegated": "everything is scored here"}
    yield from told(document, place, options, known, idle)


def _scorer(
    document: YamlDocument,
    name: str,
    kind: str,
    place: tuple[str, ...],
    options: Mapping[str, Any],
    *,
    compat: bool,
) -> Scorer:
    """Return one scorer with its options checked by its metric."""
    switch = options.get("compat")
    check_compat(document, (*place, "compat"), switch)
    suffix = "_compat" if (compat or switch == COMPAT) and kind in _WITH_COMPAT else ""
    metric = f"evalbench.{_METRICS[kind]}{suffix}"
    taken = {option: options[option] for option in _OPTIONS.get(kind, ()) if options.get(option) is not None}
    made = Scorer(
        str(options.get("scorer_name") or name), metric, tuple((f"{metric}.{k}", v) for k, v in taken.items())
    )
    try:
        check_options(metrics([metric]), MetricSettings(options=made.options))
    except InputError as error:
        option = (error.field or "").rpartition(".")[2]
        message = error.message.removeprefix(f"{error.field}: ")
        raise wrong(document, (*place, option), message, error.remedy) from error
    return made


def check_compat(document: YamlDocument, place: tuple[str, ...], value: object) -> None:
    """Refuse a value of the switch `compat` that is none."""
    if value not in (None, COMPAT):
        remedy = "Write compat: evalbench for the numbers EvalBench prints, or leave it out"
        raise wrong(document, place, f"'{value}' is no number scores can be equal to", remedy)
