"""The handed data on real engines: gold as prediction matches, published predictions agree with the oracle."""

from __future__ import annotations

import pytest
from handed_data import SHARED, build_pack, gold_as_predictions, needs_shared, read_jsonl

pytestmark = needs_shared


@pytest.mark.parametrize(
    "dialect",
    [
        pytest.param("sqlite", marks=pytest.mark.jail),
        pytest.param("postgres", marks=pytest.mark.docker),
        pytest.param("mysql", marks=pytest.mark.docker),
    ],
)
def test_chinook_gold_matches_itself(cli, tmp_path, dialect):
    """48 golds as predictions give 48 matches; both sides are executed, none comes from the gold cache."""
    cases = read_jsonl(SHARED / "cases" / "chinook.jsonl")
    pack = build_pack(tmp_path / "chinook", "chinook", cases)
    predictions = gold_as_predictions(tmp_path / "gold.jsonl", cases, dialect)
    ran = cli("run", str(pack), "--dialect", dialect, "--predictions", str(predictions), "--no-gold-cache")
    assert ran.code == 0, ran.err
    wrong = {case: verdict for case, verdict in ran.verdicts.items() if verdict != "match"}
    assert (wrong, len(ran.verdicts)) == ({}, 48)
    timings = read_jsonl(ran.folder / "timings.jsonl")
    assert all(t["predicted_seconds"] is not None and not t["gold_cached"] for t in timings)


SYSTEMS = ("c3-chatgpt", "codes-7b", "codex-fewshot", "dail-gpt4", "gpt4-zeroshot")


@pytest.mark.jail
@pytest.mark.parametrize("system", SYSTEMS)
def test_published_predictions_agree_with_the_oracle(cli, tmp_path, system):
    """575 published predictions run without an infrastructure error and agree with the oracle for at least 99 %."""
    cases = read_jsonl(SHARED / "cases" / "spider_dev.jsonl")
    pack = build_pack(tmp_path / "spider", "spider", cases)
    predictions = SHARED / "predictions" / "spider_dev" / f"{system}.jsonl"
    ran = cli("run", str(pack), "--predictions", str(predictions), "--policy", "oracle_spider", "--store-rows", "none")
    assert ran.code in (0, 3), ran.err
    oracle = {o["case_id"]: o["verdict"] for o in read_jsonl(SHARED / "oracle" / "spider_dev" / f"{system}.jsonl")}
    verdicts = ran.verdicts
    assert "infrastructure" not in verdicts.values()
    assert len(verdicts) == 575
    agreeing = sum((verdicts[case] == "match") == (verdict == "match") for case, verdict in oracle.items())
    assert agreeing >= 0.99 * len(oracle)
