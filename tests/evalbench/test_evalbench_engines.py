"""One run an engine: what each is told, what becomes of the tables when one of them breaks, and the last line."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sqlassay.cases.errors import InfrastructureError, InputError, SandboxStartError
from sqlassay.cases.pack import Pack
from sqlassay.cases.verdicts import ExitCode
from sqlassay.harness.cli.evalbench_run import Plan, plans, run_all
from sqlassay.harness.evalbench.config import EvalBenchRun
from sqlassay.harness.results.run_result import Manifest, RunResult
from sqlassay.harness.run.book import Watch
from sqlassay.harness.run.options import RunConfig, options_from

ITEM = {"nl_prompt": "?", "query_type": "dql", "database": "a", "generated_sql": "SELECT 1"}
ITEMS = [
    {**ITEM, "id": "both", "dialects": ["sqlite", "postgres"], "golden_sql": ["SELECT 1"]},
    {**ITEM, "id": "lite", "dialects": ["sqlite"], "golden_sql": ["SELECT 1"]},
]
CONFIG = {
    "dataset_config": "prompts.json",
    "database_configs": ["sqlite.yaml", "postgres.yaml"],
    "model_config": "noop.yaml",
    "scorers": {
        "set_match": None,
        "regexp_matcher": {"regexp_string_list": ["a"], "invert_results": True},
        "llmrater": None,
    },
    "reporting": {"csv": {"output_directory": "tables"}},
    "num_trials": 2,
}


@pytest.fixture(autouse=True)
def _data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lay out a data set for two engines."""
    monkeypatch.chdir(tmp_path)
    Path("files").mkdir()
    with closing(sqlite3.connect("files/a.db")) as made, made:
        made.execute("CREATE TABLE t (n INTEGER)")
    Path("prompts.json").write_text(json.dumps(ITEMS), encoding="utf-8")
    for name, text in (("sqlite", "{db_type: sqlite, database_path: files}"), ("postgres", "{db_type: postgres}")):
        Path(f"{name}.yaml").write_text(text, encoding="utf-8")
    Path("noop.yaml").write_text("generator: noop\n", encoding="utf-8")
    Path("run.yaml").write_text(json.dumps(CONFIG), encoding="utf-8")


def planned(**options: Any) -> tuple[EvalBenchRun, Pack, tuple[Plan, ...]]:
    """Return what the config describes beside these options of the command line."""
    return plans(Path("run.yaml"), [("command line", options_from(options, file=None, names="--"))])


def result(code: ExitCode, line: str, **fields: Any) -> RunResult:
    """Return a run that ended so."""
    manifest = Manifest.model_construct(sqlassay="0.1.0")
    known = {"results": (), "timings": (), "planned": 0, "folder": "r", "interrupted": False}
    return RunResult.model_construct(manifest=manifest, exit_code=code, verdict_line=line, **{**known, **fields})


class Judge:
    """Ends each run as it was told to, and notes what was asked of it."""

    def __init__(self, *ends: RunResult | Exception) -> None:
        """Keep how the runs end, in their order."""
        self.ends = list(ends)
        self.asked: list[RunConfig] = []

    def __call__(self, pack: Pack, config: RunConfig, watch: Watch) -> RunResult:
        """End one run."""
        self.asked.append(config)
        end = self.ends[len(self.asked) - 1]
        if isinstance(end, Exception):
            raise end
        return end


def tables() -> set[str]:
    """Return the names of the files that were written."""
    return {path.name for path in Path().glob("tables/*/*.csv")}


ALL = {"configs.csv", "evals.csv", "scores.csv", "summary.csv"}
GOOD = result(ExitCode.OK, "PASS: all (exit 0)")
BAD = result(ExitCode.THRESHOLD, "FAIL: one (exit 1)")


def test_each_engine_is_told_of_its_cases_and_place() -> None:
    """Cases without gold for an engine are not asked there; folders are apart where there are several engines."""
    _, _, (lite, post) = planned(out="out")
    assert [(one.config.dialect, one.config.only, one.config.out) for one in (lite, post)] == [
        ("sqlite", (), Path("out/sqlite")),
        ("postgres", ("both",), Path("out/postgres")),
    ]
    assert [one.config.trials for one in (lite, post)] == [2, 2]
    assert dict(lite.config.origins)["trials"] == "run config"
    _, _, (alone,) = planned(out="out", dialect="postgres")
    assert (alone.engine, alone.config.out) == ("postgres", Path("out"))
    _, _, named = planned(only="both,lite")
    assert [one.config.only for one in named] == [("both", "lite"), ("both",)]


def test_metrics_and_options_are_joined() -> None:
    """The config's scorers are found whatever else is asked for; an option of the command line wins."""
    own = ("evalbench.set_match", "evalbench.regexp_matcher", "evalbench.llmrater")
    assert planned()[2][0].config.metrics == own
    option = "evalbench.regexp_matcher.invert_results"
    config = planned(metrics="routing,evalbench.llmrater", metric_option=[f"{option}=false"])[2][0].config
    assert config.metrics == ("routing", "evalbench.llmrater", *own[:2])
    assert dict(config.metric_option) == {"evalbench.regexp_matcher.regexp_string_list": ["a"], option: False}


def test_without_scorers_the_primary_metrics_are_found() -> None:
    """A config without scorers still runs, and its tables have no scores."""
    Path("run.yaml").write_text(json.dumps({**CONFIG, "scorers": None}), encoding="utf-8")
    run, pack, found = planned()
    assert found[0].config.metrics is None
    assert run_all(run, pack, found, Judge(GOOD, GOOD))[0] == 0
    assert tables() == ALL


def test_a_judge_that_is_missing_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    """The scorer's line names the option; with a judge there is none."""
    planned()
    assert (
        capsys.readouterr().err
        == "WARNING: run.yaml: scorer 'llmrater' has no judge (--judge): its scores stay empty\n"
    )
    planned(judge="replay:x.jsonl")
    assert capsys.readouterr().err == ""


def test_the_worst_exit_code_is_given_and_the_last_line_names_each_engine() -> None:
    """Tables are written after the last engine."""
    code, line = run_all(*planned(), Judge(GOOD, BAD))
    assert (code, line) == (1, "sqlite PASS: all; postgres FAIL: one (exit 1)")
    assert tables() == ALL


def test_one_engine_needs_no_line_of_its_own() -> None:
    """The run's own verdict line is the last one."""
    assert run_all(*planned(dialect="sqlite"), Judge(BAD)) == (1, "")


def test_an_engine_that_cannot_start_leaves_the_tables_of_the_others() -> None:
    """What is finished is reported before the fault ends the command; nothing is reported of nothing."""
    with pytest.raises(SandboxStartError, match="no engine"):
        run_all(*planned(), Judge(GOOD, SandboxStartError("no engine")))
    assert tables() == ALL


def test_nothing_is_written_where_nothing_ran() -> None:
    """A run that is refused leaves no tables."""
    with pytest.raises(InputError):
        run_all(*planned(), Judge(InputError("no", remedy="yes")))
    assert tables() == set()


def test_an_interrupted_run_is_the_last_one() -> None:
    """Ctrl-C ends the whole, not one engine; the tables hold what is finished."""
    judge = Judge(result(ExitCode.INTERRUPTED, "INTERRUPTED: 1 of 2 (exit 130)", interrupted=True), GOOD)
    assert run_all(*planned(), judge) == (130, "")
    assert len(judge.asked) == 1
    assert tables() == ALL


def test_tables_that_cannot_be_written_are_told_of_at_the_end() -> None:
    """The runs stand; the last line and the exit code say what is missing."""
    Path("tables").write_text("a file")
    code, line = run_all(*planned(), Judge(GOOD, BAD))
    assert code == 3
    assert line.startswith("NOT WHOLE: tables/")
    assert line.endswith("the run folder has every result (exit 3)")


def test_bigquery_is_told_of_after_the_files(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A server that refuses costs the exit code, not the files."""
    from sqlassay.harness.evalbench import bigquery

    def refuse(*_: object) -> str:
        """Refuse the tables."""
        raise InfrastructureError("refused", remedy="ask")

    reporting = {**CONFIG["reporting"], "bigquery": {"gcp_project_id": "p"}}  # type: ignore[dict-item]
    Path("run.yaml").write_text(json.dumps({**CONFIG, "reporting": reporting}), encoding="utf-8")
    monkeypatch.setattr(bigquery, "check_installed", lambda _: None)
    monkeypatch.setattr(bigquery, "store", lambda *_: "p.evalbench")
    assert run_all(*planned(), Judge(GOOD, GOOD))[0] == 0
    assert "EvalBench tables: BigQuery p.evalbench" in capsys.readouterr().err
    monkeypatch.setattr(bigquery, "store", refuse)
    code, line = run_all(*planned(), Judge(GOOD, GOOD))
    assert (code, line) == (3, "NOT WHOLE: refused. ask (exit 3)")
    assert tables() == ALL
