"""Shows a finished run in a terminal: a table of scores with n, counts, speed, isolation, and the verdict line."""

from __future__ import annotations

import io
import textwrap
from collections import Counter
from collections.abc import Iterator

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sqlassay.harness.reports import figures
from sqlassay.harness.reports.escape import one_line
from sqlassay.harness.reports.files import base_name
from sqlassay.harness.results.run_result import RunResult

MINIMUM_WIDTH = 40
LISTED, REASON = 20, 200
"""Of the results that are no match so many are listed, each with so much of its reason."""


def render(run: RunResult, *, width: int, color: bool, wrap: bool = False) -> str:
    """Return the whole text: scores, the cases that are no match, counts, what went wrong, and how it was run last.

    Tables are `width` columns wide, lines too where they are to `wrap`; a path and the verdict line, the last, never.
    """
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
    for table in (_failed(run), _counts("verdict", run.verdicts), _counts("likely cause", run.causes)):
        if table is not None:
            console.print(table)
    for line in (*_facts(run), *_machinery(run)):
        for part in wrapped(one_line(line), console.width) if wrap else [one_line(line)]:
            console.print(Text(part), soft_wrap=True)
    if run.folder:
        console.print(Text(one_line(f"run folder: {run.folder}")), soft_wrap=True)
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


def wrapped(line: str, width: int) -> list[str]:
    """Return a line as several that fit, broken between words."""
    return textwrap.wrap(line, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False) or [line]


def _failed(run: RunResult) -> Table | None:
    """Return the table of the results that are no match, the first of them where they are many."""
    failed = figures.failed(run.results)
    if not failed:
        return None
    table = Table(expand=False, title=Text(f"{len(failed)} of {len(run.results)} no match"), title_justify="left")
    table.add_column("case", overflow="fold", min_width=6)
    for name in ("verdict", "likely cause"):
        table.add_column(name, overflow="fold", min_width=8)
    table.add_column("reason", ratio=1, min_width=16)
    many = figures.trials(run) > 1
    for result in failed[:LISTED]:
        name = f"{result.case_id} [{result.trial}]" if many else result.case_id
        reason = result.reason if len(result.reason) <= REASON else f"{result.reason[:REASON]}…"
        cells = (name, result.verdict.value, "" if result.cause is None else result.cause.value, reason)
        table.add_row(*(Text(one_line(cell)) for cell in cells))
    if len(failed) > LISTED:
        table.caption = Text(f"{len(failed) - LISTED} more are in summary.md and results.csv")
        table.caption_justify = "left"
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
    """Return the lines below the tables that belong to the answer: how much was judged, and what went wrong."""
    return [
        f"results: {figures.coverage(run)}",
        f"gold: {figures.gold_line(run)}",
        *_without(run),
        f"mutations blocked: {run.blocked}",
        *([f"unsafe statements in the agent's own steps: {told}"] if (told := figures.unsafe_steps(run)) else []),
        *(_threshold(run, index) for index in range(len(run.thresholds))),
        *(f"problem: {line}" for line in run.problems),
        *(f"breach: {line}" for line in run.breaches),
    ]


def _machinery(run: RunResult) -> list[str]:
    """Return the lines about how it was run: pace, image, isolation, sandboxes, judge."""
    manifest, times = run.manifest, run.percentiles
    return [
        f"predicted execution: p50 {figures.seconds(times.get('p50'))}, p95 {figures.seconds(times.get('p95'))}",
        f"image: {base_name(manifest.image)} (base {base_name(manifest.base_image)}, {manifest.base_source})",
        *([f"engine settings: {told}"] if (told := figures.engine_settings(run)) else []),
        f"isolation: {figures.place(run)}",
        *([f"health: {figures.health(run)}"] if figures.health(run) else []),
        *([f"sandboxes: {figures.handouts(run)}"] if figures.handouts(run) else []),
        *([f"judge: {figures.judge_line(run)}"] if run.judge else []),
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
