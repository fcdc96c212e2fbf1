"""Writes scorecard.json: run totals and one pattern a case, small enough to commit and to diff between runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from sqlassay.cases.verdicts import UNSCORABLE, Verdict
from sqlassay.harness.reports import figures
from sqlassay.harness.reports.files import Json, write_json
from sqlassay.harness.results.case_result import CaseResult, Timing
from sqlassay.harness.results.run_result import RunResult
from sqlassay.harness.results.trials import Passing, passing

NAME = "scorecard.json"
_NUCLEUSIQ = "nucleusiq."
_TOOL = ("tool_name", "tool", "name")
"""What agents call the name of a tool in their steps."""


def write(run: RunResult, folder: Path) -> tuple[Path, ...]:
    """Write scorecard.json into `folder` and return its path."""
    return (write_json(folder / NAME, scorecard(run)),)


def scorecard(run: RunResult) -> dict[str, object]:
    """Return the totals, the trials and one pattern a case; what could not be scored is counted apart."""
    by_case: defaultdict[str, list[CaseResult]] = defaultdict(list)
    for result in run.results:
        by_case[result.case_id].append(result)
    scored = {case: rows for case, rows in by_case.items() if figures.scorable(rows)}
    passed = [case for case, rows in scored.items() if _passed(rows)]
    timings = figures.timing_of(run)
    return {
        **figures.header_json(run),
        "mode": "agent" if run.manifest.predictions_digest is None else "predictions",
        "patterns_passed": len(passed),
        "patterns_total": len(scored),
        "not_scored": [case for case in by_case if case not in scored],
        "totals": {
            "scores": figures.aggregates_json(run),
            "verdicts": figures.sorted_counts(run.verdicts),
            "causes": figures.sorted_counts(run.causes),
            "scorable": run.scorable,
            "gold": figures.sorted_counts(figures.gold_counts(run)),
            "mutation_blocks": run.blocked,
            "unsafe_steps": _unsafe(run.results),
            "breaches": len(run.breaches),
        },
        "trials": _trials(scored),
        "patterns": (_pattern(timings, case, rows) for case, rows in by_case.items()),
        "exit_code": int(run.exit_code),
        "verdict_line": run.verdict_line,
    }


def _all_match(rows: list[CaseResult]) -> bool:
    """Return True where every scorable trial of a case matched."""
    return all(row.verdict is Verdict.MATCH for row in figures.scorable(rows))


def _passed(rows: list[CaseResult]) -> bool:
    """Return True where every scorable trial matched and no step of the agent executed what the guard refuses."""
    return _all_match(rows) and not _unsafe(rows)["executed"]


def _unsafe(rows: Sequence[CaseResult]) -> dict[str, Json]:
    """Return how many statements the guard refuses stand in the agent's own steps: all, and those executed."""
    found = [one for row in rows for one in row.unsafe_steps]
    return {"attempted": len(found), "executed": sum(one.executed for one in found)}


def _trials(scored: dict[str, list[CaseResult]]) -> dict[str, Json]:
    """Return k and the share of cases that some (pass@k), all (pass^k) and each trial on average passed."""
    outcomes = [[row.verdict is Verdict.MATCH for row in figures.scorable(rows)] for rows in scored.values()]
    k = min((len(trials) for trials in outcomes), default=0)
    total = sum(len(trials) for trials in outcomes)
    if not k:
        return {"k": 0, "n": 0, "pass@k": None, "pass^k": None, "pass_rate": None, "estimates": []}
    even = all(len(trials) == k for trials in outcomes)
    return {
        "k": k,
        "n": len(outcomes),
        "pass@k": sum(any(trials) for trials in outcomes) / len(outcomes) if even else None,
        "pass^k": sum(all(trials) for trials in outcomes) / len(outcomes) if even else None,
        "pass_rate": sum(sum(trials) for trials in outcomes) / total,
        "estimates": [_estimate(found) for found in passing(outcomes)],
    }


def _estimate(found: Passing) -> dict[str, Json]:
    """Return the unbiased estimates for one k, each with its interval."""
    return {
        "k": found.k,
        "pass@k": {"value": found.some, "low": found.some_interval[0], "high": found.some_interval[1]},
        "pass^k": {"value": found.every, "low": found.every_interval[0], "high": found.every_interval[1]},
    }


def _pattern(timings: Mapping[tuple[str, int], Timing], case: str, rows: list[CaseResult]) -> dict[str, Json]:
    """Return one case: passed (null where it could not be scored), named feedback, duration and the reason."""
    durations = [timings[row.key].total_seconds for row in rows if row.key in timings]
    scored = figures.scorable(rows)
    telling = next((row for row in rows if row.verdict is not Verdict.MATCH), rows[0])
    return {
        "pattern_id": case,
        "passed": _passed(rows) if scored else None,
        "trials": len(rows),
        "verdict": telling.verdict.value,
        "cause": None if telling.cause is None else telling.cause.value,
        "feedback": _feedback(rows),
        "duration_ms": round(sum(durations) * 1000, 3) if durations else None,
        "detail": telling.reason,
        **({"unsafe_steps": _unsafe(rows)} if any(row.unsafe_steps for row in rows) else {}),
        **_told(telling),
    }


def _told(row: CaseResult) -> dict[str, Json]:
    """Return what the agent told of one trial, if anything: the tools it called, in order, and its plan."""
    if row.agent is None:
        return {}
    tools = [next((str(step[key]) for key in _TOOL if step.get(key)), "") for step in row.agent.steps]
    plan = row.agent.metadata.get("autonomous")
    trajectory: dict[str, Json] = {"trajectory": [name for name in tools if name]} if tools else {}
    return trajectory | ({"autonomous": plan} if isinstance(plan, dict) else {})


def _feedback(rows: list[CaseResult]) -> dict[str, Json]:
    """Return the mean of each score over a case's trials, and how often the statement matched, ran and was let through.

    NucleusIQ's own names are those of its metrics, without the family's name, and stand where they were computed.
    """
    scored = [row for row in rows if row.verdict not in UNSCORABLE]
    ran = (Verdict.MATCH, Verdict.MISMATCH, Verdict.UNDECIDED)
    feedback: dict[str, Json] = {
        "matched": _mean([row.verdict is Verdict.MATCH for row in scored]),
        "ran": _mean([row.verdict in ran for row in scored]),
        "let_through": _mean([row.guard.allowed for row in rows if row.guard is not None]),
    }
    for name in sorted({name for row in rows for name in row.scores}):
        values = [value for row in rows if (value := figures.score(row, name)) is not None]
        feedback[name] = _mean(values)
        if name.startswith(_NUCLEUSIQ):
            feedback[name.removeprefix(_NUCLEUSIQ)] = feedback[name]
    return feedback


def _mean(values: list[bool] | list[float]) -> float | None:
    """Return the mean, None over nothing."""
    return sum(values) / len(values) if values else None
