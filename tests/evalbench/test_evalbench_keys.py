"""Every key of EvalBench's run config: what it becomes, what is said of it, and which values are refused."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from rows import rows_of

from sqlassay.cases.case import Case, Prediction
from sqlassay.cases.errors import InputError
from sqlassay.cases.presets import preset
from sqlassay.cases.verdicts import Verdict
from sqlassay.harness.cli.main import _run
from sqlassay.harness.evalbench.config import EvalBenchRun, read_run
from sqlassay.harness.metrics.registry import check_options, metrics
from sqlassay.harness.results.evidence import Evidence, MetricSettings

TABLE = rows_of("evalbench_run")
KNOWN = ("postgres", "sqlite")


@pytest.fixture(autouse=True)
def _data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lay out the files of the table, in an environment without words of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("EVAL_GCP_PROJECT_ID", raising=False)
    Path("files").mkdir()
    with closing(sqlite3.connect("files/a.db")) as made, made:
        made.execute("CREATE TABLE t (n INTEGER)")
    for name, text in TABLE["files"].items():
        Path(name).write_text(text, encoding="utf-8")


def laid(config: dict[str, Any] | str) -> Path:
    """Write a run config: the table's base with these keys laid over it; a key of nothing is removed."""
    path = Path("run.yaml")
    if isinstance(config, str):
        path.write_text(config, encoding="utf-8")
    else:
        found = {
            key: value for key, value in {**TABLE["base"], **config}.items() if key == "scorers" or value is not None
        }
        path.write_text("".join(f"{key}: {json.dumps(value)}\n" for key, value in found.items()), encoding="utf-8")
    return path


def read(config: dict[str, Any] | str, environment: dict[str, str] | None = None) -> EvalBenchRun:
    """Return what a run config becomes."""
    return read_run(laid(config), environment or {}, KNOWN)


@pytest.mark.parametrize("row", TABLE["read"], ids=lambda row: row["says"])
def test_a_key_becomes_a_setting(row: dict[str, Any]) -> None:
    """Settings, scorers with their options, and reports are as the row says, and nothing is complained about."""
    run = read(row["config"], row.get("environment"))
    assert not [note for note in run.notes if "judges are named" not in note]
    for field, value in row.get("run", {}).items():
        if field == "reporting":
            found = asdict(run.reporting)
            assert {**found, "csv": None if found["csv"] is None else str(found["csv"])} == value
        else:
            assert (list(run.engines) if field == "engines" else getattr(run, field)) == value
    if "scorers" in row:
        scorers = [[one.name, one.metric, {k.rpartition(".")[2]: v for k, v in one.options}] for one in run.scorers]
        assert scorers == row["scorers"]
        assert all(name.startswith(f"{one.metric}.") for one in run.scorers for name, _ in one.options)


@pytest.mark.parametrize("row", TABLE["told"], ids=lambda row: row["note"])
def test_a_key_that_is_not_taken_is_told_of(row: dict[str, Any]) -> None:
    """The run goes on, and one line names file, key and why."""
    notes = read(row["config"]).notes
    assert any(row["note"] in note for note in notes), notes


@pytest.mark.parametrize("row", TABLE["refused"], ids=lambda row: row["error"])
def test_a_wrong_value_is_refused(row: dict[str, Any]) -> None:
    """One line names file, line and field, and what to do."""
    with pytest.raises(InputError) as error:
        read(row["config"])
    assert row["error"] in str(error.value)
    assert str(error.value).count("\n") == 0
    assert error.value.file is not None


@pytest.mark.parametrize("row", TABLE["answered"], ids=lambda row: str(row["model"]))
def test_a_model_is_never_asked_from_here(row: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    """Where nobody answers, the line says how to give answers or a callable; nothing runs (exit 2)."""
    path = laid({"model_config": row["model"]})
    assert _run(["run", "--evalbench", str(path), "--engine", "none"]) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith(f"INPUT: {row['error']}")
    assert said.endswith("(exit 2)")
    assert not Path("runs").exists()


def test_answers_of_the_data_set_or_of_a_file_are_enough(capsys: pytest.CaptureFixture[str]) -> None:
    """`noop` takes generated_sql of the items; a file or a callable replaces any model, which is said."""
    item = json.loads(TABLE["files"]["prompts.json"])[0]
    Path("prompts.json").write_text(json.dumps([{**item, "generated_sql": "SELECT 1"}]), encoding="utf-8")
    dry = ["run", "--evalbench", str(laid({})), "--engine", "none", "--dry-run"]
    assert _run(dry) == 0
    said = capsys.readouterr()
    assert "predictions from the pack's own rows" in said.out
    assert said.err == ""
    Path("answers.jsonl").write_text('{"case_id": "1", "sql": "SELECT 2"}\n', encoding="utf-8")
    laid({"model_config": "gemini.yaml", "num_trials": 1, "runners": {"sqlexec_runners": 3}})
    assert _run([*dry, "--predictions", "answers.jsonl"]) == 0
    said = capsys.readouterr()
    assert "predictions from answers.jsonl, 3 jobs" in said.out
    assert "gemini.yaml: generator 'gcp_vertex_gemini' is not asked from here" in said.err


def test_the_command_line_is_stronger_than_the_config(capsys: pytest.CaptureFixture[str]) -> None:
    """Trials, jobs and dialect of the command line win; a dialect nobody has gold for is one line."""
    Path("answers.jsonl").write_text('{"case_id": "1", "sql": "SELECT 2"}\n', encoding="utf-8")
    path = laid({"runners": {"sqlexec_runners": 3}, "database_configs": ["sqlite.yaml", "login.yaml"]})
    dry = ["run", "--evalbench", str(path), "--engine", "none", "--dry-run", "--predictions", "answers.jsonl"]
    assert _run([*dry, "--jobs", "5"]) == 0
    assert "5 jobs" in capsys.readouterr().out
    assert _run([*dry, "--dialect", "postgres"]) == 2
    assert "run.yaml:dialects: no case has gold for postgres" in capsys.readouterr().err
    assert _run([*dry, "--only", "2"]) == 2
    assert "no such case: 2" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ["demo", "--evalbench", "run.yaml"],
            "--evalbench names the data set, so neither PACK nor --format goes with it",
        ),
        (["--evalbench", "run.yaml", "--format", "bird"], "neither PACK nor --format"),
        ([], "Missing argument 'PACK'"),
        (["--evalbench", "gone.yaml"], "gone.yaml"),
    ],
)
def test_a_pack_or_a_run_config(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One of the two names what is run; both, none and a config that is not there are usage errors."""
    assert _run(["run", *arguments]) == 2
    assert says in capsys.readouterr().err


def test_bigquery_without_its_client_is_refused_before_anything_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line says which extra to install."""
    from sqlassay.harness.evalbench import bigquery

    monkeypatch.setattr(bigquery, "find_spec", lambda _name: None)
    path = laid({"reporting": {"bigquery": {"gcp_project_id": "p"}}})
    assert _run(["run", "--evalbench", str(path), "--engine", "none"]) == 2
    assert (
        "BigQuery's client is not installed. Install it by `python -m pip install -e '.[bigquery]'` in the checkout"
        in capsys.readouterr().err
    )


def test_a_metric_once_more_has_its_own_options() -> None:
    """`NAME@LABEL` computes with the options of its label, and refuses them as the metric does."""
    first, second = metrics(["evalbench.regexp_matcher", "evalbench.regexp_matcher@b"])
    settings = MetricSettings(
        options=(
            ("evalbench.regexp_matcher.regexp_string_list", ["SELECT"]),
            ("evalbench.regexp_matcher@b.regexp_string_list", ["DROP"]),
        )
    )
    check_options([first, second], settings)
    evidence = Evidence(
        case=Case(id="a", question="", snapshot="s"),
        dialect="sqlite",
        policy=preset("skill"),
        prediction=Prediction(case_id="a", sql="SELECT 1"),
        verdict=Verdict.MATCH,
        reason="",
        settings=settings,
    )
    assert (first.compute(evidence, None).value, second.compute(evidence, None).value) == (100.0, 0.0)
    wrong = MetricSettings(options=(("evalbench.regexp_matcher@b.regexp_string_list", ["("]),))
    with pytest.raises(InputError):
        check_options([second], wrong)
    with pytest.raises(InputError, match="unknown metric 'nobody'"):
        metrics(["nobody@b"])
