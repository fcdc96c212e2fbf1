"""Every report file is whole, stable, escaped and silent about this machine, for every kind of run."""

from __future__ import annotations

import csv
import json
import logging
import re
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from markdown_it import MarkdownIt
from report_runs import HOSTILE, blocked, empty, hostile, interrupted, mixed, result, run, score

from sqlassay.cases import extensions
from sqlassay.cases.verdicts import Cause, Verdict
from sqlassay.harness.reports import junit, registry, results_csv, scorecard, skill_files, summary
from sqlassay.harness.reports.files import write_json
from sqlassay.harness.results.case_result import ScoreRecord
from sqlassay.harness.results.run_result import RunResult

RUNS = [mixed, hostile, empty, interrupted]
FILES = {
    "workflow_output.json",
    "routing_eval_output.json",
    "sql_correctness_output.json",
    "dataframe_comparison_output.json",
    "post_evaluation_analysis_report.json",
    "junit.xml",
    "scorecard.json",
    "summary.md",
    "summary.json",
    "results.csv",
}


def read(folder: Path, name: str) -> Any:
    """Return one JSON file's content."""
    return json.loads((folder / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("make", RUNS)
def test_all_reports_are_written(make: Callable[[], RunResult], tmp_path: Path) -> None:
    """Every run gives every file, each ending with one newline, without folders or logins of this machine."""
    written = registry.write_all(make(), tmp_path)
    assert {path.name for path in written} >= FILES
    for path in written:
        text = path.read_bytes().decode("utf-8")
        assert text.endswith("\n"), path.name
        assert not text.endswith("\n\n"), path.name
        assert "secret-folder" not in text, path.name
        assert "hunter2" not in text, path.name
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text), path.name


def test_reports_are_stable(tmp_path: Path) -> None:
    """Writing one run twice gives the same bytes."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first, second = registry.write_all(mixed(), tmp_path / "a"), registry.write_all(mixed(), tmp_path / "b")
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


@pytest.mark.parametrize("make", RUNS)
def test_no_report_says_a_bare_execution(make: Callable[[], RunResult], tmp_path: Path) -> None:
    """A score is named execution_accuracy, strict execution accuracy or execution_score, never "execution"."""
    registry.write_all(make(), tmp_path)
    assert '"execution":' not in "".join(path.read_text() for path in tmp_path.glob("*.json"))
    header = (tmp_path / "results.csv").read_text().splitlines()[0].split(",")
    assert "execution" not in header
    assert not re.search(r"\|\s*execution\s*\|", (tmp_path / "summary.md").read_text())


def test_a_failing_foreign_report_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A report that raises costs its own file and one log line; the others are written."""
    points = [
        EntryPoint(name="bad", value="report_runs:nothing_here", group=registry.GROUP),
        EntryPoint(name="junit", value="sqlassay.harness.reports.junit:write", group=registry.GROUP),
    ]
    monkeypatch.setattr(extensions, "entry_points", lambda group: points)
    logger = logging.getLogger("sqlassay.reports")
    logger.addHandler(caplog.handler)
    monkeypatch.setattr(logger, "propagate", False)
    assert [path.name for path in registry.write_all(mixed(), tmp_path)] == ["junit.xml"]
    logger.removeHandler(caplog.handler)
    assert [record.getMessage().count("\n") for record in caplog.records] == [0]
    assert "report bad failed" in caplog.text


def test_an_unknown_report_names_the_installed_ones() -> None:
    """Asking for a report that is not installed says which are."""
    with pytest.raises(Exception, match="Installed reports: csv, junit, scorecard, skill, spider, stef, summary"):
        registry.report("nothing")
    assert registry.report("junit") is junit.write


def test_workflow_keeps_question_answer_and_routes(tmp_path: Path) -> None:
    """The workflow file holds both SQL texts and both data sources of every result."""
    skill_files.write(mixed(), tmp_path)
    row = read(tmp_path, skill_files.WORKFLOW)["rows"][0]
    assert row["ground_truth_sql"] == "SELECT id, amount FROM orders WHERE status = 'paid'"
    assert row["generated_sql"] == "SELECT id, amount FROM orders"
    assert (row["expected_data_source"], row["selected_data_source"]) == ("sales_db", "sales_db")


def test_routing_mean_carries_its_n(tmp_path: Path) -> None:
    """A result without routes leaves the routing mean, and n says so."""
    skill_files.write(run(result("a"), result("b", scores={"routing": score(None, "no route")})), tmp_path)
    page = read(tmp_path, skill_files.ROUTING)
    assert page["aggregate_scores"]["routing"] == {"mean": 1.0, "n": 1, "of": 2, "note": ""}
    assert page["rows"][1]["routing"] == {"value": None, "available": False, "reason": "no route"}


def test_structure_keeps_tau_rho_and_scalar_apart(tmp_path: Path) -> None:
    """The structure file names parser and version, both texts, the extracted parts, τ, ρ and the scalar."""
    half = result("a", scores={"structural": score(0.65, "half", tau=1.0, rho=0.5)})
    skill_files.write(run(half), tmp_path)
    page = read(tmp_path, skill_files.STRUCTURE)
    row = page["rows"][0]
    assert page["weights"] == {"alpha": 0.3, "beta": 0.2}
    assert (row["table_match"], row["column_match"], row["structural"]["value"]) == (1.0, 0.5, 0.65)
    assert (row["predicted"]["parser"], row["predicted"]["parser_version"]) == ("sqlglot", "30.30.0")
    assert row["predicted"]["processed_sql"] == "SELECT ID, AMOUNT FROM ORDERS"
    assert row["original_predicted_sql"] == "SELECT id, amount FROM orders"
    assert row["predicted"]["tables"] == ["orders"]


def test_comparison_keeps_errors_apart_from_mismatches(tmp_path: Path) -> None:
    """A failed execution has a status and an error; a mismatch has neither."""
    skill_files.write(run(result("a", Verdict.MISMATCH), result("b", Verdict.ERROR, comparison=None)), tmp_path)
    page = read(tmp_path, skill_files.COMPARISON)
    wrong, broken = page["rows"]
    assert (wrong["execution_status"], wrong["execution_error"]) == ("ok", None)
    assert (broken["execution_status"], broken["execution_error"]) == ("error", "it says why")
    assert wrong["ground_truth_shape"] == {"rows": 4, "columns": 2}
    assert wrong["comparison"]["first"]["gold"] == [1, {"$decimal": "1.50"}]
    assert broken["comparison"] is None
    assert page["policy"] == {"columns": "any"}


def test_analysis_counts_blocks_causes_and_disagreement(tmp_path: Path) -> None:
    """The analysis names mutations by statement kind, results by cause, and the rate with its n and t."""
    wrong = result("w", Verdict.MISMATCH, cause=Cause.MISSING_FILTER)
    skill_files.write(run(result("a"), wrong, blocked("m")), tmp_path)
    page = read(tmp_path, skill_files.ANALYSIS)
    assert page["safety"]["mutation_blocks"] == {
        "n": 1,
        "by_statement": {"DELETE": 1},
        "cases": [{"id": "m", "trial": 0}],
    }
    assert page["diagnoses"]["missing_filter"] == {"n": 1, "cases": [{"id": "w", "trial": 0}]}
    assert (page["disagreement"]["rate"], page["disagreement"]["n"], page["disagreement"]["threshold"]) == (
        1 / 3,
        3,
        0.1,
    )
    assert [row["id"] for row in page["disagreement"]["representative"]] == ["w"]
    assert page["rows"][1]["reason"] == "it says why"


def test_representatives_cover_causes_first() -> None:
    """Of many disagreements five are shown: one of each cause before a second of any."""
    causes = [Cause.MISSING_FILTER] * 6 + [Cause.TABLE_MISMATCH]
    wrong = [result(f"c{index}", Verdict.MISMATCH, cause=cause) for index, cause in enumerate(causes)]
    assert [item.case_id for item in skill_files.representatives(run(*wrong))] == ["c0", "c6", "c1", "c2", "c3"]


def test_junit_sorts_verdicts_into_four_outcomes(tmp_path: Path) -> None:
    """Wrong answers fail, faults of ours are errors, what could not be asked is skipped."""
    junit.write(mixed(), tmp_path)
    root = ET.parse(tmp_path / junit.NAME).getroot()
    outcome = {case.get("name"): [child.tag for child in case] for case in root.iter("testcase")}
    assert outcome["case-match"] == []
    for name in ("mismatch", "undecided", "blocked", "error", "timeout", "too_many_rows", "no_prediction"):
        assert outcome[f"case-{name}"] == ["failure"], name
    assert outcome["case-gold_error"] == outcome["case-infrastructure"] == ["error"]
    assert outcome["case-unavailable"] == outcome["case-out_of_scope"] == ["skipped"]
    assert outcome["strict execution accuracy at least 0.9"] == ["failure"]
    suite = root[0]
    counted = [suite.get(name) for name in ("tests", "failures", "errors", "skipped")]
    assert counted == [str(len(Verdict)), "9", "2", "2"]
    assert root.get("tests") == str(len(Verdict) + 3)


def test_junit_shows_an_interrupted_run_as_an_error(tmp_path: Path) -> None:
    """A run that did not finish is not green in CI."""
    junit.write(interrupted(), tmp_path)
    root = ET.parse(tmp_path / junit.NAME).getroot()
    assert [error.get("message") for error in root.iter("error")] == ["interrupted: 1 of 3 results were judged"]


def test_junit_shows_a_breach_as_a_failure(tmp_path: Path) -> None:
    """A statement that took effect fails the run's own suite."""
    junit.write(run(result("a"), breaches=("drift on sales",), thresholds=()), tmp_path)
    root = ET.parse(tmp_path / junit.NAME).getroot()
    assert [failure.get("message") for failure in root.iter("failure")] == ["drift on sales"]


def test_scorecard_counts_patterns_and_trials(tmp_path: Path) -> None:
    """A case passes where all its trials match; pass@k and pass^k are told apart; unscorable cases are apart."""
    rows = [
        result("a"),
        result("a", trial=1),
        result("b"),
        result("b", Verdict.MISMATCH, trial=1),
        result("c", Verdict.UNAVAILABLE),
        result("c", Verdict.UNAVAILABLE, trial=1),
    ]
    scorecard.write(run(*rows), tmp_path)
    page = read(tmp_path, scorecard.NAME)
    assert (page["patterns_passed"], page["patterns_total"], page["not_scored"]) == (1, 2, ["c"])
    estimates = page["trials"].pop("estimates")
    assert page["trials"] == {"k": 2, "n": 2, "pass@k": 1.0, "pass^k": 0.5, "pass_rate": 0.75}
    assert [(one["k"], one["pass@k"]["value"], one["pass^k"]["value"]) for one in estimates] == [
        (1, 0.75, 0.75),
        (2, 1.0, 0.5),
    ]
    assert [pattern["passed"] for pattern in page["patterns"]] == [True, False, None]
    assert page["patterns"][0]["duration_ms"] == 500.0
    assert page["patterns"][1]["feedback"]["matched"] == 0.5
    assert page["mode"] == "predictions"


def test_a_name_in_the_scorecard_is_the_metric_of_that_name(tmp_path: Path) -> None:
    """NucleusIQ's names stand in the feedback where its metrics were computed, with their values, and nowhere else."""
    said = {
        "nucleusiq.correct_answer": ScoreRecord(value=0.0, reason="r"),
        "routing": ScoreRecord(value=1.0, reason="r"),
    }
    scorecard.write(run(result("a").model_copy(update={"scores": said}), result("b")), tmp_path)
    told, silent = (pattern["feedback"] for pattern in read(tmp_path, scorecard.NAME)["patterns"])
    assert (told["correct_answer"], told["nucleusiq.correct_answer"], told["matched"]) == (0.0, 0.0, 1.0)
    assert not {"correct_answer", "executed_query", "sql_safety"} & set(silent)


def test_csv_has_a_line_a_result_and_no_formula(tmp_path: Path) -> None:
    """The CSV reads back with every column and no cell a spreadsheet would run."""
    results_csv.write(hostile(), tmp_path)
    with (tmp_path / results_csv.NAME).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 1
    assert rows[0]["verdict"] == "mismatch"
    assert rows[0]["predicted_sql"].startswith("'=1+1")
    assert not any(cell.startswith(("=", "+", "-", "@")) for row in rows for cell in (*row, *row.values()))


def test_summary_page_survives_hostile_text(tmp_path: Path) -> None:
    """No script, link or extra table row comes out of hostile text, and the page fits a step summary."""
    summary.write(hostile(), tmp_path)
    page = (tmp_path / summary.MARKDOWN).read_text(encoding="utf-8")
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(page)
    assert "<script" not in html
    assert "<a " not in html
    assert [html.count(tag) for tag in ("<table>", "<tr>", "<h1>", "<pre>")] == [4, 4 + 6 + 1 + 1 + 2, 1, 2]


def test_summary_page_says_what_it_leaves_out(tmp_path: Path) -> None:
    """Past 200 failures the page names how many more there are and where."""
    many = [result(f"c{index}", Verdict.MISMATCH, reason="x" * 5000) for index in range(250)]
    summary.write(run(*many), tmp_path)
    page = (tmp_path / summary.MARKDOWN).read_text(encoding="utf-8")
    assert "50 more are in results.csv." in page
    assert "results: 250 of 250 planned" in page


@pytest.mark.slow
def test_summary_page_fits_a_step_summary_at_its_worst(tmp_path: Path) -> None:
    """However much hostile text there is, the page stays under GitHub's 1,024 KiB and counts what it leaves out."""
    worst = "\U000e0041" * 5000
    many = [
        result(f"c{index}", Verdict.MISMATCH, reason=worst, question=worst, predicted_sql=worst, gold_sql=worst)
        for index in range(250)
    ]
    lines = tuple(f"{index} {worst}" for index in range(50))
    summary.write(run(*many, problems=lines, breaches=lines), tmp_path)
    page = (tmp_path / summary.MARKDOWN).read_text(encoding="utf-8")
    assert len(page.encode()) < 1024 * 1024
    assert page.count("more are in summary.json") == 2
    assert "more are in results.csv." in page


def test_summary_json_carries_the_verdict(tmp_path: Path) -> None:
    """The machine's summary has scores with n, counts, speed, isolation with what is missing, and the exit code."""
    summary.write(mixed(), tmp_path)
    page = read(tmp_path, summary.JSON)
    assert page["exit_code"] == 1
    assert page["scores"]["execution_accuracy"]["n"] == len(Verdict) - 1
    assert page["predicted_seconds"] == {"p50": 0.002, "p95": 1.5}
    assert page["isolation"]["missing"] == ["cgroup pids"]
    assert page["settings"]["out"] == "runs"
    assert page["agent"] == "file:predictions.jsonl"


def test_hostile_text_is_really_hostile() -> None:
    """The sample holds what the other tests guard against."""
    assert all(part in HOSTILE for part in ("=1", "|", "`", "<script>", "\x1b", "\u202e", "hunter2"))


@pytest.mark.parametrize("rows", [[], [{"a": ["x\ny", 1.5, None], "b": {}}, "two\u2028", 3]])
def test_rows_written_one_by_one_are_those_of_a_whole_document(rows: list[Any], tmp_path: Path) -> None:
    """A document whose rows come from an iterator is the same bytes as one that was put together first."""
    whole = write_json(tmp_path / "whole.json", {"n": {"deep": [1]}, "rows": rows, "end": "e"}).read_bytes()
    assert (
        write_json(tmp_path / "rows.json", {"n": {"deep": [1]}, "rows": iter(rows), "end": "e"}).read_bytes() == whole
    )
    assert json.loads(whole) == {"n": {"deep": [1]}, "rows": rows, "end": "e"}
    assert write_json(tmp_path / "empty.json", {}).read_bytes() == b"{}\n"
