"""Writes stef_summary.json where a run measured STEF: mean, P90, coverage, tiers, and the same by part."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sqlassay.harness.reports.files import base_name, write_json
from sqlassay.harness.results.case_result import CaseResult
from sqlassay.harness.results.run_result import RunResult
from sqlassay.harness.results.stef import Mark, totals

NAME = "stef_summary.json"
_METRIC = "stef"


def write(run: RunResult, folder: Path) -> tuple[Path, ...]:
    """Write stef_summary.json into `folder` and return its path; a run without the metric has none."""
    if _METRIC not in run.manifest.metrics:
        return ()
    figures = totals([_mark(result, base_name(run.manifest.agent)) for result in run.results])
    return (write_json(folder / NAME, figures.model_dump(mode="json")),)


def _mark(result: CaseResult, agent: str) -> Mark:
    """Return what the figures count of one result; its category is the case's scenario, or else its difficulty.

    What the agent tells about itself, `agent` and `version` in its metadata, goes before the run's name for it.
    """
    told = {} if result.agent is None else result.agent.metadata
    place = Mark(
        agent=str(told.get("agent") or agent),
        version=None if told.get("version") is None else str(told["version"]),
        category=result.scenario or result.difficulty,
    )
    score = result.scores.get(_METRIC)
    if score is None:
        return place
    named = {name: value for name, value in score.details.items() if isinstance(value, str)}
    faithful = score.details.get("faithful_enrichment")
    return replace(
        place,
        phi=score.value,
        tier=named.get("tier"),
        reliability=named.get("reliability"),
        filter_status=named.get("filter_status"),
        limit=named.get("limit"),
        faithful=None if faithful is None else faithful == 1.0,
    )
