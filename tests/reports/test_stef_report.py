"""A run that measured STEF writes the paper's figures; another writes nothing."""

from __future__ import annotations

import json
from pathlib import Path

from report_runs import manifest, result, run, score

from sqlassay.cases.verdicts import Verdict
from sqlassay.harness.reports.stef_file import NAME, write
from sqlassay.harness.results.case_result import AgentRecord


def test_a_run_has_mean_p90_coverage_and_parts(tmp_path: Path) -> None:
    """What has no score lowers the coverage; agent and version are what the agent tells, else the run's name for it."""
    told = AgentRecord(metadata={"agent": "A", "version": 2})
    details = {"tier": "Excellent", "reliability": "high", "filter_status": "fully_applied", "limit": "flagged"}
    results = (
        result("a", scores={"stef": score(100.0, **details, faithful_enrichment=0.0)}, agent=told, scenario="x"),
        result("b", scores={"stef": score(0.0, tier="Poor")}, scenario=None, difficulty="hard"),
        result("c", Verdict.INFRASTRUCTURE, scores={"stef": score(None)}),
        result("d", scores={}),
    )
    (path,) = write(
        run(*results, manifest=manifest(metrics=("stef",), agent="file:/home/someone/secret-folder/runner")), tmp_path
    )
    found = json.loads(path.read_text(encoding="utf-8"))
    assert (path.name, found["mean"], found["p90"], found["coverage"]) == (NAME, 50.0, 100.0, 0.5)
    assert (found["tiers"]["Poor"], found["flagged_limits"], found["drifted"]) == (1, 1, 1)
    assert (found["by"]["agent"]["A"]["mean"], found["by"]["agent"]["file:runner"]["submitted"]) == (100.0, 3)
    assert list(found["by"]["version"]) == ["2"]
    assert (found["by"]["category"]["x"]["p90"], found["by"]["category"]["hard"]["p90"]) == (100.0, 0.0)


def test_a_run_without_the_metric_has_no_file(tmp_path: Path) -> None:
    """Nothing is written."""
    assert write(run(result("a")), tmp_path) == ()
    assert list(tmp_path.iterdir()) == []
