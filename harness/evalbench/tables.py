"""The four tables EvalBench reports a run in: configs, evals, scores and summary, with its columns in its order."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations
from typing import Any

from sqlassay.harness.evalbench.config import EvalBenchRun
from sqlassay.harness.evalbench.scorers import CONSISTENCY, Scorer
from sqlassay.harness.evalbench.watching import Seen
from sqlassay.harness.metrics.consistency import RESULT
from sqlassay.harness.results.case_result import CaseResult
from sqlassay.harness.results.run_result import RunResult

CONFIGS = ("job_id", "run_time", "config", "value")
EVALS = (
    *("cleanup_sql", "database", "dialects", "eval_query", "eval_results", "generated_error", "generated_prompt"),
    *("generated_result", "generated_sql", "golden_error", "golden_eval_results", "golden_result", "golden_sql", "id"),
    *("job_id", "nl_prompt", "other", "payload", "prompt", "prompt_generator_error", "prompt_id", "query_type"),
    *("run_time", "sanitized_sql", "setup_sql", "sql_generator_error", "sql_generator_time", "tags", "trace_id"),
    "trial_index",
)
SCORES = (
    *("comparator", "comparison_error", "comparison_logs", "database", "dialects", "generated_error"),
    *("generated_sql", "id", "job_id", "score"),
)
OF_TRIALS = ("logs", "prompt_id", "trial1_id", "trial2_id")
"""Further columns of scores where trials are compared."""

SUMMARY = ("metric_name", "metric_score", "correct_results_count", "total_results_count", "job_id", "run_time")
_FULL = 100
_HIDDEN = re.compile(r"pass|secret|token|user|host|connection|credential|api_?key|login|account", re.IGNORECASE)

Cell = str | int | float | list[str] | None


@dataclass(frozen=True, slots=True)
class Table:
    """One table: a text, a number, a list of texts or nothing in each cell."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True, slots=True)
class Part:
    """What ran on one engine: its results, and what was seen of them."""

    engine: str
    result: RunResult
    seen: Mapping[tuple[str, int], Seen]


@dataclass(frozen=True, slots=True)
class Job:
    """A run config's whole run: an id of its own and when it began."""

    id: str
    began: datetime

    @property
    def time(self) -> str:
        """Return when it began, as EvalBench writes it."""
        return f"{self.began:%Y-%m-%d %H:%M:%S.%f}"


def tables(run: EvalBenchRun, job: Job, parts: Sequence[Part]) -> tuple[Table, Table, Table, Table]:
    """Return the four tables of a run, in the order EvalBench stores them."""
    of_trials = any(scorer.metric == CONSISTENCY for scorer in run.scorers) and any(
        result.trial for part in parts for result in part.result.results
    )
    columns = (*SCORES, *OF_TRIALS) if of_trials else SCORES
    scores = [row for part in parts for row in _scores(part, run.scorers, job)]
    if of_trials:
        scores += [row for part in parts for row in _trials(part, run.scorers)]
    return (
        Table("configs", CONFIGS, tuple(_configs(run, job, parts))),
        Table("evals", EVALS, tuple(_in_order(row, EVALS) for part in parts for row in _evals(run, part, job))),
        Table("scores", columns, tuple(_in_order(row, columns) for row in scores)),
        Table("summary", SUMMARY, tuple(_summary(run.scorers, job, parts))),
    )


def _in_order(row: Mapping[str, Cell], columns: Sequence[str]) -> tuple[Cell, ...]:
    """Return a row's cells in the order of the columns."""
    return tuple(row.get(column) for column in columns)


def _configs(run: EvalBenchRun, job: Job, parts: Sequence[Part]) -> Iterator[tuple[Cell, ...]]:
    """Yield each setting under its dotted name; what says how to reach a server is never shown."""
    described: dict[str, list[dict[str, Any]]] = {}
    for engine, value in run.databases:
        described.setdefault(engine, []).append(value)
    value = {
        "experiment_config": {**run.value, "orchestrator": "oneshot"},
        "model_config": run.model.value if run.model is not None else {},
        "db_configs": described,
        "sqlassay": {
            "version": parts[0].result.manifest.sqlassay if parts else None,
            "runs": [part.result.folder for part in parts],
        },
    }
    for name, leaf in _leaves(_without_logins(value), ""):
        yield job.id, job.time, name, leaf


def _leaves(value: Any, name: str) -> Iterator[tuple[str, str | None]]:
    """Yield every value that is no mapping with its dotted name; a list is one value."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, f"{name}.{key}" if name else str(key))
    else:
        yield name, None if value is None else str(value)


def _without_logins(value: Any) -> Any:
    """Return a value with hosts, users, passwords and keys in it replaced."""
    if isinstance(value, dict):
        hidden = {key for key, item in value.items() if _HIDDEN.search(str(key)) and isinstance(item, str | int)}
        return {key: "***" if key in hidden else _without_logins(item) for key, item in value.items()}
    return [_without_logins(item) for item in value] if isinstance(value, list) else value


def _evals(run: EvalBenchRun, part: Part, job: Job) -> Iterator[dict[str, Cell]]:
    """Yield one row a result: what was asked, what was answered, and what both statements gave."""
    seconds = {(one.case_id, one.trial): one.agent_seconds for one in part.result.timings}
    for result in part.result.results:
        seen = part.seen.get(result.key)
        case = seen.case if seen is not None else None
        sql, took = result.predicted_sql, seconds.get(result.key)
        asked = f"{result.question}{(case.evidence if case is not None else None) or ''}"
        written = {
            field: str(list(getattr(case, field).get(part.engine, ()))) if case is not None else None
            for field in ("cleanup_sql", "eval_query", "setup_sql")
        }
        yield {
            **written,
            "golden_sql": str(list(case.gold.get(part.engine, ()))) if case is not None else result.gold_sql,
            "query_type": case.query_type if case is not None else None,
            "database": case.snapshot if case is not None else result.snapshot,
            "dialects": str([part.engine]),
            "eval_results": seen.eval_results if seen is not None else None,
            "generated_error": seen.generated_error if seen is not None else None,
            "generated_prompt": asked,
            "generated_result": seen.generated_result if seen is not None else None,
            "generated_sql": sql,
            "golden_error": seen.golden_error if seen is not None else None,
            "golden_eval_results": seen.golden_eval_results if seen is not None else None,
            "golden_result": seen.golden_result if seen is not None else None,
            "id": _trial_id(result),
            "job_id": job.id,
            "nl_prompt": asked,
            "other": run.others.get(result.case_id, "{}"),
            "prompt": asked,
            "prompt_id": result.case_id,
            "run_time": job.time,
            "sanitized_sql": sql,
            "sql_generator_error": seen.generator_error if seen is not None else None,
            "sql_generator_time": None if took is None else str(took),
            "tags": str(list(result.tags or ([result.difficulty] if result.difficulty else []))),
            "trial_index": str(result.trial),
        }


def _trial_id(result: CaseResult) -> str:
    """Return a result's name in the tables."""
    return f"{result.case_id}_trial_{result.trial}"


def _scores(part: Part, scorers: Sequence[Scorer], job: Job) -> Iterator[dict[str, Cell]]:
    """Yield each scorer's word on each result; a score that is not available is empty and says why."""
    for result in part.result.results:
        seen = part.seen.get(result.key)
        for scorer in scorers:
            score = result.scores.get(scorer.metric)
            if score is None or scorer.metric == CONSISTENCY:
                continue
            there = score.value is not None
            yield {
                "comparator": scorer.name,
                "comparison_error": None if there else score.reason,
                "comparison_logs": score.reason if there else None,
                "database": seen.case.snapshot if seen is not None else result.snapshot,
                "dialects": [part.engine],
                "generated_error": seen.generated_error if seen is not None else None,
                "generated_sql": result.predicted_sql,
                "id": _trial_id(result),
                "job_id": job.id,
                "score": score.value,
            }


def _trials(part: Part, scorers: Sequence[Scorer]) -> Iterator[dict[str, Cell]]:
    """Yield each pair of trials of a case: 100 where they gave the same result, 0 where not."""
    by_case: dict[str, list[CaseResult]] = {}
    for result in part.result.results:
        by_case.setdefault(result.case_id, []).append(result)
    for scorer in scorers:
        for case_id, trials in by_case.items() if scorer.metric == CONSISTENCY else ():
            for one, other in combinations(trials, 2):
                same = _agree(one, other)
                yield {
                    "comparator": scorer.name,
                    "score": None if same is None else 100.0 * same,
                    "logs": _why(part, one, other, same=same),
                    "prompt_id": case_id,
                    "trial1_id": _trial_id(one),
                    "trial2_id": _trial_id(other),
                }


def _agree(one: CaseResult, other: CaseResult) -> bool | None:
    """Return whether two trials gave the same result, None where one of them is not known."""
    scores = [result.scores.get(CONSISTENCY) for result in (one, other)]
    marks = [score.details.get(RESULT) if score is not None else None for score in scores]
    return None if None in marks else marks[0] == marks[1]


def _why(part: Part, one: CaseResult, other: CaseResult, *, same: bool | None) -> str:
    """Say why two trials agree or not where an error has a part in it."""
    seen = [part.seen.get(result.key) for result in (one, other)]
    errors = [(each.generated_error or each.generator_error) if each is not None else None for each in seen]
    if same is None:
        return "a trial gave no result through no fault of its own"
    if same:
        return f"Both trials failed with the same error: {errors[0].removeprefix('error: ')}" if errors[0] else ""
    return f"Inconsistent errors. Trial 1: {errors[0]}, Trial 2: {errors[1]}" if any(errors) else ""


def _summary(scorers: Sequence[Scorer], job: Job, parts: Sequence[Part]) -> Iterator[tuple[Cell, ...]]:
    """Yield how many results each scorer gives full marks of those it has a score for, then how many ran."""
    results = [(part, result) for part in parts for result in part.result.results]
    for scorer in scorers:
        lowest: dict[tuple[str, str], float] = {}
        for part, result in results:
            score = result.scores.get(scorer.metric)
            if score is not None and score.value is not None:
                name = result.case_id if scorer.metric == CONSISTENCY else _trial_id(result)
                lowest[part.engine, name] = min(score.value, lowest.get((part.engine, name), _FULL))
        full = sum(value == _FULL for value in lowest.values())
        yield scorer.name, _FULL, full, len(lowest), job.id, job.time
    ran = sum(_ran(part, result) for part, result in results)
    yield "executable", 1, ran, sum(part.result.planned for part in parts), job.id, job.time


def _ran(part: Part, result: CaseResult) -> bool:
    """Return whether a statement came and no error was noted of it."""
    seen = part.seen.get(result.key)
    return bool((result.predicted_sql or "").strip()) and seen is not None and seen.generated_error is None
