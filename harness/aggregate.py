"""Totals of a run: means over the results where a metric is available, counts, percentiles. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from sqlassay.cases.verdicts import UNSCORABLE, ExitCode, Verdict, worst
from sqlassay.harness.results.case_result import CaseResult, ScoreRecord
from sqlassay.harness.results.evidence import LEAST, MOST
from sqlassay.harness.results.run_result import Aggregate, Threshold
from sqlassay.harness.results.verdicts import GOLD_LOST


class Scored(Protocol):
    """What has scores by metric: a result, or its timings for metrics that come from clocks."""

    @property
    def scores(self) -> Mapping[str, ScoreRecord]:
        """Return the scores by the metrics' names."""
        ...


def aggregate(results: Sequence[Scored], metric: str) -> Aggregate:
    """Return the mean of one metric over the results where it has a value, with n and the number of results."""
    scores = [r.scores[metric] for r in results if metric in r.scores]
    present = [score for score in scores if score.value is not None]
    mean = math.fsum(score.value or 0.0 for score in present) / len(present) if present else None
    total = Aggregate(name=metric, mean=mean, n=len(present), of=len(results), note=_interval(mean, present))
    return _bounded(total, scores)


def _bounded(total: Aggregate, scores: Sequence[ScoreRecord]) -> Aggregate:
    """Return a total with its coverage and bounds, where a judge left some of its results without an answer."""
    open_ = [span for score in scores if (span := _span(score)) is not None]
    if not open_:
        return total
    whole = [score.value for score in scores if score.value is not None and _span(score) is None]
    count = len(whole) + len(open_)
    least, most = ((math.fsum(whole) + math.fsum(span[end] for span in open_)) / count for end in (0, 1))
    note = f"the judge answered {len(whole)} of {count}: {least:.3f} to {most:.3f} with the others at either end"
    update = {"coverage": len(whole) / count, "least": least, "most": most}
    return total.model_copy(update={**update, "note": "; ".join(filter(None, (total.note, note)))})


def _span(score: ScoreRecord) -> tuple[float, float] | None:
    """Return what a score may be at least and at most, None where no answer of a judge is missing."""
    least, most = score.details.get(LEAST), score.details.get(MOST)
    return (least, most) if isinstance(least, float) and isinstance(most, float) else None


def _interval(mean: float | None, scores: Sequence[ScoreRecord]) -> str:
    """Say how far the clocks alone may move a mean: each value's own interval, put together as independent errors."""
    spans = [(score.value, score.details.get("low"), score.details.get("high")) for score in scores]
    known = [
        (value - low, high - value)
        for value, low, high in spans
        if value is not None and isinstance(low, float) and isinstance(high, float)
    ]
    if mean is None or not known:
        return ""
    below, above = (math.sqrt(math.fsum(span[side] ** 2 for span in known)) / len(spans) for side in (0, 1))
    return f"{mean - below:.4g} to {mean + above:.4g} by the clocks' own spread"


def verdict_counts(results: Sequence[CaseResult]) -> dict[str, int]:
    """Return how many results ended as each verdict, in the fixed order of the verdict list."""
    counts = Counter(r.verdict for r in results)
    return {verdict.value: counts[verdict] for verdict in Verdict if counts[verdict]}


def cause_counts(results: Sequence[CaseResult]) -> dict[str, int]:
    """Return how many failed results have each likely cause, most frequent first, then by name."""
    counts = Counter(r.cause.value for r in results if r.cause is not None)
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def scorable(results: Sequence[CaseResult]) -> int:
    """Return the denominator of execution accuracy."""
    return sum(r.verdict not in UNSCORABLE for r in results)


def disagreements(results: Sequence[CaseResult], most: int = 5) -> tuple[str, ...]:
    """Return up to `most` case ids whose structural and execution score disagree, widest gap first."""
    widest: dict[str, float] = {}
    for result in results:
        score = result.scores.get("disagreement")
        if score is not None and score.value == 1.0:
            gap = score.details.get("gap")
            found = float(gap) if isinstance(gap, int | float) else 0.0
            widest[result.case_id] = max(found, widest.get(result.case_id, 0.0))
    return tuple(sorted(widest, key=lambda case_id: (-widest[case_id], case_id))[:most])


def percentile(values: Sequence[float], share: float) -> float | None:
    """Return the nearest-rank percentile (share in 0–1) of the values, None without values."""
    if not values:
        return None
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def thresholds(
    declared: Sequence[tuple[str, float]], totals: Sequence[Aggregate], min_coverage: float = 1.0
) -> tuple[Threshold, ...]:
    """Return each declared threshold with the value reached.

    A metric without a value does not hold, nor one whose judge answered for less than `min_coverage` of its results.
    """
    by_name = {total.name: total for total in totals}
    strict = by_name["strict_execution_accuracy"].mean if "strict_execution_accuracy" in by_name else None
    held = []
    for metric, minimum in declared:
        total = by_name.get(metric)
        value = None if total is None else total.mean
        coverage = 1.0 if total is None else total.coverage
        held.append(
            Threshold(
                metric=metric,
                minimum=minimum,
                value=value,
                strict=strict if metric == "execution_accuracy" else None,
                held=value is not None and value >= minimum and coverage >= min_coverage,
                coverage=coverage,
                min_coverage=min_coverage,
            )
        )
    return tuple(held)


def strict_accuracy(results: Sequence[CaseResult]) -> float | None:
    """Return the share of scorable results that match under `strict`; one whose gold under it was lost is left out."""
    asked = [r for r in results if r.verdict not in UNSCORABLE and (r.strict is None or r.strict.rule != GOLD_LOST)]
    return None if not asked else sum(r.strict is not None and r.strict.verdict == "match" for r in asked) / len(asked)


def unsafe_steps(results: Sequence[CaseResult]) -> Iterator[str]:
    """Yield a line for every statement that the guard refuses and an agent says it executed in a step of its own."""
    for result in results:
        for one in result.unsafe_steps:
            if one.executed:
                where = f"case {result.case_id} trial {result.trial}: step {one.step}"
                yield f"{where} ({one.tool or 'no tool named'}) executed what the guard refuses: {one.reason}"


def agent_errors(results: Sequence[CaseResult], most: int = 3) -> tuple[str, ...]:
    """Return the agent's commonest errors with how many answers each cost, the commonest first."""
    told = Counter(
        str(result.agent.metadata["agent_error"])
        for result in results
        if result.agent is not None and result.agent.metadata.get("agent_error")
    )
    listed = sorted(told.items(), key=lambda item: (-item[1], item[0]))
    lines = [f"agent: {count} of {len(results)} answers failed: {error}" for error, count in listed[:most]]
    others = sum(count for _, count in listed[most:])
    return (
        *lines,
        *([f"agent: {others} more answers failed with {len(listed) - most} other errors"] if others else []),
    )


def unanswered(results: Sequence[CaseResult]) -> bool:
    """Return whether the agent gave SQL for none of the scorable cases: then nothing was measured."""
    asked = [result for result in results if result.verdict not in UNSCORABLE]
    return bool(asked) and all(result.verdict is Verdict.NO_PREDICTION for result in asked)


def exit_code(
    results: Sequence[CaseResult],
    *,
    held: Sequence[Threshold],
    breaches: Sequence[str],
    interrupted: bool,
    planned: int,
) -> ExitCode:
    """Return the run's exit code: 130 > 4 > 3 > 2 > 5 > 1 > 0."""
    ours = {Verdict.GOLD_ERROR, Verdict.INFRASTRUCTURE}
    codes = {ExitCode.OK}
    if interrupted:
        codes.add(ExitCode.INTERRUPTED)
    if breaches:
        codes.add(ExitCode.BREACH)
    if any(r.verdict in ours for r in results):
        codes.add(ExitCode.INFRASTRUCTURE)
    if not interrupted and (planned == 0 or scorable(results) == 0 or unanswered(results)):
        codes.add(ExitCode.NOTHING_SCORABLE)
    if any(not threshold.held for threshold in held):
        codes.add(ExitCode.THRESHOLD)
    return worst(codes)


def verdict_line(
    code: ExitCode,
    *,
    accuracy: Aggregate | None,
    results: Sequence[CaseResult],
    notes: Sequence[str],
    planned: int,
    declared: bool,
) -> str:
    """Return the last line a run prints: it says the same as the exit code; only what is `declared` can pass."""
    matches = sum(r.verdict is Verdict.MATCH for r in results)
    share = f"{matches} of {scorable(results)} scorable cases match"
    if accuracy is not None and accuracy.mean is not None:
        strict = strict_accuracy(results)
        beside = "" if strict is None else f", strict {strict:.3f}"
        share = f"execution_accuracy {accuracy.mean:.3f}{beside} ({share})"
    words = {
        ExitCode.OK: f"{'PASS' if declared else 'DONE'}: {share}",
        ExitCode.THRESHOLD: f"FAIL: a declared threshold does not hold: {share}",
        ExitCode.INPUT: "INPUT: nothing was run",
        ExitCode.INFRASTRUCTURE: f"NOT WHOLE: {_ours(results)}; {share}",
        ExitCode.BREACH: "BREACH: a statement took effect",
        ExitCode.NOTHING_SCORABLE: _nothing(results, planned),
        ExitCode.INTERRUPTED: f"INTERRUPTED: {len(results)} of {planned} results finished; {share}",
    }
    line = words[code]
    return f"{line} [{'; '.join(notes)}] (exit {int(code)})" if notes else f"{line} (exit {int(code)})"


def _nothing(results: Sequence[CaseResult], planned: int) -> str:
    """Say why nothing can be scored."""
    if not unanswered(results):
        return f"NOTHING SCORABLE: 0 of {planned} planned results can be scored"
    errors = agent_errors(results, 1)
    why = errors[0].partition(": ")[2] if errors else "there is no prediction for any of them"
    return f"NOTHING SCORABLE: the agent gave no SQL for any of {len(results)} planned results: {why}"


def _ours(results: Sequence[CaseResult]) -> str:
    """Name what keeps the number from being whole."""
    counts = Counter(r.verdict for r in results)
    parts = [(Verdict.GOLD_ERROR, "gold error"), (Verdict.INFRASTRUCTURE, "infrastructure failure")]
    return ", ".join(f"{counts[v]} {name}{'s' if counts[v] != 1 else ''}" for v, name in parts if counts[v])
