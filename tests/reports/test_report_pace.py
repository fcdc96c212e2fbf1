"""Reports cost the same for each result, however many there are."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from report_runs import mixed

from sqlassay.harness.reports.registry import write_all
from sqlassay.harness.results.run_result import RunResult

SMALL, LARGE = 100, 400


def grown(count: int) -> RunResult:
    """Return a run of so many results."""
    run = mixed()
    rows = [run.results[n % len(run.results)].model_copy(update={"case_id": f"c{n}"}) for n in range(count)]
    times = [run.timings[n % len(run.timings)].model_copy(update={"case_id": f"c{n}"}) for n in range(count)]
    return run.model_copy(update={"results": tuple(rows), "timings": tuple(times), "planned": count})


def steps(work: Callable[[], object]) -> int:
    """Return how many lines of Python run under this work: a cost that no other load on the machine changes."""
    count = 0

    def trace(frame: object, event: str, argument: object) -> object:
        nonlocal count
        count += event == "line"
        return trace

    sys.settrace(trace)  # type: ignore[arg-type]
    try:
        work()
    finally:
        sys.settrace(None)
    return count


@pytest.mark.slow
def test_every_report_is_linear_in_the_number_of_results(tmp_path: Path) -> None:
    """Four times as many results take about four times as many steps, all reports together."""
    small, large = grown(SMALL), grown(LARGE)
    write_all(small, tmp_path)
    few = steps(lambda: write_all(small, tmp_path))
    many = steps(lambda: write_all(large, tmp_path))
    assert many < few * LARGE / SMALL * 1.15
