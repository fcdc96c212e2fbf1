"""The demo pack on every engine: the Skill's own numbers, its five files, and the same bytes every time."""

from __future__ import annotations

import json

import pytest

from sqlassay.harness.metrics.registry import PRIMARY

ENGINES = [
    pytest.param("sqlite", marks=pytest.mark.jail),
    pytest.param("duckdb", marks=pytest.mark.jail),
    pytest.param("postgres", marks=pytest.mark.docker),
    pytest.param("mysql", marks=pytest.mark.docker),
    pytest.param("mariadb", marks=pytest.mark.docker),
]
FILES = {
    "manifest.json",
    "journal.jsonl",
    "results.jsonl",
    "timings.jsonl",
    "summary.json",
    "summary.md",
    "workflow_output.json",
    "routing_eval_output.json",
    "sql_correctness_output.json",
    "dataframe_comparison_output.json",
    "post_evaluation_analysis_report.json",
    "scorecard.json",
    "junit.xml",
    "results.csv",
    "relations",
}


@pytest.mark.parametrize("dialect", ENGINES)
def test_demo_shows_the_published_numbers(cli, dialect):
    """Route 0.909, structural 0.805, execution_score 0.682, disagreement 0.273, one blocked mutation."""
    ran = cli("run", "demo", "--dialect", dialect)
    assert ran.code == 0, ran.err
    means = {name: round(ran.mean(name) or 0, 3) for name in PRIMARY}
    assert means == {
        "routing": 0.909,
        "structural": 0.805,
        "execution_accuracy": 0.636,
        "strict_execution_accuracy": 0.364,
        "execution_score": 0.682,
        "disagreement": 0.273,
    }
    assert {r["case_id"]: r["cause"] for r in ran.results if r["verdict"] == "blocked"} == {"demo-10": "unsafe_block"}
    assert ran.out.rstrip().splitlines()[-1].endswith("(exit 0)")
    assert {path.name for path in ran.folder.iterdir()} >= FILES


@pytest.mark.parametrize("dialect", ENGINES)
def test_two_runs_give_the_same_bytes_for_any_number_of_jobs(cli, dialect):
    """results.jsonl is byte-identical whether one worker or three judge, with gold executed or kept."""
    one = cli("run", "demo", "--dialect", dialect, "--jobs", "1", "--no-gold-cache", name="one")
    three = cli("run", "demo", "--dialect", dialect, "--jobs", "3", name="three")
    assert (one.folder / "results.jsonl").read_bytes() == (three.folder / "results.jsonl").read_bytes()


@pytest.mark.jail
def test_report_files_hold_what_was_measured(cli):
    """The Skill's report has the aggregates with n and the rate with its t; JUnit and the scorecard agree with it."""
    ran = cli("run", "demo")
    report = json.loads((ran.folder / "post_evaluation_analysis_report.json").read_text(encoding="utf-8"))
    text = json.dumps(report)
    assert '"t": 0.1' in text or '"threshold": 0.1' in text or '"disagreement_threshold": 0.1' in text
    junit = (ran.folder / "junit.xml").read_text(encoding="utf-8")
    assert 'tests="11"' in junit
    assert 'failures="4"' in junit
    scorecard = json.loads((ran.folder / "scorecard.json").read_text(encoding="utf-8"))
    assert "7" in json.dumps(scorecard)


@pytest.mark.jail
def test_thresholds_decide_the_exit_code(cli):
    """--fail-under that holds ends with 0, one that does not with 1, and the last line says which."""
    assert cli("run", "demo", "--fail-under", "execution_accuracy=0.6", name="low").code == 0
    failed = cli("run", "demo", "--fail-under", "execution_accuracy=0.7", name="high")
    assert failed.code == 1
    assert "execution_accuracy 0.636, at least 0.7 was asked" in failed.out.splitlines()[-1]
