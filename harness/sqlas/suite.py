"""`evaluate` and `run_suite` with SQLAS's arguments, over this project's sandboxes, metrics and judges."""

from __future__ import annotations

import inspect
import math
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from pydantic import ValidationError

from sqlassay.cases.case import Case, Prediction
from sqlassay.cases.errors import InputError
from sqlassay.cases.pack import Pack
from sqlassay.harness.agents.masking import masked
from sqlassay.harness.given import answered
from sqlassay.harness.judges.contract import Seated
from sqlassay.harness.judges.function import FunctionJudge
from sqlassay.harness.judges.single import Judge
from sqlassay.harness.metrics.registry import check_options, metrics
from sqlassay.harness.metrics.sqlas_overall import METRICS, V1
from sqlassay.harness.reports.registry import write_all
from sqlassay.harness.results.evidence import MetricSettings
from sqlassay.harness.results.run_result import RunResult
from sqlassay.harness.run.options import options_from, resolve
from sqlassay.harness.run.runner import run
from sqlassay.harness.run.screen import Silent
from sqlassay.harness.sqlas.scores import SQLASScores
from sqlassay.harness.sqlas.source import pack_for, with_cases
from sqlassay.sandboxes.scratch import Scratch

LLMJudge = Callable[[str], str] | str | Sequence[str]
"""A function from prompt to text, or judges as `--judge` spells them (`openai:MODEL`, `replay:FILE`)."""

_LIVE = "statements of an agent never reach a live database: name db_path, or pack and snapshot, for a sandbox"
_KNOWN = "tables and columns are read from the snapshot"
_CHARTS = "charts, steps and caches are none of the twenty metrics"
_FOREIGN = {
    "execute_fn": _LIVE,
    "valid_tables": _KNOWN,
    "valid_columns": _KNOWN,
    **dict.fromkeys(("visualization", "agent_steps", "agent_result", "optimal_steps", "retrieved_tables"), _CHARTS),
    "verbose": "nothing is printed",
}
"""Arguments of SQLAS that have no place here, with why."""

_CHOSEN = ("sqlas.overall", *(f"sqlas.{name}" for name in METRICS))


@dataclass(frozen=True, slots=True)
class TestCase:
    """One question of a suite, with its accepted gold, if any.

    `schema_context` and `hardness` reach the agent's and the report's side as the case's evidence and difficulty.
    """

    __test__: ClassVar[bool] = False

    question: str
    gold_sql: str | None = None
    gold_sqls: Sequence[str] | None = None
    expected_nonempty: bool = True
    category: str = "general"
    hardness: str = ""
    schema_context: str = ""
    pii_columns: Sequence[str] = ()


def evaluate(
    question: str,
    generated_sql: str,
    llm_judge: LLMJudge | None = None,
    gold_sql: str | Sequence[str] | None = None,
    db_path: str | Path | None = None,
    response: str | None = None,
    result_data: Mapping[str, Any] | None = None,
    *,
    expected_nonempty: bool = True,
    pii_columns: Sequence[str] | None = None,
    weights: Mapping[str, float] | None = None,
    schema_context: str = "",
    pack: str | Path | None = None,
    snapshot: str | None = None,
    **options: Any,
) -> SQLASScores:
    """Score one query on SQLAS's twenty metrics in a fresh sandbox; gold, judge and answer are optional.

    The statement is run again here: `result_data`, what the agent says it saw, is only kept beside it. `options` are
    those of `sqlassay run` (`dialect="postgres"` with a pack, `timeout=5`). For many queries use `run_suite`.

    Raises:
        InputError: no database or a live one, weights that do not sum to 1, an unknown option.
        InfrastructureError: the sandbox could not start.
    """
    golds = [gold_sql] if isinstance(gold_sql, str) else gold_sql
    test = TestCase(question, None, golds, expected_nonempty, "", "", schema_context, tuple(pii_columns or ()))
    given = {"sql": generated_sql, "response": response, "data": result_data}
    base, home = pack_for(db_path, pack, snapshot)
    chosen, checked = _weights(weights), _settings([test], weights, options)
    case = _case(test, 1, home, checked["dialect"], base)
    try:
        asked = _prediction(case, given)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = {"sql": "generated_sql", "answer": "response"}.get(str(first["loc"][0]), "result_data")
        raise InputError(first["msg"], field=field, remedy="Give text, and JSON values as data") from None
    found = _run(with_cases(base, [case], [asked]), checked, llm_judge)
    return _shaped(found, chosen)[0]


def run_suite(
    test_cases: Sequence[TestCase],
    agent_fn: Callable[[str], Any] | str,
    llm_judge: LLMJudge | None = None,
    db_path: str | Path | None = None,
    weights: Mapping[str, float] | None = None,
    pass_threshold: float = 0.6,
    *,
    pii_columns: Sequence[str] | None = None,
    schema_context: str = "",
    pack: str | Path | None = None,
    snapshot: str | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Ask an agent every question, score each answer, and return `{"summary": …, "details": [SQLASScores, …]}`.

    `agent_fn` is a function of this process, from question to SQL text or a mapping with `sql` and `response`; or
    `module:function`, which is called with an AgentRequest in a child process that cannot see the gold. `out=FOLDER`
    among the options keeps the run with all its reports.

    Raises:
        InputError: no test case, no database or a live one, weights that do not sum to 1, an unknown option.
        InfrastructureError: the run could not start.
    """
    if not test_cases:
        raise InputError("no test case", field="test_cases", remedy="Give at least one TestCase")
    if not 0 <= pass_threshold <= 1:
        raise InputError("pass_threshold is no number from 0 to 1", field="pass_threshold", remedy="0.6, for one")
    started = time.monotonic()
    base, home = pack_for(db_path, pack, snapshot)
    checked = _settings(test_cases, weights, options, pii_columns)
    cases = [
        _case(test, number, home, checked["dialect"], base, schema_context) for number, test in enumerate(test_cases, 1)
    ]
    asked: list[Prediction] = []
    if isinstance(agent_fn, str):
        checked["agent"] = agent_fn
    else:
        asked = [_asked(agent_fn, case) for case in cases]
    found = _run(with_cases(base, cases, asked), checked, llm_judge)
    details = _shaped(found, _weights(weights))
    summary = _summary(test_cases, details, pass_threshold, time.monotonic() - started)
    return {"summary": summary, "details": details}


def _weights(weights: Mapping[str, float] | None) -> Mapping[str, float]:
    """Return the weights in force."""
    return V1 if weights is None else weights


def _settings(
    tests: Sequence[TestCase],
    weights: Mapping[str, float] | None,
    options: Mapping[str, Any],
    pii_columns: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Return a run's options with SQLAS's own beside them, checked before anything runs.

    Raises:
        InputError: weights that do not sum to 1, a live connection, or options that a suite decides itself.
    """
    foreign = next((name for name in _FOREIGN if name in options), None)
    if foreign is not None:
        raise InputError(_FOREIGN[foreign], field=foreign, remedy="Leave it out")
    own = {"metrics", "profile", "predictions", "agent", "judge", "metric_option", "only", "tags", "format"}
    taken = sorted(own & options.keys())
    if taken:
        raise InputError(f"'{taken[0]}' is decided here", field=taken[0], remedy="Leave it out")
    expected = {f"case-{number:04d}": test.expected_nonempty for number, test in enumerate(tests, 1)}
    named = {
        "sqlas.overall.weights": dict(_weights(weights)),
        "sqlas.empty_result_penalty.expected_nonempty": expected,
        **({"sqlas.safety_score.pii_columns": list(pii_columns)} if pii_columns else {}),
    }
    check_options(metrics(_CHOSEN), MetricSettings(options=tuple(named.items())))
    return {"dialect": "sqlite", "metrics": _CHOSEN, "metric_option": named, **options}


def _case(test: TestCase, number: int, home: str, dialect: str, base: Pack, context: str = "") -> Case:
    """Return one test case in our words.

    Raises:
        InputError: a field that no case can hold.
    """
    golds = [*([test.gold_sql] if test.gold_sql else []), *(test.gold_sqls or ())]
    route = next((name for name, place in base.routes if place == home), None)
    try:
        return Case(
            id=f"case-{number:04d}",
            question=test.question,
            snapshot=home,
            route=route,
            gold={dialect: tuple(dict.fromkeys(golds))} if golds else {},
            evidence=test.schema_context or context or None,
            difficulty=test.hardness or None,
            tags=(test.category,) if test.category else (),
            pii_columns=tuple(test.pii_columns),
        )
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        raise InputError(f"test case {number}: {first['msg']}", field=field, remedy="Correct the test case") from error


def _asked(agent: Callable[[str], Any], case: Case) -> Prediction:
    """Return an agent's answer; whatever goes wrong in it is a prediction without SQL that says so."""
    try:
        return _prediction(case, agent(case.question))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - a stranger's function may raise anything, SystemExit too
        said = masked(f"{type(error).__name__}: {error}")[:1000]
        return Prediction(case_id=case.id, metadata={"agent_error": said})


def _prediction(case: Case, given: Any) -> Prediction:
    """Return what an agent gave for a case.

    Raises:
        TypeError: it is neither text nor a mapping.
    """
    if inspect.isawaitable(given):
        raise TypeError("an async agent is named as module:function")
    if given is None or isinstance(given, str):
        return answered({"case_id": case.id, "sql": given})
    if not isinstance(given, Mapping):
        raise TypeError(f"the agent returned {type(given).__name__}, neither text nor a mapping")
    data = given.get("data")
    return answered(
        {
            "case_id": case.id,
            "sql": given.get("sql") or given.get("generated_sql"),
            "answer": given.get("response") or given.get("answer"),
            "metadata": {"result_data": data} if data else {},
        }
    )


def _run(pack: Pack, options: Mapping[str, Any], llm_judge: LLMJudge | None) -> RunResult:
    """Judge a pack's predictions; without `out` the run's folder goes again."""
    named = None if llm_judge is None or callable(llm_judge) else llm_judge
    judge: Seated | None = None
    if callable(llm_judge):
        label = f"callable:{getattr(llm_judge, '__name__', 'judge')}"
        judge = Judge(FunctionJudge(llm_judge, label))
    with Scratch("sqlas") as folder:
        asked = options_from({"out": folder / "run", **({"judge": named} if named else {}), **options}, file=None)
        config = resolve([("command line", asked)], pack.settings)
        try:
            return run(config, pack, Silent(), write_reports=write_all, seated=judge)
        finally:
            if judge is not None:
                judge.close()


def _shaped(found: RunResult, weights: Mapping[str, float]) -> list[SQLASScores]:
    """Return a run's results in SQLAS's shape, in case order."""
    timings = {timing.case_id: timing for timing in found.timings}
    return [SQLASScores.of(result, timings[result.case_id], weights) for result in found.results]


def _summary(
    tests: Sequence[TestCase], details: Sequence[SQLASScores], threshold: float, seconds: float
) -> dict[str, Any]:
    """Return a suite's means, each over the cases where it has a value, and how many of them there are."""
    overall = [scores.overall_score for scores in details]
    bands = Counter(scores.band(threshold) for scores in details)
    by_name = {name: [getattr(scores, name) for scores in details] for name in METRICS}
    categories = dict.fromkeys(test.category for test in tests)
    judged = [value for value in overall if value is not None]
    return {
        "total_tests": len(details),
        "overall_score": _mean(overall),
        "pass_threshold": threshold,
        "pass_rate": bands["PASS"] / len(judged) if judged else None,
        "bands": dict(bands),
        "verdicts": dict(Counter(scores.verdict for scores in details)),
        "time_seconds": round(seconds, 1),
        **{name: _mean(values) for name, values in by_name.items()},
        "by_category": {
            category: _mean([value for test, value in zip(tests, overall, strict=True) if test.category == category])
            for category in categories
        },
        "measured": {name: sum(value is not None for value in values) for name, values in by_name.items()},
        "unavailable": {
            name: next(scores.unavailable[name] for scores in details if name in scores.unavailable)
            for name, values in by_name.items()
            if any(value is None for value in values)
        },
    }


def _mean(values: Sequence[float | None]) -> float | None:
    """Return the mean of what has a value."""
    present = [value for value in values if value is not None]
    return math.fsum(present) / len(present) if present else None
