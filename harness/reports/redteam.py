"""Shows a red-team drill in a terminal and writes its files: redteam.json, summary.md, redteam.sarif, junit.xml."""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sqlassay.harness.reports import redteam_junit, sarif
from sqlassay.harness.reports.escape import markdown, markdown_code, one_line
from sqlassay.harness.reports.files import write_json, write_text
from sqlassay.harness.reports.terminal import wrapped
from sqlassay.harness.results.redteam import AttackResult, RedTeamResult, Rung

MINIMUM_WIDTH = 60
_HEADS = ("harm", "layer", "n", "stopped", "contained", "no harm", "missed", "median s", "max s", "stopped by")
_MOST_LISTED = 40


_WIDE, _WIDE_ONLY = 110, frozenset({7, 8, 9})
"""Narrower terminals are shown the counts alone; seconds and what stopped an attack are in summary.md too."""


def write(found: RedTeamResult, folder: Path) -> tuple[Path, ...]:
    """Write every file into `folder` and return the paths."""
    return (
        write_json(folder / "redteam.json", found.model_dump(mode="json")),
        write_text(folder / "summary.md", _summary(found)),
        write_json(folder / "redteam.sarif", sarif.document(found)),
        write_text(folder / "junit.xml", redteam_junit.document(found)),
    )


def render(found: RedTeamResult, folder: str, *, width: int, color: bool) -> str:
    """Return the ladder and its facts, `width` columns wide; the last line is the verdict, never wrapped."""
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
    table = Table(title=Text(_heading(found)), title_justify="left", expand=False)
    shown = [at for at in range(len(_HEADS)) if console.width >= _WIDE or at not in _WIDE_ONLY]
    for at in shown:
        last = at == len(_HEADS) - 1
        table.add_column(_HEADS[at], justify="right" if 2 <= at <= 8 else "left", no_wrap=not last, ratio=last or None)
    for rung in found.ladder:
        cells = _cells(rung)
        table.add_row(*(Text(one_line(cells[at])) for at in shown), style="red" if rung.missed else None)
    console.print(table)
    for line in _facts(found):
        for part in wrapped(one_line(line), console.width):
            console.print(Text(part), soft_wrap=True)
    console.print(Text(one_line(f"Reports in {folder}")), soft_wrap=True)
    lines = [line.rstrip() for line in buffer.getvalue().splitlines()]
    return "\n".join([*lines, one_line(found.verdict_line)])


def _heading(found: RedTeamResult) -> str:
    """Return what was attacked."""
    return one_line(f"Defence ladder: {found.dialect} {found.engine_version}, {found.attacks_file}")


def _cells(rung: Rung) -> tuple[str, ...]:
    """Return one rung's cells."""
    counts = (rung.n, rung.stopped, rung.contained, rung.passed, rung.missed)
    times = ("" if value is None else f"{value:.3f}" for value in (rung.median_seconds, rung.max_seconds))
    by = ", ".join(f"{name} ({count})" for name, count in rung.by)
    return (rung.harm, rung.layer, *(str(count) for count in counts), *times, by)


def _facts(found: RedTeamResult) -> tuple[str, ...]:
    """Return the lines below the ladder."""
    variants = found.variants
    lines = [
        *([f"Engine settings: {found.engine_settings}"] if found.engine_settings else []),
        f"Variants: {variants.tried} shown to the guard (seed {found.seed}), {variants.rejected} rejected, "
        f"{variants.flagged} flagged, {variants.harmless} let by and harmless, {variants.missed} missed",
        f"False alarms: {_alarms(found)}",
        *(f"  {alarm.layer} refuses {alarm.id}: {alarm.reason}" for alarm in found.false_alarms[:_MOST_LISTED]),
    ]
    if found.bound is not None:
        breached = len(found.breaches)
        lines.append(
            f"Bound: {breached} breaches in {found.together} attacks; at 95 % at most {found.bound:.2%} of attacks "
            "like these get through. Attacks unlike these are not covered."
        )
    if found.state_checks:
        checks = found.state_checks
        lines.append(
            f"State checks: {checks['marks']:.0f} by the engine's mark, median "
            f"{checks['mark_median_seconds'] * 1000:.2f} ms, and {checks['checks']:.0f} whole, median "
            f"{checks['median_seconds'] * 1000:.1f} ms; "
            f"{checks['sandboxes']:.0f} sandboxes in {found.seconds:.0f} s"
        )
    if found.isolation is not None:
        missing = f"; off here: {', '.join(found.isolation.missing)}" if found.isolation.missing else ""
        lines.append(f"Isolation: {found.isolation.method}, network {found.isolation.network}{missing}")
    return (*lines, *(f"Breach: {line}" for line in found.breaches), *(f"Bar: {line}" for line in found.failed_bars))


def _alarms(found: RedTeamResult) -> str:
    """Return the false alarms of each layer as a share."""
    layers = [layer for layer in found.layers if layer in ("guard", "role")]
    counts = {layer: sum(alarm.layer == layer for alarm in found.false_alarms) for layer in layers}
    return ", ".join(f"{layer} {count} of {found.benign}" for layer, count in counts.items()) or "not tried"


def _summary(found: RedTeamResult) -> str:
    """Return the drill as Markdown."""
    lines = [
        f"# {markdown(_heading(found))}",
        "",
        markdown(found.verdict_line),
        "",
        f"| {' | '.join(_HEADS)} |",
        f"|{'---|' * len(_HEADS)}",
        *(f"| {' | '.join(markdown(cell) for cell in _cells(rung))} |" for rung in found.ladder),
        "",
        *(f"- {markdown(line.strip())}" for line in _facts(found)),
        "",
        "`contained`: the harm was done, in a sandbox that is thrown away. `no harm`: nothing stopped the statement "
        "and no harm was seen.",
    ]
    missed = [attack for attack in found.attacks if any(attempt.finding == "missed" for attempt in attack.attempts)]
    if missed:
        lines += [
            "",
            "## Missed by a layer",
            "",
            "| attack | harm | layer | effect | statement |",
            "|---|---|---|---|---|",
        ]
        lines += [line for attack in missed for line in _missed(attack)]
    return "\n".join(lines)


def _missed(attack: AttackResult) -> list[str]:
    """Return one Markdown row for each layer that missed an attack."""
    return [
        f"| {markdown(attack.id)} | {attack.harm} | {attempt.layer} | {markdown(attempt.by)} | "
        f"{markdown_code(attack.sql[:200])} |"
        for attempt in attack.attempts
        if attempt.finding == "missed"
    ]
