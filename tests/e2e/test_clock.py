"""A pinned clock: gold and prediction see the same instant on every engine, and timeouts still hold."""

from __future__ import annotations

import json

import pytest

NOW = {
    "sqlite": "SELECT CURRENT_DATE, datetime('now'), CURRENT_TIMESTAMP",
    "postgres": "SELECT CURRENT_DATE, now() AT TIME ZONE 'UTC', CURRENT_TIMESTAMP",
    "mysql": "SELECT CURRENT_DATE, NOW(), CURRENT_TIMESTAMP",
}
ENDLESS = "SELECT COUNT(*) FROM t a, t b, t c, t d WHERE a.a + b.a + c.a + d.a < 0"
ENGINES = [
    pytest.param("sqlite", marks=pytest.mark.jail),
    pytest.param("postgres", marks=pytest.mark.docker),
    pytest.param("mysql", marks=pytest.mark.docker),
]


@pytest.fixture
def clock_pack(tmp_path):
    """Return a pack whose clock stands still at a leap second's eve, with a second case on another day."""
    folder = tmp_path / "pack"
    folder.mkdir()
    rows = ", ".join(f"({n})" for n in range(200))
    (folder / "s.sql").write_text(f"CREATE TABLE t(a INTEGER); INSERT INTO t VALUES {rows};", encoding="utf-8")
    header = {
        "format": 1,
        "name": "clock",
        "clock": "2026-01-05T12:34:56",
        "snapshots": {"s": {"scripts": {dialect: ["s.sql"] for dialect in NOW}}},
        "cases": ["cases.jsonl"],
    }
    (folder / "pack.yaml").write_text(json.dumps(header), encoding="utf-8")
    cases = [
        {"id": "pack-clock", "question": "?", "snapshot": "s", "gold": NOW},
        {"id": "own-clock", "question": "?", "snapshot": "s", "gold": NOW, "clock": "1999-12-31T23:59:59"},
        {"id": "slow", "question": "?", "snapshot": "s", "gold": dict.fromkeys(NOW, "SELECT 1")},
    ]
    (folder / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases), encoding="utf-8")
    predictions = tmp_path / "p.jsonl"
    answers = {
        "pack-clock": "SELECT '2026-01-05', '2026-01-05 12:34:56', CURRENT_TIMESTAMP",
        "own-clock": "SELECT '1999-12-31', '1999-12-31 23:59:59', CURRENT_TIMESTAMP",
        "slow": ENDLESS,
    }
    lines = [json.dumps({"case_id": case, "sql": sql}) + "\n" for case, sql in answers.items()]
    predictions.write_text("".join(lines), encoding="utf-8")
    return str(folder), str(predictions)


@pytest.mark.parametrize("dialect", ENGINES)
def test_pinned_clock(cli, clock_pack, dialect):
    """CURRENT_DATE and its kin say the pack's clock, or the case's own; a statement past its deadline still ends."""
    pack, predictions = clock_pack
    ran = cli("run", pack, "--dialect", dialect, "--predictions", predictions, "--timeout", "2", "--no-gold-cache")
    assert ran.code == 0, ran.err
    reasons = {r["case_id"]: r["reason"] for r in ran.results}
    assert ran.verdicts == {"pack-clock": "match", "own-clock": "match", "slow": "timeout"}, reasons


@pytest.mark.parametrize("dialect", ENGINES)
def test_without_a_clock_gold_and_prediction_see_one_day(cli, tmp_path, dialect):
    """Gold and prediction run seconds apart; what reads the clock still agrees, and two runs give the same bytes."""
    folder = tmp_path / "pack"
    folder.mkdir()
    (folder / "s.sql").write_text("CREATE TABLE t(a INTEGER); INSERT INTO t VALUES (1);", encoding="utf-8")
    header = {
        "format": 1,
        "name": "free",
        "snapshots": {"s": {"scripts": {name: ["s.sql"] for name in NOW}}},
        "cases": [{"id": "now", "question": "?", "snapshot": "s", "gold": {dialect: NOW[dialect]}}],
    }
    (folder / "pack.yaml").write_text(json.dumps(header), encoding="utf-8")
    predictions = tmp_path / "p.jsonl"
    predictions.write_text(json.dumps({"case_id": "now", "sql": NOW[dialect]}) + "\n", encoding="utf-8")
    arguments = ("run", str(folder), "--dialect", dialect, "--predictions", str(predictions))
    runs = [cli(*arguments, name=name) for name in ("one", "two")]
    assert [ran.verdicts for ran in runs] == [{"now": "match"}] * 2
    assert len({(ran.folder / "results.jsonl").read_bytes() for ran in runs}) == 1
