"""Runs with metrics that need more than two results: further snapshots, the engine's plan, and repeated timings."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from handed_data import SHARED, build_pack, needs_shared, read_jsonl

SUITE = "spider.test_suite_accuracy"
SPEED = ("bird.ves", "bird.r_ves", "sqlas.efficiency_score")
COSTS = ",".join(("execution_accuracy", *SPEED, "sqlas.data_scan_efficiency"))

_PEOPLE = "tables:\n  - name: people\n    columns:\n      - {name: id, kind: int, nullable: false}\n"
_SCHEMA = f"format: 1\n{_PEOPLE}      - {{name: age, kind: int}}\n    primary_key: [id]\n"
_GOLD = "SELECT id FROM people WHERE age >= 18"
_CASES = {
    # On the first snapshot everybody is of age, so that a query without the condition looks right there.
    "fooled": ([_GOLD], "SELECT id FROM people", 1.0, 0.0),
    "right": ([_GOLD], "SELECT id FROM people WHERE NOT age < 18", 1.0, 1.0),
    "wrong": ([_GOLD], "SELECT id FROM people WHERE age < 18", 0.0, 0.0),
    "second gold": (["SELECT id FROM people", _GOLD], "SELECT id FROM people WHERE age > 17", 1.0, 1.0),
    # The run's policy takes both golds, as it lets a prediction have further columns; the metric takes the second.
    "meant gold": (["SELECT id FROM people", "SELECT id, age FROM people"], "SELECT id, age FROM people", 1.0, 1.0),
    "fails there": ([_GOLD], "SELECT id FROM people WHERE abs(age) >= 18", 1.0, 0.0),
    "gold fails there": (["SELECT id FROM people WHERE abs(age) >= 18"], _GOLD, 1.0, None),
    "one snapshot": ([_GOLD], _GOLD, 1.0, None),
    "no such column": ([_GOLD], "SELECT nobody FROM people", 0.0, 0.0),
}
"""Each case's gold, prediction, execution accuracy on its own snapshot, and accuracy on the whole suite."""

_OVERFLOW = -(2**63)
"""SQLite has no absolute value of it."""


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """A pack of nine cases on two snapshots of one schema."""
    folder = tmp_path / "suite"
    for name, ages in (("grown", (20, 40, 60)), ("mixed", (20, 4, _OVERFLOW))):
        (folder / name).mkdir(parents=True)
        lines = [f"{number},{age}" for number, age in enumerate(ages, 1)]
        (folder / name / "people.csv").write_text("\n".join(["id,age", *lines]) + "\n")
    (folder / "schema.yaml").write_text(_SCHEMA)
    snapshots = {name: {"schema": "schema.yaml", "data": name} for name in ("grown", "mixed")}
    header = {"format": 1, "name": "suite", "snapshots": snapshots, "cases": ["cases.jsonl"]}
    (folder / "pack.yaml").write_text(json.dumps(header))
    cases, predictions = [], []
    for name, (gold, predicted, _, _) in _CASES.items():
        further = [] if name == "one snapshot" else ["mixed"]
        cases.append(
            {
                "id": name,
                "question": "Who is of age?",
                "snapshot": "grown",
                "extra_snapshots": further,
                "gold": {"sqlite": gold},
            }
        )
        predictions.append({"case_id": name, "sql": predicted})
    (folder / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
    (folder / "predictions.jsonl").write_text("".join(json.dumps(one) + "\n" for one in predictions))
    return folder


def _value(ran: Any, metric: str) -> dict[str, float | None]:
    """Return each case's value of a metric in results.jsonl."""
    return {result["case_id"]: result["scores"][metric]["value"] for result in ran.results}


def _timings(ran: Any) -> dict[str, dict]:
    """Return the timings by case."""
    lines = (ran.folder / "timings.jsonl").read_text(encoding="utf-8").splitlines()
    return {line["case_id"]: line for line in map(json.loads, lines)}


def _run(cli: Callable[..., Any], pack: Path, *options: str, name: str = "run") -> Any:
    """Run the pack on SQLite."""
    predictions = ("--predictions", str(pack / "predictions.jsonl"))
    return cli("run", str(pack), "--dialect", "sqlite", *predictions, *options, name=name)


@pytest.mark.jail
def test_a_suite_finds_what_one_snapshot_hides(cli, pack):
    """Accuracy on every snapshot is lower than on one; the verdict stays that of the case's own, at every level."""
    first = None
    for jobs, level in (("1", "run"), ("3", "case"), ("2", "statement")):
        ran = _run(cli, pack, "--profile", "spider", "--jobs", jobs, "--isolation", level, name=f"{level}{jobs}")
        assert ran.code == 0, ran.out + ran.err
        assert _value(ran, "spider.execution_accuracy") == {name: case[2] for name, case in _CASES.items()}
        assert _value(ran, SUITE) == {name: case[3] for name, case in _CASES.items()}
        assert {result["snapshot"] for result in ran.results} == {"grown"}
        assert ran.verdicts["fooled"] == "match"
        content = (ran.folder / "results.jsonl").read_bytes()
        assert content == (first or content), level
        first = content
    reasons = {result["case_id"]: result["scores"][SUITE]["reason"] for result in ran.results}
    assert reasons["fooled"] == "they differ on mixed"
    assert reasons["gold fails there"].startswith("not decided on mixed: ")
    assert [line.partition(": error")[0] for line in ran.summary["problems"]] == [
        "case gold fails there: gold failed on its further snapshot mixed"
    ]
    again = cli("rescore", str(ran.folder), "--policy", "strict")
    assert "0 differ" in again.out, again.out + again.err


@needs_shared
@pytest.mark.jail
def test_published_predictions_are_fooled_on_one_snapshot(cli, tmp_path):
    """DAIL-SQL's answers over Spider's pets: a copy with other rows tells a query for dogs from one for any pet."""
    cases = [case for case in read_jsonl(SHARED / "cases" / "spider_dev.jsonl") if case["db"] == "spider_pets_1"]
    pack = build_pack(tmp_path / "pets", "pets", cases)
    perturb = [
        sys.executable,
        str(SHARED / "perturb.py"),
        str(pack / "spider_pets_1.sqlite"),
        str(pack / "more.sqlite"),
    ]
    subprocess.run(perturb, check=True, capture_output=True)
    header = json.loads((pack / "pack.yaml").read_text())
    header["snapshots"]["more"] = {"sqlite": "more.sqlite", "types": "values"}
    (pack / "pack.yaml").write_text(json.dumps(header))
    suited = [{**case, "extra_snapshots": ["more"]} for case in read_jsonl(pack / "cases.jsonl")]
    (pack / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in suited))
    predictions = str(SHARED / "predictions" / "spider_dev" / "dail-gpt4.jsonl")
    ran = cli("run", str(pack), "--predictions", predictions, "--allow-unknown", "--profile", "spider")
    assert ran.code == 0, ran.out + ran.err
    one, suite = _value(ran, "spider.execution_accuracy"), _value(ran, SUITE)
    assert all(suite[name] <= one[name] for name in one)
    fooled = {result["predicted_sql"] for result in ran.results if suite[result["case_id"]] < one[result["case_id"]]}
    assert "SELECT weight FROM Pets WHERE PetType = 'dog' ORDER BY pet_age ASC LIMIT 1;" in fooled
    assert sum(suite.values()) / len(suite) > 0.5


@pytest.mark.jail
def test_further_snapshots_cost_nothing_where_no_metric_needs_them(cli, pack):
    """A run that asks for none of it leases a server once for each prediction that runs."""
    ran = _run(cli, pack, "--jobs", "1")
    assert ran.code == 0, ran.out + ran.err
    assert ran.summary["sandboxes"]["handouts"] == len(_CASES)
    assert ran.summary["sandboxes"]["started"] == 1
    assert all(not line["rounds"] and not line["scores"] for line in _timings(ran).values())


@pytest.mark.jail
def test_a_resumed_run_keeps_what_was_timed(cli, pack):
    """Results that are finished are not timed again: their rounds are in the journal, as their scores are."""
    ran = _run(cli, pack, "--metrics", f"execution_accuracy,bird.ves,{SUITE}", "--repetitions", "3", "--jobs", "1")
    assert ran.code == 0, ran.out + ran.err
    whole, before = (ran.folder / "results.jsonl").read_bytes(), _timings(ran)
    journal = ran.folder / "journal.jsonl"
    kept = [line for line in journal.read_text().splitlines(keepends=True) if '"result"' in line][:4]
    journal.write_text("".join(kept))
    places = {"folder": str(pack.parent), "pack": str(pack), "pack_format": "own"}
    places["predictions"] = str(pack / "predictions.jsonl")
    (ran.folder / "places.json").write_text(json.dumps(places))
    resumed = cli("resume", str(ran.folder))
    assert resumed.code == 0, resumed.out + resumed.err
    assert (ran.folder / "results.jsonl").read_bytes() == whole
    after = _timings(ran)
    finished = [json.loads(line)["result"]["case_id"] for line in kept]
    assert [after[name] == before[name] for name in finished] == [True] * 4
    assert all(len(after[name]["rounds"]) == 3 for name in after if name != "no such column")
    assert "bird.ves" in resumed.out


def _held(ran: Any, clock: str) -> None:
    """Hold every result's scores and rounds to what its verdict lets expect."""
    timings = _timings(ran)
    for result in ran.results:
        line, scans = timings[result["case_id"]], result["scores"]["sqlas.data_scan_efficiency"]
        assert not set(SPEED) & set(result["scores"])
        assert set(line["scores"]) == set(SPEED)
        if result["verdict"] in ("match", "mismatch") and result["selected_route"] == result["expected_route"]:
            assert len(line["rounds"]) == 3
            assert all(gold > 0 and predicted > 0 for gold, predicted in line["rounds"])
            assert line["clock"] == clock
            assert 0 <= line["scores"]["sqlas.efficiency_score"]["value"] <= 1
            assert scans["details"]["read_whole"] + scans["details"]["looked_up"]
        if result["verdict"] == "blocked":
            assert scans["value"] == 0.0
        correct = line["scores"]["bird.ves"]
        assert correct["value"] is None or correct["value"] == 0.0 or "low" in correct["details"]
    assert "by the clocks' own spread" in ran.summary["scores"]["bird.ves"]["note"]


@pytest.mark.jail
def test_clocks_stand_beside_the_results(cli):
    """Metrics of speed stand with the timings, and the results are the same bytes whatever the clocks said."""
    first = None
    for jobs in ("1", "2"):
        options = ("--metrics", COSTS, "--jobs", jobs, "--repetitions", "3")
        ran = cli("run", "demo", "--dialect", "sqlite", *options, name=f"jobs{jobs}")
        assert ran.code == 0, ran.out + ran.err
        _held(ran, "engine")
        content = (ran.folder / "results.jsonl").read_bytes()
        assert content == (first or content)
        first = content
    off = cli("run", "demo", "--dialect", "sqlite", "--metrics", COSTS, "--repetitions", "0", name="off")
    assert {result["scores"]["bird.ves"]["value"] for result in off.results} == {None}
    assert off.summary["sandboxes"]["started"] < ran.summary["sandboxes"]["started"]


@pytest.mark.docker
@pytest.mark.parametrize(("dialect", "clock"), [("postgres", "engine"), ("mysql", "harness")])
def test_servers_are_timed_and_asked_for_plans(dialect, clock, cli):
    """Postgres times queries by its own clock, MySQL is timed by ours; both tell what a query reads."""
    ran = cli("run", "demo", "--dialect", dialect, "--metrics", COSTS, "--repetitions", "3", "--limit", "5")
    assert ran.code == 0, ran.out + ran.err
    _held(ran, clock)
