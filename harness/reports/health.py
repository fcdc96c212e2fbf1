"""Shows the health of a pack's gold in a terminal and writes its page: health.json and health.md."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sqlassay.cases.counting import counted
from sqlassay.harness.reports.escape import markdown, markdown_block, one_line
from sqlassay.harness.reports.files import write_json, write_text
from sqlassay.harness.results.health import MEANINGS, Finding, Flag, Health

MINIMUM_WIDTH = 60
_IDS = 8


def write(found: Health, folder: Path) -> tuple[Path, ...]:
    """Write both files into `folder` and return their paths."""
    return (
        write_json(folder / "health.json", found.model_dump(mode="json")),
        write_text(folder / "health.md", page(found)),
    )


def render(found: Health, folder: str, *, width: int, color: bool) -> str:
    """Return the table of flags, `width` columns wide; the last line is the verdict, never wrapped."""
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
    dialects = [one.dialect for one in found.checked]
    table = Table(title=Text(one_line(_heading(found))), title_justify="left", expand=False)
    table.add_column("flag", no_wrap=True)
    for name in dialects:
        table.add_column(Text(one_line(name)), justify="right", no_wrap=True)
    table.add_column("cases", overflow="fold")
    for flag, counts in found.counts.items():
        cells = (flag, *(str(counts.get(name, 0)) for name in dialects), _listed(found, Flag(flag)))
        table.add_row(*(Text(one_line(cell)) for cell in cells), style="red" if flag in found.fail_on else None)
    if found.counts:
        console.print(table)
    else:
        console.print(Text(one_line(_heading(found))))
    for line in (*_facts(found), f"Health page in {folder}"):
        console.print(Text(one_line(line)), soft_wrap=True)
    lines = [line.rstrip() for line in buffer.getvalue().splitlines()]
    return "\n".join([*lines, one_line(found.verdict_line)])


def _heading(found: Health) -> str:
    """Return whose gold was examined."""
    return f"Gold health: {found.pack}, {found.flagged} of {found.cases} cases flagged"


def _listed(found: Health, flag: Flag) -> str:
    """Return the first cases that carry a flag."""
    ids = list(dict.fromkeys(one.case_id for one in found.findings if one.flag is flag))
    more = f" and {len(ids) - _IDS} more" if len(ids) > _IDS else ""
    return ", ".join(ids[:_IDS]) + more


def _facts(found: Health) -> Iterator[str]:
    """Yield how much was examined, and what could not be."""
    for one in found.checked:
        yield (
            f"{one.dialect} {one.engine_version}: {counted(one.cases, 'case')}, "
            f"{counted(one.golds, 'gold statement')}, {counted(one.executions, 'execution')}"
        )
        if one.engine_settings:
            yield f"{one.dialect} settings: {one.engine_settings}"
    if found.notes:
        yield f"{counted(len(found.notes), 'thing')} could not be examined; the page says which"
    yield from (f"Problem: {line}" for line in found.problems)


def page(found: Health) -> str:
    """Return the health page as Markdown."""
    dialects = [one.dialect for one in found.checked]
    fatal = ", ".join(found.fail_on) or "nothing"
    lines = [
        f"# {markdown(_heading(found))}",
        "",
        markdown(found.verdict_line),
        "",
        f"Policy {markdown(found.policy)}, seed {found.seed}. Fails on: {markdown(fatal)}.",
        "",
        *(f"- {markdown(line)}" for line in _facts(found)),
    ]
    if found.counts:
        lines += ["", f"| flag | {' | '.join(map(markdown, dialects))} | meaning | remedy |"]
        lines += ["|---|" + "---:|" * len(dialects) + "---|---|"]
        lines += [_row(flag, counts, dialects) for flag, counts in found.counts.items()]
    for flag in found.counts:
        lines += ["", f"## {markdown(flag)}", "", f"{markdown(MEANINGS[Flag(flag)][0])}."]
        for one in found.findings:
            if one.flag == flag:
                lines += _finding(one)
    if found.notes:
        lines += ["", "## Not examined", ""]
        lines += [f"- {markdown(f'{note.case_id} on {note.dialect}: {note.text}')}" for note in found.notes]
    return "\n".join(lines)


def _row(flag: str, counts: dict[str, int], dialects: list[str]) -> str:
    """Return one flag's row of the table."""
    meaning, remedy = MEANINGS[Flag(flag)]
    cells = (flag, *(str(counts.get(name, 0)) for name in dialects), meaning, remedy)
    return f"| {' | '.join(map(markdown, cells))} |"


def _finding(one: Finding) -> list[str]:
    """Return one flagged statement with its evidence and remedy."""
    which = f", alternative {one.alternative}" if one.alternative > 1 else ""
    lines = ["", f"### {markdown(f'{one.case_id} on {one.dialect}{which}')}", "", markdown(one.evidence)]
    lines += ["", markdown_block(one.sql)]
    if one.probe is not None:
        lines += ["", "Asked of the data:", "", markdown_block(one.probe)]
    lines += ["", *(f"- {markdown(row)}" for row in one.rows)] if one.rows else []
    return [*lines, "", f"Remedy: {markdown(one.remedy)}."]
