"""The handed data on real engines: gold as prediction matches, published predictions agree with the oracle."""

from __future__ import annotations

import os

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


WHOLE = os.environ.get("ORACLE") == "all"
"""Whether every prediction is judged, or of four systems a sample (`make oracle` judges all)."""


def said(result: dict) -> str:
    """Return a result's verdict in the oracle's words: what it compared, or that there was nothing to compare."""
    comparison = result["comparison"]
    if comparison is not None:
        return comparison["rule"]
    return "error" if result["verdict"] in ("error", "blocked") else result["verdict"]


@pytest.mark.jail
@pytest.mark.parametrize("system", SYSTEMS)
def test_published_predictions_agree_with_the_oracle(cli, tmp_path, system):
    """Each verdict of a run of published predictions is the oracle's own: match, order, dup, mismatch or an error."""
    cases = read_jsonl(SHARED / "cases" / "spider_dev.jsonl")
    pack = build_pack(tmp_path / "spider", "spider", cases)
    predictions = SHARED / "predictions" / "spider_dev" / f"{system}.jsonl"
    asked = ["--predictions", str(predictions), "--policy", "oracle_spider", "--store-rows", "none"]
    some = [] if WHOLE or system == "dail-gpt4" else ["--sample", "60", "--seed", "6"]
    ran = cli("run", str(pack), *asked, *some)
    assert ran.code == 0, ran.err
    oracle = {o["case_id"]: o["verdict"] for o in read_jsonl(SHARED / "oracle" / "spider_dev" / f"{system}.jsonl")}
    results = ran.results
    assert len(results) == (60 if some else 575)
    other = {
        result["case_id"]: (said(result), oracle[result["case_id"]], result["reason"])
        for result in results
        if said(result) != oracle[result["case_id"]].partition(":")[0]
    }
    assert other == {}
    print(f"{system}: {len(results)} of {len(results)} verdicts are the oracle's")
