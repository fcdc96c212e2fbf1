"""Whole runs at every isolation level: the same bytes for any number of jobs, and every report says the level."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

DEMO_EXECUTED = 10
"""Predictions of the demo that reach a server: one is blocked."""
SQLITE = pytest.param("sqlite", marks=pytest.mark.jail)
POSTGRES = pytest.param("postgres", marks=pytest.mark.docker)
SLOW_AGENT = """
import time
ANSWERS = %r
def answer(request):
    time.sleep(0.3)
    return ANSWERS[request.case_id]
"""


def results(folder: Path) -> bytes:
    return (folder / "results.jsonl").read_bytes()


@pytest.mark.parametrize("dialect", [SQLITE, POSTGRES])
def test_results_are_the_same_bytes_for_any_jobs_and_level(dialect, cli):
    """Jobs 1 and 3 at every level write one results.jsonl; the manifest names the level of gold and predictions."""
    first = None
    for number, (jobs, level) in enumerate(
        (("1", "run"), ("3", "run"), ("1", "case"), ("3", "case"), ("2", "statement"))
    ):
        options = ("--dialect", dialect, "--jobs", jobs, "--isolation", level)
        ran = cli("run", "demo", *options, "--no-gold-cache", name=f"run{number}")
        assert ran.code == 0, ran.out + ran.err
        first = first or results(ran.folder)
        assert results(ran.folder) == first, (jobs, level)
        isolation = json.loads((ran.folder / "manifest.json").read_text())["isolation"]
        assert (isolation["level"], isolation["gold_level"]) == (level, level)
        assert f"isolation: level {level}, gold and predictions on servers of their own" in ran.out
        pool = ran.summary["sandboxes"]
        assert pool["handouts"] == DEMO_EXECUTED
        assert pool["replaced"] == 0
        assert None not in (pool["median"], pool["p95"], pool["longest"])
        if level == "run":
            assert pool["started"] <= int(jobs)
        else:
            assert pool["fresh"] == DEMO_EXECUTED


@pytest.mark.jail
def test_a_case_may_be_kept_apart_further_than_its_run(cli, tmp_path):
    """One case of two asks for a server of its own; the manifest counts it, and no case can ask for less."""
    ran = cli("init", "pack")
    cases = tmp_path / "pack" / "cases.jsonl"
    lines = [json.loads(line) for line in cases.read_text(encoding="utf-8").splitlines()]
    lines[0]["isolation"], lines[1]["isolation"] = "statement", "run"
    cases.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    ran = cli("run", "pack", "--isolation", "case", "--no-gold-cache")
    isolation = json.loads((ran.folder / "manifest.json").read_text())["isolation"]
    assert isolation["stricter"] == {"statement": 1}
    assert ran.summary["sandboxes"]["fresh"] == len(lines)


@pytest.mark.jail
def test_a_level_that_does_not_exist_is_refused(cli):
    """The message names the three there are."""
    ran = cli("run", "demo", "--isolation", "none")
    assert ran.code == 2
    assert "--isolation" in ran.err
    assert "'run', 'case' or 'statement'" in ran.err


@pytest.mark.jail
def test_asking_overlaps_with_judging(cli, tmp_path):
    """An agent that takes 0.3 s an answer is asked by both workers' askers at once while others are executed."""
    demo = Path(__file__).parents[2] / "cases" / "packs" / "demo" / "predictions.jsonl"
    rows = [json.loads(line) for line in demo.read_text(encoding="utf-8").splitlines()]
    agent = tmp_path / "slow.py"
    agent.write_text(SLOW_AGENT % {row["case_id"]: {"sql": row["sql"], "route": row["route"]} for row in rows})
    slow = cli("run", "demo", "--agent", f"{agent}:answer", "--jobs", "2", name="slow")
    plain = cli("run", "demo", "--jobs", "1", name="plain")
    assert slow.verdicts == plain.verdicts
    timings = [json.loads(line) for line in (slow.folder / "timings.jsonl").read_text().splitlines()]
    assert all(timing["agent_seconds"] >= 0.3 for timing in timings)


@pytest.fixture
def short_folder():
    """Give a folder on a path short enough for a worker's socket, which the suite's own may not be."""
    with tempfile.TemporaryDirectory(prefix="iso-", dir="/tmp") as folder:  # noqa: S108 (made private, and short)
        yield Path(folder)


@pytest.mark.jail
@pytest.mark.parametrize("level", ["run", "case"])
def test_an_interrupted_run_leaves_no_sandbox(level, tmp_path, short_folder):
    """SIGTERM while statements run and servers boot ahead: exit 130, and no worker process is left."""
    predictions = tmp_path / "predictions.jsonl"
    slow = "WITH RECURSIVE n(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM n) SELECT count(*) FROM n"
    lines = [json.dumps({"case_id": f"demo-{n:02}", "sql": slow, "route": "sales_db"}) for n in range(1, 12)]
    predictions.write_text("\n".join(lines) + "\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "sqlassay.harness.cli", "run", "demo", "--predictions", str(predictions),
         "--isolation", level, "--out", str(tmp_path / "run"), "--jobs", "2"],
        cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env={**os.environ, "TMPDIR": str(short_folder)},
    )  # fmt: skip
    folder = short_folder / f"sqlassay-{os.geteuid()}"
    until = time.monotonic() + 60
    while not (tmp_path / "run" / "manifest.json").exists() and time.monotonic() < until:
        time.sleep(0.1)
    time.sleep(1.0)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 130
    assert list(folder.iterdir()) == []
