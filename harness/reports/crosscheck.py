"""Shows a crosscheck in a terminal and writes its files: crosscheck.json, crosscheck.csv, summary.md and junit.xml."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sqlassay.cases.counting import counted
from sqlassay.harness.reports import crosscheck_csv, crosscheck_junit
from sqlassay.harness.reports.crosscheck_junit import cut
from sqlassay.harness.reports.escape import markdown, markdown_block, markdown_code, one_line
from sqlassay.harness.reports.files import base_name, write_json, write_text
from sqlassay.harness.results.crosscheck import Advice, Cell, CrossCase, CrossResult, Pair, Portability

MINIMUM_WIDTH = 60
_SHOWN = 40
_LISTED = 300
_SQL_LIMIT = 1500
_MESSAGE_LIMIT = 200
_ASIDE = {"gold": "gold's own", "both fail": "fail on both"}
_SCORE_HEADS = (
    "engines", "same rows", "silent", "error", "refused", "vacuous", "unexplained", "portability (95 %)", "coverage",
    "set aside",
)  # fmt: skip


_ALIKE = ("agree", "vacuous")


def write(found: CrossResult, folder: Path) -> tuple[Path, ...]:
    """Write every file into `folder` and return the paths; no folder of this machine is told."""
    found = found.model_copy(update={"agent": base_name(found.agent), "pack": base_name(found.pack)})
    return (
        write_json(folder / "crosscheck.json", found.model_dump(mode="json")),
        write_text(folder / "crosscheck.csv", crosscheck_csv.document(found)),
        write_text(folder / "summary.md", summary(found)),
        write_text(folder / "junit.xml", crosscheck_junit.document(found)),
    )


def render(found: CrossResult, folder: str, *, width: int, color: bool) -> str:
    """Return scores, causes and the cases that are not alike, `width` columns wide; the last line is the verdict."""
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
    console.print(_table(_heading(found), _SCORE_HEADS, map(_score, found.portability)))
    if found.advice:
        heads = ("cause", "silent", "errors", "whose", "case", "what to do")
        console.print(_table("Causes, silent ones first", heads, map(_cause, found.advice)))
        for line in _forms(found.advice):
            console.print(Text(one_line(line)), no_wrap=True, overflow="ellipsis")
    odd = disagreeing(found)
    if odd:
        title = f"Cases that are not alike: {len(odd)} of {len(found.cases)}"
        console.print(_table(title, ("case", *found.dialects, "cause"), (_odd(case) for case in odd[:_SHOWN])))
    for line in (*_facts(found, len(odd)), f"Reports in {folder}"):
        console.print(Text(one_line(line)), soft_wrap=True)
    lines = [line.rstrip() for line in buffer.getvalue().splitlines()]
    return "\n".join([*lines, one_line(found.verdict_line)])


def _table(title: str, heads: Sequence[str], rows: Iterator[tuple[str, ...]] | map[tuple[str, ...]]) -> Table:
    """Return a table of plain text."""
    table = Table(title=Text(one_line(title)), title_justify="left", expand=False)
    for head in heads:
        table.add_column(head, overflow="fold")
    for row in rows:
        table.add_row(*(Text(one_line(cell)) for cell in row))
    return table


def _heading(found: CrossResult) -> str:
    """Return what was crossed, and how."""
    engines = ", ".join(f"{name} {found.engines[name]}" for name in found.dialects)
    return f"{found.pack}: {found.agent} on {engines} ({found.predict})"


def _score(score: Portability) -> tuple[str, ...]:
    """Return one score's cells."""
    share = "–"
    if score.share is not None:
        share = f"{score.share:.3f} of {score.n} ({score.low:.3f}–{score.high:.3f})"
    coverage = "–" if score.coverage is None else f"{score.coverage:.3f}"
    counts = (score.same, score.silent, score.error, score.refused, score.vacuous, score.unexplained)
    aside = ", ".join(f"{count} {_ASIDE[name]}" for name, count in score.set_aside.items())
    return score.what, *map(str, counts), share, coverage, aside


def _cause(advice: Advice) -> tuple[str, ...]:
    """Return one class's cells."""
    owners = ", ".join(f"{name} {count}" for name, count in advice.owners.items())
    return advice.cause, str(advice.silent), str(advice.errors), owners, advice.case_id, advice.advice


def _forms(advice: Sequence[Advice]) -> list[str]:
    """Return the statement that showed each cause, a line each; the caller cuts it to the width."""
    shown = [f"  {one.cause}, {one.case_id} on {one.dialect}: {one.form}" for one in advice if one.form]
    return ["Shown by, each whole in crosscheck.csv:", *shown] if shown else []


def disagreeing(found: CrossResult) -> list[CrossCase]:
    """Return the cases whose engines are not all alike: silent differences first, then errors, then the rest."""
    order = {"silent": 0, "undecided": 1, "error": 2, "both fail": 3, "not run": 4}
    odd = [case for case in found.cases if any(pair.agreement not in _ALIKE for pair in case.pairs)]
    return sorted(odd, key=lambda case: min(order.get(pair.agreement, 9) for pair in case.pairs))


def cell_text(cell: Cell, case: CrossCase) -> str:
    """Return what stands in the matrix: rows and whether they are the first engine's, or how it failed."""
    verdict = f" ({cell.verdict})" if cell.verdict is not None else ""
    if cell.rows is None:
        return f"{cell.outcome}{verdict}"
    first = case.cells[0].dialect
    pair = next((one for one in case.pairs if (one.one, one.other) == (first, cell.dialect)), None)
    word = "" if pair is None or pair.agreement in ("agree", "vacuous", "error") else f", {pair.agreement}"
    return f"{cell.rows} row{'' if cell.rows == 1 else 's'}{word}{verdict}"


def causes_of(case: CrossCase) -> str:
    """Return a case's causes with their owners, each once."""
    found = [pair.found for pair in case.pairs if pair.found is not None]
    texts = [
        f"{' and '.join((one.cause, *one.also))} ({one.owner}{'' if one.explained else ', NOT EXPLAINED'})"
        for one in found
    ]
    return ", ".join(dict.fromkeys(texts))


def _odd(case: CrossCase) -> tuple[str, ...]:
    """Return one case's row."""
    return (case.case_id, *(cell_text(cell, case) for cell in case.cells), causes_of(case))


def _facts(found: CrossResult, odd: int) -> tuple[str, ...]:
    """Return the lines below the tables."""
    pairs = Counter(pair.agreement for case in found.cases for pair in case.pairs)
    more = [f"{odd - _SHOWN} more cases are in summary.md and crosscheck.json"] if odd > _SHOWN else []
    return (
        *more,
        *(f"{name} settings: {told}" for name, told in found.engine_settings.items()),
        "Pairs: " + ", ".join(f"{count} {name}" for name, count in pairs.most_common()),
        *(f"Unexplained: {line}" for line in found.unexplained[:_SHOWN]),
        *(f"Problem: {line}" for line in found.problems[:_SHOWN]),
        *(f"Breach: {line}" for line in found.breaches),
        f"{counted(len(found.cases), 'case')} in {found.seconds:.0f} s",
    )


def summary(found: CrossResult) -> str:
    """Return the crosscheck as Markdown: scores, causes with an example each, then the matrix."""
    odd = disagreeing(found)
    lines = [f"# {markdown(_heading(found))}", "", f"**{markdown(found.verdict_line)}**", ""]
    lines += _rows(_SCORE_HEADS, [_score(s) for s in found.portability])
    lines += ["", *(f"- {markdown(line)}" for line in _facts(found, len(odd)))]
    if found.advice:
        lines += ["", "## Causes, silent ones first", ""]
        lines += _rows(("cause", "silent", "errors", "whose", "case", "what to do"), [_cause(a) for a in found.advice])
        lines += [line for advice in found.advice for line in _example(advice)]
        lines += ["", "The statement that showed the cause of every case and pair is in crosscheck.csv."]
    if odd:
        lines += ["", f"## Cases that are not alike ({len(odd)} of {len(found.cases)})", ""]
        lines += _rows(("case", *found.dialects, "cause"), [_odd(case) for case in odd[:_LISTED]])
        if len(odd) > _LISTED:
            lines += ["", f"{len(odd) - _LISTED} more are in crosscheck.json."]
    empty = [case.case_id for case in found.cases if case not in odd and case.pairs[0].agreement == "vacuous"]
    lines += ["", f"All other cases ({len(found.cases) - len(odd)}) give the same rows on every engine."]
    if empty:
        shown = ", ".join(markdown_code(name) for name in empty[:_LISTED])
        lines += ["", f"{len(empty)} of them give no value on any engine, which shows nothing: {shown}."]
    return "\n".join(lines)


def _rows(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a Markdown table."""
    body = [f"| {' | '.join(markdown(cell) for cell in row)} |" for row in rows]
    return [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}", *body]


def _example(advice: Advice) -> list[str]:
    """Return the smallest example of one class."""
    heading = f"{markdown(advice.cause)}: {markdown_code(advice.case_id)} on {markdown(advice.dialect)}"
    message = markdown(advice.message[:_MESSAGE_LIMIT])
    return [
        "",
        f"<details><summary>{heading}: {message}</summary>",
        "",
        markdown_block(cut(advice.sql, _SQL_LIMIT) or "-- nothing was run"),
        "",
        *_proof(advice),
        "</details>",
    ]


def _proof(advice: Advice) -> list[str]:
    """Return how the cause was shown, and the statement that showed it."""
    shown = [markdown(advice.probe[:_SQL_LIMIT]) + (":" if advice.form else "."), ""]
    return shown + ([markdown_block(cut(advice.form, _SQL_LIMIT)), ""] if advice.form else [])


def pair_text(pair: Pair) -> str:
    """Return one pair's disagreement in a line: cause, owner, first difference, and the probe."""
    if pair.found is None:
        return f"{pair.one} and {pair.other}: {pair.agreement}: {pair.reason}"
    found = pair.found
    return (
        f"{pair.one} and {pair.other}: {pair.agreement}, {found.cause} ({found.owner}): {pair.reason} [{found.probe}]"
    )
