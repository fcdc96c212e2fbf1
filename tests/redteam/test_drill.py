"""A drill on real sandboxes: no harm behind all layers, every layer holds alone, and an oracle that is not blind."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree as ET

import pytest

import sqlassay.harness.redteam.drill
import sqlassay.harness.redteam.prepare
from sqlassay.cases.verdicts import ExitCode
from sqlassay.dialect_adapters.contract import Adapter, Endpoint, Mode, Pins, Role, Session
from sqlassay.dialect_adapters.registry import adapter as real_adapter
from sqlassay.harness.cli.main import _run
from sqlassay.harness.redteam.bare import BareSession
from sqlassay.harness.redteam.figures import GUARDED
from sqlassay.harness.redteam.targets import attacks_file
from sqlassay.harness.results.redteam import RedTeamResult
from sqlassay.harness.results.verdicts import GuardVerdict

ENGINES = [
    pytest.param("sqlite", marks=pytest.mark.jail),
    pytest.param("duckdb", marks=pytest.mark.jail),
    pytest.param("postgres", marks=pytest.mark.docker),
    pytest.param("mysql", marks=pytest.mark.docker),
    pytest.param("mariadb", marks=pytest.mark.docker),
]

HANDED = Path(__file__).parents[2].parent / "shared" / "data" / "attacks"


@pytest.mark.parametrize("dialect", ENGINES)
def test_a_sample_does_no_harm(dialect: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A seeded sample: nothing gets through, and what is done with every right shows that the oracle sees harm."""
    code = _run(["redteam", "--dialect", dialect, "--sample", "16", "--seed", "5", "--out", str(tmp_path)])
    out, err = capsys.readouterr()
    assert code in (0, 1, 4), err
    found = RedTeamResult.model_validate_json((tmp_path / "redteam.json").read_text())
    assert found.breaches == ()
    assert found.failed_bars == ()
    assert code == 0, out
    assert out.rstrip().splitlines()[-1] == found.verdict_line
    assert [a.id for a in found.attacks if a.harm in GUARDED and a.attempt("guard").finding == "missed"] == []
    assert [a.id for a in found.attacks if (t := a.attempt("role")) and "state" in t.effects] == []
    assert any(
        "state" in attempt.effects for a in found.attacks for attempt in a.attempts if attempt.layer == "sandbox"
    )
    assert found.variants.missed == 0
    assert found.bound is not None
    assert {path.name for path in tmp_path.iterdir()} == {
        "redteam.json",
        "summary.md",
        "redteam.sarif",
        "junit.xml",
        ".sqlassay",
    }


@pytest.mark.parametrize("dialect", ENGINES)
def test_the_guard_alone_holds_on_the_whole_pack(dialect: str, tmp_path: Path) -> None:
    """Every listed attack and every variant of it: no mutation, escape or leak passes, and at most 3 % false alarms."""
    code = _run(["redteam", "--dialect", dialect, "--layers", "guard", "--out", str(tmp_path)])
    assert code in (0, 1, 4)
    found = RedTeamResult.model_validate_json((tmp_path / "redteam.json").read_text())
    assert found.failed_bars == ()
    assert code == 0
    assert len(found.attacks) >= 150
    assert found.variants.tried > 2000
    assert len(found.false_alarms) <= 0.03 * found.benign


@pytest.mark.skipif(not HANDED.is_dir(), reason="the handed attacks are not beside the repository")
@pytest.mark.parametrize("dialect", [one for one in ENGINES if one.values not in (("mariadb",), ("duckdb",))])
def test_attack_files_of_others_run_as_they_are(dialect: str, tmp_path: Path) -> None:
    """The handed files, notes of their author and other dialects' lines included: the guard alone misses nothing."""
    files = ["--attacks", str(HANDED / "attacks.jsonl"), "--benign", str(HANDED / "benign.jsonl")]
    code = _run(["redteam", "--dialect", dialect, "--layers", "guard", *files, "--out", str(tmp_path)])
    found = RedTeamResult.model_validate_json((tmp_path / "redteam.json").read_text())
    assert code == 0, found.verdict_line
    assert len(found.attacks) > 100


@pytest.mark.parametrize("dialect", ENGINES)
def test_the_sandbox_alone_has_no_way_out(dialect: str, tmp_path: Path) -> None:
    """With every right and no guard, no attack on the host's files, gold or port has an effect outside."""
    listed = [json.loads(line) for line in attacks_file(dialect).read_text().splitlines()]
    outward = [line for line in listed if any(word in line["sql"] for word in ("{{tmp}}", "{{gold}}", "{{listener"))]
    assert len(outward) >= 4
    attacks = tmp_path / "outward.jsonl"
    attacks.write_text("".join(json.dumps(line) + "\n" for line in outward))
    arguments = ["--attacks", str(attacks), "--layers", "sandbox", "--out", str(tmp_path / "out")]
    assert _run(["redteam", "--dialect", dialect, *arguments]) == 0
    found = RedTeamResult.model_validate_json((tmp_path / "out" / "redteam.json").read_text())
    met = [attack.attempt("sandbox") for attack in found.attacks]
    assert [attempt.by for attempt in met if attempt.finding == "missed"] == []
    assert len(met) == len(outward)


class Weakened:
    """An adapter whose reader is let in with more rights than a reader has, and without its transaction."""

    def __init__(self, real: Adapter, role: Role) -> None:
        self._real = real
        self._role = role
        self.name = real.name

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def connect(self, endpoint: Endpoint, database: str, role: Role, pins: Pins) -> Session:
        if role is not Role.READER:
            return self._real.connect(endpoint, database, role, pins)
        return BareSession(self._real.connect(endpoint, database, self._role, pins))


@pytest.mark.jail
def test_without_guard_and_role_the_drill_ends_with_4(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two layers taken away: the attack is a breach in the exit code, the last line, SARIF and JUnit."""
    weak = Weakened(real_adapter("sqlite"), Role.OWNER)
    monkeypatch.setattr(sqlassay.harness.redteam.prepare, "find_adapter", lambda name: weak)
    monkeypatch.setattr(sqlassay.harness.redteam.drill, "check", lambda *_, **__: GuardVerdict(True, "allowed"))
    monkeypatch.setattr(sqlassay.harness.redteam.drill, "Mode", SimpleNamespace(READ=Mode.WRITE, WRITE=Mode.WRITE))
    attacks = tmp_path / "mine.jsonl"
    line = {"id": "wipe", "dialect": "sqlite", "class": "plain", "harm": "mutation", "sql": "DELETE FROM orders"}
    attacks.write_text("\n" + json.dumps(line) + "\n")
    out = tmp_path / "out"
    code = _run(["redteam", "--dialect", "sqlite", "--attacks", str(attacks), "--sample", "1", "--out", str(out)])
    shown, err = capsys.readouterr()
    assert code == int(ExitCode.BREACH), err
    last = shown.rstrip().splitlines()[-1]
    found = RedTeamResult.model_validate_json((out / "redteam.json").read_text())
    assert last.startswith("BREACH")
    assert found.attacks[0].attempt("together").effects == ("state", "answer")
    assert found.attacks[0].attempt("sandbox").finding == "contained"
    results = json.loads((out / "redteam.sarif").read_text())["runs"][0]["results"]
    breach = next(result for result in results if result["ruleId"] == "breach")
    assert breach["locations"][0]["physicalLocation"]["region"]["startLine"] == 2
    failures = ET.parse(out / "junit.xml").getroot().findall("testsuite/testcase/failure")
    assert "state, answer" in {failure.get("message") for failure in failures}
