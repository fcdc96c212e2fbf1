"""The numbers every report shows, each with its n, and the names they go by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from sqlassay.cases.catalog import settings_line
from sqlassay.cases.verdicts import UNSCORABLE, Verdict
from sqlassay.harness.reports.files import Json, base_name
from sqlassay.harness.results.case_result import CaseResult, ScoreRecord, Timing
from sqlassay.harness.results.run_result import Aggregate, RunResult, Threshold

FORMAT = 1
_LABELS = {"strict_execution_accuracy": "strict execution accuracy", "disagreement": "disagreement rate"}


def label(metric: str) -> str:
    """Return the name a metric is printed under; no report says a bare "execution"."""
    return _LABELS.get(metric, metric)


def decimal(value: float | None, places: int = 3) -> str:
    """Return a score as text, or a dash where it is not available (which is not zero)."""
    return "–" if value is None else f"{value:.{places}f}"


def seconds(value: float | None) -> str:
    """Return a duration in the unit a person reads: milliseconds below one second."""
    if value is None:
        return "–"
    return f"{value * 1000:.1f} ms" if value < 1 else f"{value:.2f} s"


def score(result: CaseResult, metric: str) -> float | None:
    """Return one result's value of a metric, None where it is not available or was not asked for."""
    record = result.scores.get(metric)
    return None if record is None else record.value


def score_json(record: ScoreRecord | None) -> dict[str, Json]:
    """Return a score with its reason; `available` tells not applicable from zero."""
    if record is None:
        return {"value": None, "available": False, "reason": "not computed"}
    return {"value": record.value, "available": record.value is not None, "reason": record.reason}


def aggregate_json(total: Aggregate | None) -> dict[str, Json]:
    """Return a metric's mean with the number of results it covers."""
    if total is None:
        return {"mean": None, "n": 0, "of": 0, "note": "not computed"}
    found: dict[str, Json] = {"mean": total.mean, "n": total.n, "of": total.of, "note": total.note}
    if total.coverage < 1:
        found |= {"coverage": total.coverage, "least": total.least, "most": total.most}
    return found


def unsafe_steps(run: RunResult) -> str:
    """Return how many statements the guard refuses stand in the agent's own steps, nothing where there are none."""
    found = [one for result in run.results for one in result.unsafe_steps]
    executed = sum(one.executed for one in found)
    return f"{len(found) - executed} attempted, {executed} executed" if found else ""


def threshold_line(threshold: Threshold) -> str:
    """Return one declared threshold and whether it held, with the judge's coverage where that is not whole."""
    held = "holds" if threshold.held else "does not hold"
    answered = ""
    if threshold.coverage < 1:
        answered = f", the judge answered {threshold.coverage:.0%}, at least {threshold.min_coverage:.0%} asked"
    name, value = label(threshold.metric), decimal(threshold.value)
    value += "" if threshold.strict is None else f" (strict {decimal(threshold.strict)})"
    return f"{name} {value}, at least {threshold.minimum} asked{answered}: {held}"


def aggregates_json(run: RunResult) -> dict[str, Json]:
    """Return every metric's mean and n, in the order the run reports them."""
    return {total.name: aggregate_json(total) for total in run.aggregates}


def gold_counts(run: RunResult) -> dict[str, int]:
    """Return how many results were judged by gold of each status."""
    return dict(Counter(result.gold_status for result in run.results))


def gold_line(run: RunResult) -> str:
    """Return the counts of gold by status in one line."""
    return ", ".join(f"{count} {status}" for status, count in sorted_counts(gold_counts(run)).items()) or "none"


def sorted_counts(counts: dict[str, int]) -> dict[str, Json]:
    """Return counts largest first, ties by name."""
    ordered = sorted(counts, key=lambda name: (-counts[name], name))
    return {name: counts[name] for name in ordered}


def header_json(run: RunResult) -> dict[str, Json]:
    """Return what names a run in every file: identity, engine, isolation, policy and how much of it ran."""
    manifest = run.manifest
    return {
        "format": FORMAT,
        "run_id": manifest.run_id,
        "created": manifest.created,
        "sqlassay": manifest.sqlassay,
        "pack": base_name(manifest.pack),
        "case_set": manifest.case_set,
        "dialect": manifest.dialect,
        "engine_version": manifest.engine_version,
        "engine_settings": [one.model_dump(mode="json") for one in manifest.engine_settings],
        "image": base_name(manifest.image),
        "isolation": manifest.isolation.model_dump(mode="json"),
        "agent": base_name(manifest.agent),
        "policy_digest": manifest.policy_digest,
        "seed": manifest.seed,
        "trials": trials(run),
        "n": len(run.results),
        "planned": run.planned,
        "interrupted": run.interrupted,
    }


def engine_settings(run: RunResult) -> str:
    """Return the settings of the engine that decide what text, modes and moments mean, in one line."""
    return settings_line([(one.settings, one.snapshots) for one in run.manifest.engine_settings])


def trials(run: RunResult) -> int:
    """Return how many trials a case had: as set, or as the results show."""
    seen = max((result.trial for result in run.results), default=0) + 1
    declared = run.manifest.settings.get("trials")
    return max(seen, declared) if isinstance(declared, int) else seen


def coverage(run: RunResult) -> str:
    """Return how much of the run the numbers cover, in one line."""
    cases, k = run.manifest.cases, trials(run)
    planned = f"{run.planned} planned ({cases} case{'' if cases == 1 else 's'} × {k} trial{'' if k == 1 else 's'})"
    return f"{len(run.results)} of {planned}, scorable: {run.scorable}"


def timing_of(run: RunResult) -> dict[tuple[str, int], Timing]:
    """Return the timings by (case id, trial)."""
    return {(timing.case_id, timing.trial): timing for timing in run.timings}


def gap(result: CaseResult) -> float | None:
    """Return how far structure and execution_score are apart, None where either is not available."""
    structural, executed = score(result, "structural"), score(result, "execution_score")
    return None if structural is None or executed is None else abs(structural - executed)


def scorable(results: Iterable[CaseResult]) -> list[CaseResult]:
    """Return the results that count in the denominator of execution accuracy."""
    return [result for result in results if result.verdict not in UNSCORABLE]


def failed(results: Iterable[CaseResult]) -> list[CaseResult]:
    """Return everything that is not a match, in case order."""
    return [result for result in results if result.verdict is not Verdict.MATCH]


def place(run: RunResult) -> str:
    """Return where statements ran and how far apart, in one line, with what is missing from the isolation here."""
    isolation = run.manifest.isolation
    missing = f"; off here: {', '.join(isolation.missing)}" if isolation.missing else ""
    limits = f"; limits: {', '.join(isolation.limits)}" if isolation.limits else ""
    return f"{level(run)}; {isolation.provider}, {isolation.method}, network {isolation.network}{limits}{missing}"


def health(run: RunResult) -> str:
    """Return what the machine did to the run in one line, empty where nothing was judged here."""
    found = run.health
    if found is None:
        return ""
    servers = run.sandboxes.replaced if run.sandboxes is not None else 0
    return (
        f"{found.parsers_replaced} parsers and {servers} servers replaced, "
        f"stood still for {found.paused_seconds:.1f} s, load {found.load:.1f} on {found.cores} cores"
    )


def level(run: RunResult) -> str:
    """Return the isolation level of both kinds of server, and how many cases are kept apart further."""
    isolation = run.manifest.isolation
    both = isolation.level == isolation.gold_level
    shown = f"level {isolation.level}, gold and predictions on servers of their own"
    shown = shown if both else f"level {isolation.level} for predictions, {isolation.gold_level} for gold"
    further = [f"{count} case{'' if count == 1 else 's'} at level {name}" for name, count in isolation.stricter.items()]
    return ", ".join([shown, *further])


def handouts(run: RunResult) -> str:
    """Return how many servers the predictions took and how long they waited for one, nothing where no pool ran."""
    pool = run.sandboxes
    if pool is None or not pool.handouts:
        return ""
    waits = f"p50 {seconds(pool.median)}, p95 {seconds(pool.p95)}, longest {seconds(pool.longest)}"
    fresh = f"; {pool.fresh} of them fresh: p50 {seconds(pool.fresh_median)}, p95 {seconds(pool.fresh_p95)}"
    return f"{pool.started} started, {pool.replaced} replaced; {pool.handouts} hand-outs: {waits}{fresh}"


def judge_line(run: RunResult) -> str:
    """Return what the judge was asked and took, nothing where none was named; unknown costs are said to be unknown."""
    judge = run.judge
    if judge is None:
        return ""
    parts = [f"{judge.asked} questions", f"{judge.kept} answered before", f"{judge.retries} tried again"]
    parts.append(f"{judge.unavailable} unavailable")
    if judge.split is not None:
        parts.append(f"{judge.split} split")
    cost = "cost unknown" if judge.cost is None else f"cost {judge.cost:.6g}"
    return f"{judge.label}: {', '.join(parts)}; {judge.input_tokens} + {judge.output_tokens} tokens, {cost}"
