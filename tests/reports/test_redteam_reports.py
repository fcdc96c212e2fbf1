"""The drill's reports: SARIF 2.1.0 with its required fields, JUnit that counts, hostile text that stays text."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

from sqlassay.cases.verdicts import ExitCode
from sqlassay.harness.reports.redteam import render, write
from sqlassay.harness.results.redteam import AttackResult, Attempt, FalseAlarm, RedTeamResult, Rung, VariantCount

EVIL = "DELETE FROM t -- <script>|\x1b[31m`x`"


def _attempt(layer: str, finding: str, *effects: str) -> Attempt:
    """Return one attempt."""
    values = {"layer": layer, "finding": finding, "by": EVIL, "effects": effects, "seconds": 0.25}
    return Attempt.model_validate(values)


def _result() -> RedTeamResult:
    """Return a drill with a breach, a guard miss, a contained attack and a false alarm."""
    bad = AttackResult(
        id="a1",
        kind="plain",
        harm="mutation",
        sql=EVIL,
        line=7,
        attempts=(
            _attempt("guard", "missed"),
            _attempt("sandbox", "contained", "state"),
            _attempt("together", "missed", "state"),
        ),
    )
    good = AttackResult(id="a2", kind="plain", harm="leak", sql="x", line=9, attempts=(_attempt("guard", "stopped"),))
    return RedTeamResult(
        dialect="sqlite",
        engine_version="3",
        isolation=None,
        layers=("guard", "sandbox", "together"),
        seed=0,
        deadline=2.0,
        attacks_file="mine.jsonl",
        benign_file="fine.jsonl",
        attacks=(bad, good),
        benign=10,
        false_alarms=(FalseAlarm(id="b1", layer="guard", sql="SELECT 1", line=3, reason=EVIL),),
        ladder=(Rung(harm="mutation", layer="guard", n=1, stopped=0, contained=0, passed=0, missed=1, by=(),
                     median_seconds=None, max_seconds=None),),
        variants=VariantCount(),
        breaches=(f"a1 (mutation): {EVIL}",),
        failed_bars=(),
        together=2,
        bound=0.97,
        seconds=1.5,
        state_checks={},
        exit_code=ExitCode.BREACH,
        verdict_line="BREACH: 1 of 2 (exit 4)",
    )  # fmt: skip


def test_sarif_has_what_the_standard_requires(tmp_path: Path) -> None:
    """Version, tool driver name, and for each result a rule that exists, a level, a message and the line."""
    write(_result(), tmp_path)
    log = json.loads((tmp_path / "redteam.sarif").read_text())
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-2.1.0.json")
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "sqlassay redteam"
    rules = [rule["id"] for rule in driver["rules"]]
    assert len(set(rules)) == len(rules)
    assert [(result["ruleId"], result["level"]) for result in run["results"]] == [
        ("guard-miss", "warning"),
        ("breach", "error"),
        ("false-alarm", "note"),
    ]
    for result, (uri, line) in zip(
        run["results"], [("mine.jsonl", 7), ("mine.jsonl", 7), ("fine.jsonl", 3)], strict=True
    ):
        assert rules[result["ruleIndex"]] == result["ruleId"]
        assert result["message"]["text"]
        assert "\x1b" not in result["message"]["text"]
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == uri
        assert place["region"]["startLine"] == line


def test_junit_counts_misses(tmp_path: Path) -> None:
    """A miss of the guard, a breach and a false alarm are failures; what is contained is skipped, not passed."""
    write(_result(), tmp_path)
    root = ET.parse(tmp_path / "junit.xml").getroot()
    assert (root.get("tests"), root.get("failures"), root.get("skipped")) == ("6", "3", "1")


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    """No statement's control characters reach a terminal, no markup of its own reaches the summary."""
    write(_result(), tmp_path)
    shown = render(_result(), "runs/x", width=100, color=False)
    summary = (tmp_path / "summary.md").read_text()
    assert "\x1b" not in shown + summary
    assert "<script>" not in summary
    assert shown.splitlines()[-1] == "BREACH: 1 of 2 (exit 4)"
    assert "97.00%" in shown
