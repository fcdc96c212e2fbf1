"""With guard, role and read-only server all taken away, the fingerprint alone still ends the run with exit 4."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import sqlassay.harness.evaluate
import sqlassay.harness.run.bench
from sqlassay.dialect_adapters.contract import Adapter, Endpoint, Mode, Pins, Role, Session
from sqlassay.dialect_adapters.registry import adapter as real_adapter
from sqlassay.harness.cli.main import _run
from sqlassay.harness.redteam.bare import BareSession
from sqlassay.harness.results.verdicts import GuardVerdict

ENGINES = [
    pytest.param("sqlite", Role.OWNER, marks=pytest.mark.jail),
    pytest.param("postgres", Role.HARNESS, marks=pytest.mark.docker),
    pytest.param("mysql", Role.HARNESS, marks=pytest.mark.docker),
]
ANSWERS = {
    "count-customers": "SELECT count(*) FROM customers",
    "count-orders": "DELETE FROM orders",
    "total": "SELECT sum(amount) FROM orders",
}


class Weakened:
    """An adapter whose reader is let in with every right and without a transaction around its statement."""

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


@pytest.mark.parametrize(("dialect", "role"), ENGINES)
def test_a_prediction_that_mutates_ends_the_run_with_4(
    dialect: str, role: Role, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The statement that changed the data is named, and the next prediction meets an untouched server."""
    weak = Weakened(real_adapter(dialect), role)
    monkeypatch.setattr(sqlassay.harness.run.bench, "find_adapter", lambda name: weak)
    monkeypatch.setattr(sqlassay.harness.run.bench, "Mode", SimpleNamespace(READ=Mode.WRITE))
    let_by = GuardVerdict(True, "allowed", flags=("flagged by the test",))
    monkeypatch.setattr(sqlassay.harness.evaluate, "check", lambda *_, **__: let_by)
    predictions = tmp_path / "predictions.jsonl"
    lines = [json.dumps({"case_id": case, "sql": sql}) for case, sql in ANSWERS.items()]
    predictions.write_text("\n".join(lines) + "\n")
    arguments = ["run", "redteam", "--dialect", dialect, "--predictions", str(predictions), "--jobs", "1"]
    code = _run([*arguments, "--only", ",".join(ANSWERS), "--out", str(tmp_path / "run")])
    last = capsys.readouterr().out.rstrip().splitlines()[-1]
    assert code == 4
    assert "DELETE FROM orders" in last
    assert "(exit 4)" in last
    results = [json.loads(line) for line in (tmp_path / "run" / "results.jsonl").read_text().splitlines()]
    verdicts = {result["case_id"]: result["verdict"] for result in results}
    assert verdicts["count-customers"] == "match"
    assert verdicts["total"] == "match"
