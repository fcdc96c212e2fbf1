"""EvalBench's scorers, 0 to 100, right by their own documents; `evalbench_compat` has the numbers EvalBench prints."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from sqlassay.cases.errors import InputError
from sqlassay.cases.verdicts import Verdict
from sqlassay.harness.metrics.contract import Ask, Metric
from sqlassay.harness.metrics.outcomes import RAN, both, by_name, keys, last, names, unscorable
from sqlassay.harness.metrics.patterns import EndlessPatternError, hits
from sqlassay.harness.results.evidence import Evidence, MetricSettings, Score

_CITATION = "google-evalbench 1.20, scorers"
_REGEXP = "evalbench.regexp_matcher"
_RECALL = "evalbench.recall_match"


def exact_match(evidence: Evidence, _ask: Ask | None = None) -> Score:
    """Score 100 where the rows are the same in the same order under the same column names.

    A change is compared by the state it leaves: its own result is empty whatever it did.
    """
    changed = _changed(evidence)
    if changed is not None:
        return changed
    found = both(evidence)
    if isinstance(found, Score):
        return found
    gold, predicted = found
    if sorted(names(gold)) != sorted(names(predicted)):
        return Score(0.0, f"columns {', '.join(names(predicted))} instead of {', '.join(names(gold))}")
    equal = keys(gold.rows) == by_name(gold, predicted)
    return Score(100.0 * equal, "the same rows in the same order" if equal else "other rows, or another order")


def returned_sql(evidence: Evidence, _ask: Ask | None = None) -> Score:
    """Score 100 where the answer holds more than comments."""
    if evidence.verdict in {Verdict.INFRASTRUCTURE, Verdict.OUT_OF_SCOPE}:
        return Score(None, f"{evidence.verdict}: {evidence.reason}")
    text = (evidence.prediction.sql if evidence.prediction is not None else None) or ""
    parsed = evidence.predicted_parsed
    # The tokenizer's own map tells comments from texts that look like one.
    letters = parsed.lexmap if parsed is not None and len(parsed.lexmap) == len(text) else None
    code = text if letters is None else "".join(c for c, kind in zip(text, letters, strict=True) if kind != " ")
    if letters is None:
        code = re.sub(r"/\*.*?(?:\*/|\Z)|--[^\n]*", "", code, flags=re.DOTALL)
    has_code = bool(code.strip(" \t\r\n;"))
    return Score(100.0 * has_code, "the answer holds SQL" if has_code else "the answer holds no SQL")


def executable_sql(evidence: Evidence, _ask: Ask | None = None) -> Score:
    """Score 100 where the engine ran the statement, whatever it gave."""
    missing = unscorable(evidence)
    if missing is not None:
        return missing
    ran = evidence.verdict in RAN
    return Score(100.0 * ran, "it ran" if ran else f"{evidence.verdict}: {evidence.reason}")


def recall_match(evidence: Evidence, _ask: Ask | None = None) -> Score:
    """Score distinct rows found / distinct gold rows, or / distinct predicted rows where `score_type` is precision."""
    found = both(evidence)
    if isinstance(found, Score):
        return found
    gold, predicted = found
    wanted, given = set(keys(gold.rows)), set(by_name(gold, predicted))
    common = len(wanted & given)
    recall, precision = _share(common, wanted, given), _share(common, given, wanted)
    asked = evidence.settings.option(_RECALL, "score_type", "recall")
    value = precision if asked == "precision" else recall
    reason = f"{common} of {len(wanted)} distinct gold rows found, {len(given)} distinct rows given"
    return Score(100.0 * value, reason, (("recall", recall), ("precision", precision)))


def _share(common: int, of: set[tuple[object, ...]], other: set[tuple[object, ...]]) -> float:
    """Return a share; of nothing it is whole where the other side is empty too."""
    return common / len(of) if of else float(not other)


def check_recall(settings: MetricSettings, metric: str = _RECALL) -> None:
    """Refuse a score type nobody knows."""
    if settings.option(metric, "score_type", "recall") not in ("recall", "precision"):
        raise InputError("score_type is recall or precision", field=f"{metric}.score_type", remedy="Give one of them")


def _under(preset: str) -> Callable[[Evidence, Ask | None], Score]:
    """Return what scores 100 where the comparison under a preset is a match."""

    def compute(evidence: Evidence, _ask: Ask | None = None) -> Score:
        """Return 100 on a match, 0 on a mismatch or failure, nothing where it cannot be decided."""
        missing = unscorable(evidence)
        if missing is not None:
            return missing
        changed = _changed(evidence)
        if changed is not None:
            return changed
        execution = last(evidence)
        comparison = dict(execution.others).get(preset) if execution is not None else None
        if comparison is None:
            if evidence.verdict in RAN and execution is not None and execution.comparison is not None:
                return Score(None, f"not compared under {preset}")
            return Score(0.0, evidence.reason)
        if comparison.verdict == "undecided":
            return Score(None, comparison.reason)
        return Score(100.0 * (comparison.verdict == "match"), comparison.reason)

    return compute


def _changed(evidence: Evidence) -> Score | None:
    """Return the score of a dml or ddl case: the states match or they do not."""
    if evidence.case.query_type == "dql":
        return None
    missing = unscorable(evidence)
    if missing is not None:
        return missing
    if evidence.verdict is Verdict.UNDECIDED:
        return Score(None, evidence.reason)
    return Score(100.0 * (evidence.verdict is Verdict.MATCH), evidence.reason)


def regexp_matcher(evidence: Evidence, _ask: Ask | None = None) -> Score:
    """Score 100 where the statement matches one of the patterns; the options ask for all, the whole, or none."""
    settings = evidence.settings
    patterns = patterns_of(settings, _REGEXP)
    if not patterns:
        return Score(None, f"no pattern was given: --metric-option '{_REGEXP}.regexp_string_list=[PATTERN]'")
    if evidence.verdict in {Verdict.INFRASTRUCTURE, Verdict.OUT_OF_SCOPE}:
        return Score(None, f"{evidence.verdict}: {evidence.reason}")
    text = (evidence.prediction.sql if evidence.prediction is not None else None) or ""
    if not text.strip():  # it matches no pattern, which is what `invert_results` asks for
        inverted = bool(settings.option(_REGEXP, "invert_results"))
        return Score(100.0 * inverted, "there is no statement to match")
    # Patterns of run configurations are written for one line with single spaces.
    line = re.sub(r"\s+", " ", text).strip()
    try:
        found = hits(patterns, line, whole=bool(settings.option(_REGEXP, "match_whole_query")))
    except EndlessPatternError as error:
        return Score(None, str(error))
    matched = sum(hit is not None for hit in found)
    wanted = len(patterns) if settings.option(_REGEXP, "match_all_patterns") else 1
    holds = (matched >= wanted) != bool(settings.option(_REGEXP, "invert_results"))
    return Score(100.0 * holds, f"{matched} of {len(patterns)} patterns match")


def patterns_of(settings: MetricSettings, metric: str) -> Sequence[str]:
    """Return the patterns a metric is to match; one text is a list of one."""
    given = settings.option(metric, "regexp_string_list") or ()
    return (
        [given] if isinstance(given, str) else [str(each) for each in given] if isinstance(given, list | tuple) else []
    )


def check_patterns(settings: MetricSettings, metric: str = _REGEXP) -> None:
    """Refuse patterns that are none, and switches that are neither true nor false."""
    given = settings.option(metric, "regexp_string_list")
    if not isinstance(given, str | list | tuple | None):
        remedy = "Give a list of regular expressions"
        raise InputError(f"{given!r} is no list of patterns", field=f"{metric}.regexp_string_list", remedy=remedy)
    for pattern in patterns_of(settings, metric):
        try:
            re.compile(pattern)
        except re.error as error:
            raise InputError(
                f"'{pattern}' is no regular expression: {error}",
                field=f"{metric}.regexp_string_list",
                remedy="Write it as Python's re does",
            ) from error
    for name in ("invert_results", "match_all_patterns", "match_whole_query"):
        if not isinstance(settings.option(metric, name, default=False), bool):
            raise InputError(f"{name} is true or false", field=f"{metric}.{name}", remedy="Give one of them")


def _metric(
    name: str,
    compute: Callable[[Evidence, Ask | None], Score],
    formula: str,
    *needs: str,
    options: tuple[str, ...] = (),
) -> Metric:
    """Return one scorer as a metric."""
    checks = {"regexp_matcher": check_patterns, "recall_match": check_recall}
    return Metric(
        name=f"evalbench.{name}",
        needs=frozenset(needs),
        citation=_CITATION,
        formula=formula,
        range=(0.0, 100.0),
        compute=compute,
        options=options,
        check=checks.get(name),
    )


EXACT_MATCH = _metric("exact_match", exact_match, "100 if rows, their order and column names are equal else 0", "gold")
RETURNED_SQL = _metric("returned_sql", returned_sql, "100 if the answer holds more than comments else 0")
EXECUTABLE_SQL = _metric("executable_sql", executable_sql, "100 if the engine ran the statement else 0", "gold")
REGEXP_MATCHER = _metric(
    "regexp_matcher",
    regexp_matcher,
    "100 if one pattern (or all) is found in the statement (or is all of it) else 0",
    options=("regexp_string_list", "invert_results", "match_all_patterns", "match_whole_query"),
)
RECALL_MATCH = _metric(
    "recall_match",
    recall_match,
    "100 · distinct rows found / distinct gold rows (precision: / distinct predicted rows)",
    "gold",
    options=("score_type",),
)
SET_MATCH = _metric(
    "set_match", _under("bird"), "100 if the sets of rows are equal (BIRD) else 0", "gold", "policy:bird"
)
