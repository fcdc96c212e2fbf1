"""What a run's reports say of its isolation and its sandboxes: the level of both kinds of server, and the hand-outs."""

from __future__ import annotations

from report_runs import mixed

from sqlassay.harness.reports.figures import handouts, level, place
from sqlassay.harness.reports.summary import summary_json, summary_markdown
from sqlassay.harness.reports.terminal import render
from sqlassay.harness.results.run_result import RunResult, SandboxFigures

FIGURES = SandboxFigures(
    started=5,
    replaced=1,
    handouts=40,
    median=0.00001,
    p95=0.0123,
    longest=0.31,
    fresh=4,
    fresh_median=0.02,
    fresh_p95=0.31,
)


def isolated(**fields: object) -> RunResult:
    run = mixed()
    isolation = run.manifest.isolation.model_copy(update=fields)
    return run.model_copy(
        update={"manifest": run.manifest.model_copy(update={"isolation": isolation}), "sandboxes": FIGURES}
    )


def test_the_level_of_gold_and_predictions_is_said():
    """One level for both, and how many cases are kept apart further."""
    assert level(isolated()) == "level run, gold and predictions on servers of their own"
    assert level(isolated(level="case", gold_level="case", stricter={"statement": 2})) == (
        "level case, gold and predictions on servers of their own, 2 cases at level statement"
    )
    assert level(isolated(level="statement")) == "level statement for predictions, run for gold"
    assert place(isolated()).startswith("level run, gold")


def test_hand_outs_are_counted_and_timed():
    """How many servers, how many hand-outs, and how long these took, all and fresh ones."""
    assert handouts(isolated()) == (
        "5 started, 1 replaced; 40 hand-outs: p50 0.0 ms, p95 12.3 ms, longest 310.0 ms; "
        "4 of them fresh: p50 20.0 ms, p95 310.0 ms"
    )
    assert handouts(mixed()) == ""


def test_terminal_page_and_json_have_them():
    """All three summaries name the sandboxes; a run without a pool has no such line."""
    run = isolated()
    assert "sandboxes: 5 started" in render(run, width=200, color=False)
    assert "- sandboxes: 5 started" in summary_markdown(run)
    assert summary_json(run)["sandboxes"] == FIGURES.model_dump(mode="json")
    assert "sandboxes: " not in render(mixed(), width=200, color=False)
