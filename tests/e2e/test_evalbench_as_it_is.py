"""EvalBench's run config runs as it is, and its tables say what EvalBench's own say of the same answers.

tests/evalbench/golden holds the config and data; `theirs` is what EvalBench 1.20 wrote for them with a generator that
gives the answers of answers.jsonl, `ours` what we write. Ids of jobs, times and seconds are blanked in both.
"""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

GOLDEN = Path(__file__).parents[1] / "evalbench" / "golden"
NAMES = ("configs", "evals", "scores", "summary")
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}")
_OWN_WORDS = {"generated_error", "sql_generator_time", "eval_query"}
"""Columns of evals in our own words: the engine's error without the driver's, what data sets may leave out."""


def laid(folder: Path) -> Path:
    """Copy the config and its data."""
    return shutil.copytree(GOLDEN, folder / "set", ignore=shutil.ignore_patterns("theirs", "ours"))


def blanked(results: Path) -> dict[str, str]:
    """Return the four files of the one job there, without what differs from run to run."""
    (job,) = results.iterdir()
    assert {path.name for path in job.iterdir()} - {".sqlassay"} == {f"{name}.csv" for name in NAMES}
    found = {}
    for name in NAMES:
        text = (job / f"{name}.csv").read_text(encoding="utf-8").replace(job.name, "JOB")
        found[name] = re.sub(r"sqlassay\.version,.*", "sqlassay.version,VERSION", _TIME.sub("TIME", text))
    table = rows(found["evals"])
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, table[0].keys(), lineterminator="\n")
    writer.writeheader()
    writer.writerows({**row, "sql_generator_time": "SECONDS"} for row in table)
    return {**found, "evals": buffer.getvalue()}


def rows(text: str) -> list[dict[str, str]]:
    """Return a file's rows."""
    return list(csv.DictReader(text.splitlines(keepends=True), strict=True))


@pytest.mark.jail
def test_a_config_runs_as_it_is_and_its_tables_are_evalbenchs(cli: Callable, tmp_path: Path) -> None:
    """Every file has EvalBench's columns, every score EvalBench's number, every result EvalBench's text."""
    place = laid(tmp_path)
    config = place / "run.yaml"
    config.write_text(config.read_text(encoding="utf-8").replace("'results'", f"'{tmp_path / 'results'}'"))
    answers = str(place / "answers.jsonl")
    ran = cli("run", "--evalbench", str(config), "--predictions", answers, "--sandbox", "process", "--engine", "none")
    assert ran.code == 0, ran.err
    assert ran.out.splitlines()[-1].startswith("DONE: ")
    assert "sqlite.yaml: sqlite runs in a sandbox; not used: user_name, password, max_executions_per_minute" in ran.err
    found = blanked(tmp_path / "results")
    assert "s3cret" not in "".join(found.values())
    found["configs"] = found["configs"].replace(str(tmp_path / "results"), "results")
    for name in NAMES:
        assert found[name] == (GOLDEN / "ours" / f"{name}.csv").read_text(encoding="utf-8"), name
    theirs = {name: (GOLDEN / "theirs" / f"{name}.csv").read_text(encoding="utf-8") for name in NAMES}
    for name in NAMES:
        assert found[name].split("\n", 1)[0] == theirs[name].split("\n", 1)[0], name
    _same_configs(rows(found["configs"]), rows(theirs["configs"]))
    _same_evals(rows(found["evals"]), rows(theirs["evals"]))
    _same_scores(rows(found["scores"]), rows(theirs["scores"]))
    assert [row["metric_name"] for row in rows(found["summary"])] == [r["metric_name"] for r in rows(theirs["summary"])]


def _same_configs(ours: list[dict[str, str]], theirs: list[dict[str, str]]) -> None:
    """Hold every setting to EvalBench's, but for hidden logins; ours has the version and the run folders beside."""
    shown = {row["config"]: row["value"] for row in ours}
    assert [row["config"] for row in ours][: len(theirs)] == [row["config"] for row in theirs]
    for row in theirs:
        value = row["value"].replace("'somebody'", "'***'").replace("'s3cret'", "'***'")
        assert shown[row["config"]] == value, row["config"]
    assert set(shown) - {row["config"] for row in theirs} == {"sqlassay.version", "sqlassay.runs"}


def _same_evals(ours: list[dict[str, str]], theirs: list[dict[str, str]]) -> None:
    """Hold every cell to EvalBench's; it runs a change in one trial only, so ours has one row more."""
    shown = {row["id"]: row for row in ours}
    assert set(shown) - {row["id"] for row in theirs} == {"4_trial_1"}
    for row in theirs:
        for column, value in row.items():
            if column not in _OWN_WORDS:
                harmless = f"'{value}" if value.startswith(("=", "+", "-", "@")) else value
                assert shown[row["id"]][column] == harmless, (row["id"], column)


def _same_scores(ours: list[dict[str, str]], theirs: list[dict[str, str]]) -> None:
    """Hold every score to EvalBench's number; of pairs of trials all but one.

    EvalBench compares the trials' cut texts, so that columns in another order are another result, and results that
    differ past the cut are one. The rows decide here, by name.
    """
    shown = {(row["comparator"], row["id"], row["prompt_id"]): row["score"] for row in ours}
    for row in theirs:
        prompt = row["prompt_id"].removesuffix(".0")
        expected = "100.0" if (row["comparator"], prompt) == ("exact_match_consistency", "1") else row["score"]
        assert float(shown[row["comparator"], row["id"], prompt]) == pytest.approx(float(expected)), row
    assert len(shown) == len(theirs) + 6 + 1  # the six scores and the pair of the change's second trial


@pytest.mark.docker
def test_a_config_runs_on_two_engines(cli: Callable, tmp_path: Path) -> None:
    """Each database config becomes a sandbox of its engine; the tables hold both, and the worst exit code is given."""
    place = laid(tmp_path)
    items = json.loads((place / "prompts.json").read_text(encoding="utf-8"))[:4]
    for item in items:
        gold = item["golden_sql"]["sqlite"]
        item |= {
            "dialects": ["sqlite", "postgres"],
            "golden_sql": {"sqlite": gold, "postgres": gold},
            "generated_sql": gold,
        }
    items[3]["eval_query"]["postgres"] = items[3]["eval_query"]["sqlite"]
    items[1]["generated_sql"] = {"postgres": "SELECT id + 1 FROM goods", "sqlite": "SELECT id FROM goods"}
    (place / "prompts.json").write_text(json.dumps(items), encoding="utf-8")
    shutil.copytree(place / "setup" / "shop" / "sqlite", place / "setup" / "shop" / "postgres")
    (place / "db" / "postgres.yaml").write_text("{db_type: postgres, host: db.example, password: x}", encoding="utf-8")
    (place / "model.yaml").write_text("generator: noop\n", encoding="utf-8")
    config = yaml.safe_load((place / "run.yaml").read_text(encoding="utf-8"))
    config |= {"database_configs": ["db/sqlite.yaml", "db/postgres.yaml"], "dialects": ["sqlite", "postgres"]}
    config |= {"reporting": {"csv": {"output_directory": str(tmp_path / "results")}}, "num_trials": 1}
    (place / "run.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    ran = cli("run", "--evalbench", str(place / "run.yaml"), "--fail-under", "evalbench.set_match_compat=90")
    assert ran.code == 1, ran.err
    last = ran.out.splitlines()[-1]
    assert re.fullmatch(r"sqlite (?:PASS|DONE): .*; postgres FAIL: .* \(exit 1\)", last), last
    found = blanked(tmp_path / "results")
    sets = {
        (row["dialects"], row["id"]): row["score"] for row in rows(found["scores"]) if row["comparator"] == "set_match"
    }
    assert {key for key, score in sets.items() if score != "100.0"} == {("['postgres']", "2_trial_0")}
    assert len(sets) == 8
    evals = {(row["dialects"], row["id"]): row for row in rows(found["evals"])}
    change = evals["['postgres']", "4_trial_0"]
    assert change["eval_results"] == change["golden_eval_results"] == '[{"price": 1.5}, {"price": 2.0}, {"price": 3.0}]'
    assert (tmp_path / "run" / "postgres" / "summary.json").is_file()
    summary = {row["metric_name"]: row["correct_results_count"] for row in rows(found["summary"])}
    assert (summary["set_match"], summary["executable"]) == ("7", "8")
