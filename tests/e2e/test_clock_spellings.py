"""However a statement asks for the time, gold and prediction see one day, and check-cases says that the gold does."""

from __future__ import annotations

import json

import pytest
from rows import rows_of

_SPELLED = rows_of("clock")
_ENGINES = [
    pytest.param("sqlite", marks=pytest.mark.jail),
    pytest.param("postgres", marks=pytest.mark.docker),
    pytest.param("mysql", marks=pytest.mark.docker),
]
_PLAIN = {
    "sqlite": "SELECT date(d, '+1 month'), strftime('%Y', d) FROM t",
    "postgres": "SELECT d + 1, date_trunc('month', d), concat('a', d::text) FROM t",
    "mysql": "SELECT DATE_ADD(d, INTERVAL 1 MONTH), YEAR(d) FROM t",
}
"""Asks about dates, and not what day it is."""


@pytest.fixture
def pack(tmp_path, request):
    """Return a pack whose every gold reads the clock in another spelling, but for one."""
    dialect = request.getfixturevalue("dialect")
    folder = tmp_path / "pack"
    folder.mkdir()
    made = "CREATE TABLE t(a INTEGER, d DATE, at TIME); INSERT INTO t VALUES (1, '2019-05-05', '10:00:00');"
    (folder / "s.sql").write_text(made, encoding="utf-8")
    golds = {f"c{number}": sql for number, sql in enumerate(_SPELLED[dialect])} | {"plain": _PLAIN[dialect]}
    cases = [{"id": name, "question": "?", "snapshot": "s", "gold": {dialect: sql}} for name, sql in golds.items()]
    header = {"format": 1, "name": "s", "snapshots": {"s": {"scripts": {dialect: ["s.sql"]}}}, "cases": cases}
    (folder / "pack.yaml").write_text(json.dumps(header), encoding="utf-8")
    return folder, golds


@pytest.mark.parametrize("dialect", _ENGINES)
def test_every_spelling_sees_the_day_the_run_began_on(cli, tmp_path, pack, dialect):
    """Each gold given as a prediction matches itself, and check-cases flags each but the plain one."""
    folder, golds = pack
    answers = tmp_path / "p.jsonl"
    answers.write_text("".join(json.dumps({"case_id": c, "sql": q}) + "\n" for c, q in golds.items()), "utf-8")
    ran = cli("run", str(folder), "--dialect", dialect, "--predictions", str(answers), "--no-gold-cache")
    wrong = {golds[r["case_id"]]: r["reason"] for r in ran.results if r["verdict"] != "match"}
    assert wrong == {}
    cli("check-cases", str(folder), "--dialects", dialect, "--out", str(tmp_path / "h"))
    found = json.loads((tmp_path / "h" / "health.json").read_text(encoding="utf-8"))["findings"]
    flagged = {one["case_id"] for one in found if one["flag"] == "clock_dependent"}
    assert {golds[name] for name in golds.keys() - flagged} == {_PLAIN[dialect]}
    assert {one["flag"] for one in found} == {"clock_dependent"}
