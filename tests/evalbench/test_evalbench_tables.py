"""The tables of a run: rows cut and spelled, errors told by whose they are, cells that no spreadsheet runs."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from sqlassay.cases.case import Case, Prediction
from sqlassay.cases.errors import InfrastructureError
from sqlassay.cases.outcome import Changed, Failure, Outcome, Rows
from sqlassay.cases.policy import Policy
from sqlassay.cases.relation import Column, FarTemporal, Json, Relation
from sqlassay.cases.verdicts import ExitCode, FailureKind, Verdict
from sqlassay.harness.evalbench import csv_files
from sqlassay.harness.evalbench.config import EvalBenchRun, Model
from sqlassay.harness.evalbench.reporting import Reporting
from sqlassay.harness.evalbench.scorers import CONSISTENCY, Scorer
from sqlassay.harness.evalbench.tables import OF_TRIALS, SCORES, Job, Part, Table, tables
from sqlassay.harness.evalbench.watching import Seen, Watcher
from sqlassay.harness.results.case_result import CaseResult, ScoreRecord, Timing
from sqlassay.harness.results.evidence import Evidence, Execution, GoldAnswer
from sqlassay.harness.results.parsed import ParsedQuery
from sqlassay.harness.results.run_result import IsolationRecord, Manifest, RunResult

JOB = Job("job", datetime(2026, 11, 28, 5, 9, 32, 619855))  # noqa: DTZ001 (EvalBench writes no zone)
CASE = Case(
    id="1",
    question="Which?",
    snapshot="shop",
    gold={"sqlite": ("SELECT 1",)},
    evidence=" Know this.",
    difficulty="simple",
)
SET_MATCH = Scorer("set_match", "evalbench.set_match")
TRIALS = Scorer("exact_match_consistency", CONSISTENCY)


def relation(*rows: tuple[Any, ...], names: str = "n") -> Relation:
    """Return rows under one-letter names."""
    return Relation(tuple(map(Column, names)), rows)


def seen(
    predicted: Outcome | None, verdict: Verdict = Verdict.MATCH, *, rows: int = 250, gold: Relation | None = None
) -> Seen:
    """Return what is kept of a result."""
    evidence = Evidence(
        case=CASE,
        dialect="sqlite",
        prediction=Prediction(case_id="1", sql="SELECT 1"),
        verdict=verdict,
        reason="so it is",
        policy=Policy(),
        gold_sql="SELECT 1",
        executions=(Execution("shop", None, predicted),) if predicted is not None else (),
    )
    broken = GoldAnswer("SELECT 0", ParsedQuery("SELECT 1", "sqlite", "sqlglot"), None, failure="no")
    answer = GoldAnswer(
        "SELECT 1", ParsedQuery("SELECT 1", "sqlite", "sqlglot"), gold if gold is not None else relation((1,))
    )
    watcher = Watcher(rows)
    watcher(evidence, (broken, answer), result(verdict=verdict))
    return watcher.seen["1", 0]


def result(
    trial: int = 0, verdict: Verdict = Verdict.MATCH, sql: str | None = "SELECT 1", **scores: ScoreRecord
) -> CaseResult:
    """Return a result's record; scores by the last part of their metric's name."""
    return CaseResult(
        case_id="1",
        trial=trial,
        dialect="sqlite",
        question="Which?",
        snapshot="shop",
        difficulty="simple",
        predicted_sql=sql,
        verdict=verdict,
        reason="so it is",
        scores={f"evalbench.{name}": score for name, score in scores.items()},
    )


def score(value: float | None, mark: str | None = None) -> ScoreRecord:
    """Return a score."""
    return ScoreRecord(value=value, reason="why", details={} if mark is None else {"result": mark})


def part(*results: CaseResult, engine: str = "sqlite", **of: Seen) -> Part:
    """Return what ran on an engine; what was seen is named by trial, as t0."""
    manifest = Manifest.model_construct(
        sqlassay="0.1.0", isolation=IsolationRecord(provider="p", method="m", network="none")
    )
    run = RunResult.model_construct(
        manifest=manifest,
        results=results,
        timings=tuple(Timing(case_id="1", trial=one.trial, agent_seconds=0.5) for one in results),
        planned=len(results),
        exit_code=ExitCode.OK,
        folder="r1",
    )
    return Part(engine, run, {("1", int(name[1:])): one for name, one in of.items()})


def made(*parts: Part, scorers: tuple[Scorer, ...] = (SET_MATCH,), **value: Any) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each table by column."""
    model = Model(Path("model.yaml"), 1, "generator", "noop", {"generator": "noop", "openai_api_key_secret": "abc"})
    databases = (("sqlite", {"db_type": "sqlite", "user_name": "me", "nested": [{"password": 7}]}),)
    run = EvalBenchRun(Path("run.yaml"), value, model, databases, ("sqlite",), scorers, Reporting(), None, None, ())
    return {one.name: [dict(zip(one.columns, row, strict=True)) for row in one.rows] for one in tables(run, JOB, parts)}


@pytest.mark.parametrize(
    ("rows", "cut", "text"),
    [
        ((), 250, "[]"),
        (((1,), (2,)), 2, '[{"n": 1}, {"n": 2}]'),
        (((1,), (2,), (3,)), 2, '[{"n": 1}, {"n": 2}]...and 1 more items truncated'),
        (((1,), (2,)), 0, "[]...and 2 more items truncated"),
        (((Decimal("1.50"),), (date(2026, 1, 2),), (None,)), 9, '[{"n": "1.50"}, {"n": "2026-01-02"}, {"n": null}]'),
        (
            ((FarTemporal("infinity"),), (Json('{"a": [1]}'),), ((1, 2),)),
            9,
            '[{"n": "infinity"}, {"n": {"a": [1]}}, {"n": [1, 2]}]',
        ),
    ],
)
def test_results_are_cut_and_spelled_as_evalbench_does(rows: tuple[Any, ...], cut: int, text: str) -> None:
    """So many rows as JSON, what JSON has no type for as text, and how many are missing."""
    found = seen(Rows(relation(*rows), 0.0), rows=cut, gold=relation(*rows))
    assert (found.generated_result, found.golden_result) == (text, text)


def test_columns_of_one_name_stay_apart() -> None:
    """The second gets a number, past names that are taken."""
    found = seen(Rows(Relation(tuple(map(Column, ("a", "a", "a_1", "a"))), ((1, 2, 3, 4),)), 0.0))
    assert found.generated_result == '[{"a": 1, "a_2": 2, "a_1": 3, "a_3": 4}]'


@pytest.mark.parametrize(
    ("predicted", "verdict", "generated", "golden", "generator"),
    [
        (Rows(relation((1,)), 0.0), Verdict.MISMATCH, None, None, None),
        (Failure(FailureKind.ERROR, "no such table"), Verdict.ERROR, "no such table", None, None),
        (Failure(FailureKind.TIMEOUT, "5 s"), Verdict.TIMEOUT, "timeout: 5 s", None, None),
        (Failure(FailureKind.TOO_MANY_ROWS, "9"), Verdict.TOO_MANY_ROWS, "too_many_rows: 9", None, None),
        (None, Verdict.BLOCKED, "blocked: so it is", None, None),
        (None, Verdict.INFRASTRUCTURE, "infrastructure: so it is", None, None),
        (None, Verdict.NO_PREDICTION, None, None, "so it is"),
        (None, Verdict.GOLD_ERROR, None, "so it is", None),
        (None, Verdict.OUT_OF_SCOPE, None, None, None),
    ],
)
def test_an_error_is_told_by_whose_it_is(
    predicted: Outcome | None, verdict: Verdict, generated: str | None, golden: str | None, generator: str | None
) -> None:
    """Statement, gold and generator have a column each; what ran has no error."""
    found = seen(predicted, verdict)
    assert (found.generated_error, found.golden_error, found.generator_error) == (generated, golden, generator)


def test_a_change_shows_its_first_eval_query() -> None:
    """Its own result is an empty list; an eval query that failed shows nothing."""
    answers: tuple[Relation | Failure, ...] = (relation((1,)), relation((2,)))
    left = Changed((), (), answers, 0.0)
    assert (seen(left).generated_result, seen(left).eval_results) == ("[]", '[{"n": 1}]')
    assert seen(replace(left, answers=(Failure(FailureKind.ERROR, "x"),))).eval_results is None


def test_a_row_of_evals_has_what_the_question_came_with() -> None:
    """Evidence follows the question, the difficulty stands for tags that are not there, as BIRD's items have it."""
    (row,) = made(part(result(set_match=score(100.0)), t0=seen(Rows(relation((1,)), 0.0))))["evals"]
    assert row["nl_prompt"] == row["prompt"] == row["generated_prompt"] == "Which? Know this."
    assert (row["tags"], row["golden_sql"], row["sql_generator_time"]) == ("['simple']", "['SELECT 1']", "0.5")
    assert (row["id"], row["prompt_id"], row["trial_index"]) == ("1_trial_0", "1", "0")
    assert row["run_time"] == "2026-11-28 05:09:32.619855"


def test_a_result_that_was_not_seen_is_shown_by_its_record() -> None:
    """What an interrupted run finished last is in its journal alone: the tables show what that says."""
    (row,) = made(part(result()))["evals"]
    assert (row["generated_sql"], row["database"], row["golden_result"]) == ("SELECT 1", "shop", None)


def test_a_score_that_is_not_available_is_empty_and_says_why() -> None:
    """It leaves the summary's count too: no result is worth 0 for want of a judge."""
    found = made(part(result(set_match=score(None))))
    (row,) = found["scores"]
    assert (row["score"], row["comparison_error"], row["comparison_logs"]) == (None, "why", None)
    assert [
        (one["metric_name"], one["correct_results_count"], one["total_results_count"]) for one in found["summary"]
    ] == [
        ("set_match", 0, 0),
        ("executable", 0, 1),
    ]


def test_pairs_of_trials_are_rows_of_scores() -> None:
    """Each pair is 100 or 0 with the errors that had a part in it; a trial that was lost agrees with nobody."""
    failed = seen(Failure(FailureKind.ERROR, "bad"), Verdict.ERROR)
    ran = seen(Rows(relation((1,)), 0.0))
    trials = [result(n, consistency=score(50.0, mark)) for n, mark in enumerate(("a", "a", "b", None))]
    found = made(part(*trials, t0=failed, t1=failed, t2=ran, t3=ran), scorers=(SET_MATCH, TRIALS))
    pairs = [(one["trial1_id"][-1] + one["trial2_id"][-1], one["score"], one["logs"]) for one in found["scores"]]
    lost = "a trial gave no result through no fault of its own"
    assert pairs == [
        ("01", 100.0, "Both trials failed with the same error: bad"),
        ("02", 0.0, "Inconsistent errors. Trial 1: bad, Trial 2: None"),
        ("03", None, lost),
        ("12", 0.0, "Inconsistent errors. Trial 1: bad, Trial 2: None"),
        ("13", None, lost),
        ("23", None, lost),
    ]
    assert set(found["scores"][0]) == {*SCORES, *OF_TRIALS}


def test_one_trial_has_no_columns_of_trials() -> None:
    """The columns are EvalBench's for one trial, whatever scorers are named."""
    found = made(part(result(set_match=score(0.0), consistency=score(None, "a"))), scorers=(SET_MATCH, TRIALS))
    assert [set(row) for row in found["scores"]] == [set(SCORES)]


def test_the_summary_counts_every_engine() -> None:
    """Full marks of all results with a score, by engine and trial; what ran is a text without an error."""
    ran = seen(Rows(relation((1,)), 0.0))
    failed = seen(Failure(FailureKind.ERROR, "bad"), Verdict.ERROR)
    one = part(result(0, set_match=score(100.0)), result(1, sql=" ", set_match=score(0.0)), t0=ran, t1=ran)
    other = part(result(0, set_match=score(100.0)), engine="postgres", t0=failed)
    counts = [(row["correct_results_count"], row["total_results_count"]) for row in made(one, other)["summary"]]
    assert counts == [(2, 3), (1, 3)]


def test_configs_show_settings_and_hide_logins() -> None:
    """Every setting stands under its dotted name, a list as one; hosts, users, passwords and keys never do."""
    found = made(part(result()), scorers_={"a": {"b": None}}, dialects=["sqlite"], env={"MY_TOKEN": "t", "X": "y"})
    shown = {row["config"]: row["value"] for row in found["configs"]}
    assert shown["experiment_config.scorers_.a.b"] is None
    assert shown["experiment_config.dialects"] == "['sqlite']"
    assert shown["experiment_config.orchestrator"] == "oneshot"
    assert (shown["experiment_config.env.MY_TOKEN"], shown["experiment_config.env.X"]) == ("***", "y")
    assert shown["model_config.openai_api_key_secret"] == "***"
    assert shown["db_configs.sqlite"] == "[{'db_type': 'sqlite', 'user_name': '***', 'nested': [{'password': '***'}]}]"
    assert shown["sqlassay.runs"] == "['r1']"


def test_no_cell_is_a_formula(tmp_path: Path) -> None:
    """A text that a spreadsheet would run is marked as text, and what a terminal obeys is spelled out."""
    cells = ("=1+1", "+1", "-- no", "@x", " =1", "a\nb", "\x1b[31m", "postgres://me:pw@host/x", ["=a"], 1, -1.5, None)
    table = Table("evals", tuple(f"c{n}" for n in range(len(cells))), (cells,))
    (path,) = csv_files.write((table,), tmp_path / "new" / "job")
    line = path.read_text(encoding="utf-8").split("\n", 1)[1]
    assert line == ("'=1+1,'+1,'-- no,'@x,' =1,\"a\nb\",\\x1b[31m,postgres://***@host/x,['=a'],1,-1.5,\n")


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    """The error names the folder and says that the results are whole elsewhere."""
    (tmp_path / "file").write_text("")
    with pytest.raises(
        InfrastructureError, match=r"EvalBench's tables cannot be written .*; the run folder has every result"
    ):
        csv_files.write((), tmp_path / "file" / "job")
