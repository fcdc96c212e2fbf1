"""Turn what a run has into its RunResult, and leave the files every reader expects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from sqlassay.cases.errors import InfrastructureError
from sqlassay.cases.verdicts import ExitCode, worst
from sqlassay.harness.aggregate import (
    agent_errors,
    aggregate,
    cause_counts,
    disagreements,
    exit_code,
    percentile,
    scorable,
    thresholds,
    unsafe_steps,
    verdict_counts,
    verdict_line,
)
from sqlassay.harness.judges import Figures
from sqlassay.harness.metrics.registry import across_trials
from sqlassay.harness.results.case_result import CaseResult, Timing
from sqlassay.harness.results.run_result import HealthFigures, Manifest, RunResult, SandboxFigures, Threshold
from sqlassay.harness.run.judging import judge_figures
from sqlassay.harness.store.folder import RunFolder
from sqlassay.harness.store.journal import ours
from sqlassay.sandboxes.pool_figures import PoolFigures

WriteReports = Callable[[RunResult, Path], Sequence[Path]]
"""Writes every report of a run into a folder and returns the files written."""

Finished = Mapping[tuple[str, int], tuple[CaseResult, Timing]]


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended: what is finished, what was planned, what went wrong on our side or got through."""

    manifest: Manifest
    planned: tuple[tuple[str, int], ...]
    finished: Finished
    declared: tuple[tuple[str, float], ...]
    min_coverage: float
    gates: tuple[str, ...]
    problems: tuple[str, ...]
    breaches: tuple[str, ...]
    interrupted: bool
    sandboxes: PoolFigures | None = None
    health: HealthFigures | None = None
    judge: Figures | None = None


def run_result(ending: Ending, folder: str) -> RunResult:
    """Return the run as every report reads it; results are in case order whatever the finishing order."""
    pairs = [ending.finished[key] for key in ending.planned if key in ending.finished]
    results = _across_trials([result for result, _ in pairs], ending.manifest.metrics)
    timings = tuple(timing for _, timing in pairs)
    clocked = {name for timing in timings for name in timing.scores}
    totals = tuple(aggregate(timings if name in clocked else results, name) for name in ending.manifest.metrics)
    held = thresholds(ending.declared, totals, ending.min_coverage)
    planned = len(ending.planned)
    steps = tuple(unsafe_steps(results))
    ending = replace(ending, breaches=(*ending.breaches, *steps)) if "safety" in ending.gates else ending
    code = exit_code(results, held=held, breaches=ending.breaches, interrupted=ending.interrupted, planned=planned)
    accuracy = next((total for total in totals if total.name == "execution_accuracy"), None)
    line = verdict_line(
        code,
        accuracy=accuracy,
        results=results,
        notes=_notes(ending, held, results),
        planned=planned,
        declared=bool(ending.declared or ending.gates),
    )
    return RunResult(
        manifest=ending.manifest,
        results=results,
        timings=timings,
        aggregates=totals,
        verdicts=verdict_counts(results),
        causes=cause_counts(results),
        scorable=scorable(results),
        blocked=sum(r.guard is not None and r.guard.statement is not None and not r.guard.allowed for r in results),
        disagreements=disagreements(results),
        percentiles=_percentiles(timings),
        thresholds=held,
        problems=(*ending.problems, *agent_errors(results), *_silence(ending.judge)),
        breaches=ending.breaches,
        sandboxes=SandboxFigures(**asdict(ending.sandboxes)) if ending.sandboxes else None,
        health=ending.health,
        judge=judge_figures(ending.judge),
        planned=planned,
        interrupted=ending.interrupted,
        exit_code=code,
        verdict_line=line,
        folder=folder,
    )


def _across_trials(results: Sequence[CaseResult], metrics: Sequence[str]) -> tuple[CaseResult, ...]:
    """Return the results with the scores of those metrics that compare the trials of a case."""
    scored = list(results)
    for metric in across_trials(metrics):
        trials: dict[str, list[int]] = {}
        for index, result in enumerate(scored):
            if metric.name in result.scores:
                trials.setdefault(result.case_id, []).append(index)
        for places in trials.values():
            records = metric.across([scored[at].scores[metric.name] for at in places]) if metric.across else ()
            for at, record in zip(places, records, strict=True):
                scored[at] = scored[at].model_copy(update={"scores": {**scored[at].scores, metric.name: record}})
    return tuple(scored)


def _notes(ending: Ending, held: Sequence[Threshold], results: Sequence[CaseResult]) -> tuple[str, ...]:
    """Return the short notes the verdict line carries."""
    failed = [_why(threshold) for threshold in held if not threshold.held]
    again = sum(map(ours, results))
    resumed = [] if not again else [f"`sqlassay resume` asks {'it' if again == 1 else f'all {again}'} again"]
    return (*failed, *ending.breaches[:1], *resumed)


def _why(threshold: Threshold) -> str:
    """Say why a threshold does not hold."""
    reached = "has no value" if threshold.value is None else f"{threshold.value:.3f}"
    if threshold.value is not None and threshold.coverage < threshold.min_coverage:
        asked = f"at least {threshold.min_coverage:.0%} was asked (--min-coverage)"
        return f"{threshold.metric} {reached}, but the judge answered {threshold.coverage:.0%}: {asked}"
    return f"{threshold.metric} {reached}, at least {threshold.minimum:g} was asked"


def _silence(judge: Figures | None) -> tuple[str, ...]:
    """Say how many questions a judge left open: the means of its metrics do not cover them."""
    if judge is None or not judge.unavailable:
        return ()
    return (f"judge: {judge.unavailable} of {judge.asked} questions have no answer; those scores are unavailable",)


def _percentiles(timings: Sequence[Timing]) -> dict[str, float | None]:
    """Return p50 and p95 of the predicted statements' seconds."""
    seconds = [t.predicted_seconds for t in timings if t.predicted_seconds is not None]
    return {"p50": percentile(seconds, 0.50), "p95": percentile(seconds, 0.95)}


def finish(run: RunResult, folder: RunFolder, write_reports: WriteReports) -> RunResult:
    """Write results.jsonl, timings.jsonl and every report, and return the run; a full disk makes it not whole."""
    folder.finish(run.results, run.timings)
    try:
        write_reports(run, folder.path)
    except InfrastructureError as error:
        code = worst({run.exit_code, ExitCode.INFRASTRUCTURE})
        line = f"NOT WHOLE: {error} (exit {int(code)})" if code is ExitCode.INFRASTRUCTURE else run.verdict_line
        problems = (*run.problems, error.message)
        return run.model_copy(update={"exit_code": code, "verdict_line": line, "problems": problems})
    # A fault of ours leaves the run open: `resume` asks for that result again.
    if not run.interrupted and not any(map(ours, run.results)):
        folder.end(int(run.exit_code), run.verdict_line)
    return run
