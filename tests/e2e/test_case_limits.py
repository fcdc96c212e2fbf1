"""A case whose own limits are too tight for its own gold is the pack's fault, never the agent's."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

pytestmark = pytest.mark.jail
_DEMO = Path(__file__).parents[2] / "cases" / "packs" / "demo"
_COUNT = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 300000) SELECT COUNT(*) FROM r"


def test_limits_below_the_gold_are_a_gold_error(cli, tmp_path):
    """Both limits: the reason names limit and need; the same limits above the gold's need judge as ever."""
    pack = shutil.copytree(_DEMO, tmp_path / "pack")
    gold = "SELECT id FROM orders"
    cases = [
        {"id": "rows", "question": "?", "snapshot": "sales", "gold": {"sqlite": gold}, "row_limit": 3},
        {"id": "wide", "question": "?", "snapshot": "sales", "gold": {"sqlite": gold}, "row_limit": 50},
        {"id": "slow", "question": "?", "snapshot": "sales", "gold": {"sqlite": _COUNT}, "timeout": 0.001},
    ]
    (pack / "cases.jsonl").write_text("\n".join(map(json.dumps, cases)) + "\n", encoding="utf-8")
    lines = [{"case_id": case["id"], "sql": case["gold"]["sqlite"]} for case in cases]
    (pack / "predictions.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n", encoding="utf-8")
    ran = cli("run", str(pack))
    assert (ran.code, ran.verdicts) == (3, {"rows": "gold_error", "wide": "match", "slow": "gold_error"})
    reasons = {result["case_id"]: result["reason"] for result in ran.results}
    assert reasons["rows"].startswith("the case's row_limit is 3 and its own gold has ")
    assert reasons["slow"] == "the case's timeout is 0.001 s and its own gold takes longer"
