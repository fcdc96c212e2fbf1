"""scorecard.json shows what an agent told of its way to a statement, and no key of it where it told nothing."""

from __future__ import annotations

import json
from pathlib import Path

from report_runs import result, run

from sqlassay.harness.reports.scorecard import NAME, write
from sqlassay.harness.results.case_result import AgentRecord


def test_a_pattern_shows_trajectory_and_plan(tmp_path: Path) -> None:
    """The tools stand in the order they were called, the plan as the agent tells it."""
    plan = {"sub_tasks": ["a", "b"], "critic_verdicts": [0.92], "refined": False}
    told = AgentRecord(
        steps=({"tool": "sql_schema"}, {"note": "thought"}, {"tool_name": "sql_query"}), metadata={"autonomous": plan}
    )
    write(run(result("a", agent=told), result("b")), tmp_path)
    first, second = json.loads((tmp_path / NAME).read_text(encoding="utf-8"))["patterns"]
    assert first["trajectory"] == ["sql_schema", "sql_query"]
    assert first["autonomous"] == plan
    assert not {"trajectory", "autonomous"} & set(second)
