"""The terminal text shows every number with its n and ends with the verdict line."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from report_runs import empty, hostile, interrupted, mixed, result, run, score

from sqlassay.harness.reports.terminal import render
from sqlassay.harness.results.run_result import Aggregate, RunResult


@pytest.mark.parametrize("make", [mixed, hostile, empty, interrupted])
@pytest.mark.parametrize("width", [10, 80, 200])
def test_last_line_is_the_verdict(make: Callable[[], RunResult], width: int) -> None:
    """However narrow the terminal, the last line is the verdict line, whole."""
    run = make()
    assert render(run, width=width, color=False).splitlines()[-1] == run.verdict_line


def test_plain_text_has_no_escape_codes() -> None:
    """Without colour nothing but printable text and line ends comes out, hostile SQL or not."""
    text = render(hostile(), width=80, color=False)
    assert all(character.isprintable() or character == "\n" for character in text)
    assert "hunter2" not in text


def test_colour_comes_from_us_only() -> None:
    """With colour the escape codes are styles; the ones in hostile text are spelled out."""
    text = render(hostile(), width=80, color=True)
    assert "\x1b[" in text
    assert "\\x1b[31mred" in text
    assert "\x1b[31mred" not in text


def test_the_table_names_n_speed_isolation_and_folder() -> None:
    """Scores have n and of, latency p50 and p95, isolation says what is off, and the folder is told."""
    text = render(mixed(), width=100, color=False)
    row = next(line for line in text.splitlines() if "strict execution accuracy" in line)
    assert [cell.strip() for cell in row.split("│")][2:5] == ["0.077", "13", "14"]
    assert "disagreement rate (t = 0.1)" in text
    assert "p50 2.0 ms, p95 1.50 s" in text
    assert "process, bubblewrap, network none; limits: cpu, memory; off here: cgroup pids" in text
    assert "run folder: /home/someone/secret-folder/runs/r1" in text
    assert "strict execution accuracy 0.500, at least 0.9 asked: does not hold" in text


def test_a_metric_without_any_value_says_why_once() -> None:
    """Metrics that could be measured on no result share one line with their reason."""
    scores = {"bird.ves": score(None, "no timings"), "bird.r_ves": score(None, "no timings"), "stef": score(1.0)}
    results = tuple(result(f"c{number}", scores=scores) for number in range(3))
    totals = tuple(Aggregate(name=name, mean=None, n=3 * (name == "stef"), of=3) for name in scores)
    text = render(run(*results, aggregates=totals), width=200, color=False)
    assert [line for line in text.splitlines() if line.startswith("no value")] == [
        "no value: bird.ves, bird.r_ves: no timings"
    ]
