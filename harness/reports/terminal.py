"""Shows a finished run in a terminal: a table of scores with n, counts, speed, isolation, and the verdict line."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator

from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.reports import figures
from harness.reports.escape import one_line
from harness.reports.files import base_name
from harness.results.run_result import RunResult

MINIMUM_WIDTH = 40


def render(run: RunResult, *, width: int, color: bool) -> str:
    """Return the whole text, `width` columns wide; its last line is the run's verdict line, never wrapped."""
    buffer = io.StringIO()
    console = Console(
        file=buffer,
        width=max(width, MINIMUM_WIDTH),
        force_terminal=color,
        no_color=not color,
        color_system="standard" if color else None,
        legacy_windows=False,
        markup=False,
        highlight=False,
        emoji=False,
    )
    console.print(_scores(run))
    for table in (_counts("verdict", run.verdicts), _counts("likely cause", run.causes)):
        if table is not None:
            console.print(table)
    for line in _facts(run):
        console.print(Text(one_line(line)), soft_wrap=True)
    lines = [line.rstrip() for line in buffer.getvalue().splitlines()]
    return "\n".join([*lines, one_line(run.verdict_line)])


def _scores(run: RunResult) -> Table:
    """Return the table of every metric with its mean and the n it covers."""
    manifest = run.manifest
    heading = f"{manifest.pack} on {manifest.dialect} {manifest.engine_version}"
    table = Table(title=Text(one_line(heading)), title_justify="left", expand=False)
    table.add_column("score", overflow="fold")
    for name in ("mean", "n", "of"):
        table.add_column(name, justify="right", no_wrap=True)
    for total in run.aggregates:
        name = figures.label(total.name)
        if total.name == "disagreement":
            name = f"{name} (t = {run.manifest.settings.get('disagreement')})"
        if total.note:
            name = f"{name}: {total.note}"
        table.add_row(Text(one_line(name)), figures.decimal(total.mean), str(total.n), str(total.of))
    return table


def _counts(name: str, counts: dict[str, int]) -> Table | None:
    """Return a table of counts, None where there are none."""
    if not counts:
        return None
    table = Table(expand=False)
    table.add_column(name, overflow="fold")
    table.add_column("n", justify="right", no_wrap=True)
    for key, value in figures.sorted_counts(counts).items():
        table.add_row(Text(one_line(key)), str(value))
    return table


def _facts(run: RunResult) -> list[str]:
    """Return the lines below the tables: how much ran, how fast, where, what went wrong, and the folder."""
    manifest, times = run.manifest, run.percentiles
    return [
        f"results: {figures.coverage(run)}",
        f"gold: {figures.gold_line(run)}",
        *_without(run),
        f"mutations blocked: {run.blocked}",
        f"predicted execution: p50 {figures.seconds(times.get('p50'))}, p95 {figures.seconds(times.get('p95'))}",
        f"image: {base_name(manifest.image)} (base {base_name(manifest.base_image)}, {manifest.base_source})",
        *([f"engine settings: {told}"] if (told := figures.engine_settings(run)) else []),
        f"isolation: {figures.place(run)}",
        *([f"sandboxes: {figures.handouts(run)}"] if figures.handouts(run) else []),
        *([f"judge: {figures.judge_line(run)}"] if run.judge else []),
        *(_threshold(run, index) for index in range(len(run.thresholds))),
        *(f"problem: {line}" for line in run.problems),
        *(f"breach: {line}" for line in run.breaches),
        *([f"run folder: {run.folder}"] if run.folder else []),
    ]


def _without(run: RunResult) -> Iterator[str]:
    """Yield the metrics that had a value on no result, each reason once: the one most results give."""
    by_reason: dict[str, list[str]] = {}
    told = [*(result.scores for result in run.results), *(timing.scores for timing in run.timings)]
    for total in run.aggregates:
        scores = [scores[total.name] for scores in told if total.name in scores]
        if total.n == 0 and scores:
            reason, _ = Counter(score.reason for score in scores).most_common(1)[0]
            by_reason.setdefault(reason, []).append(figures.label(total.name))
    for reason, names in by_reason.items():
        yield f"no value: {', '.join(names)}: {reason}"


def _threshold(run: RunResult, index: int) -> str:
    """Return one declared threshold and whether it held."""
    return f"threshold: {figures.threshold_line(run.thresholds[index])}"
