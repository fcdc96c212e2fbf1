"""Writes a comparison's evidence for a terminal, a Markdown page and an HTML page; every text is escaped here."""

from __future__ import annotations

import html
from collections.abc import Iterable

from sqlassay.harness.reports.escape import markdown, markdown_code, one_line
from sqlassay.harness.reports.evidence import CellPair, Sheet

_BOLD_RED, _BOLD, _PLAIN = "\x1b[1;31m", "\x1b[1m", "\x1b[0m"
_ABSENT = "–"

_STYLE = """\
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1b1b;background:#fff}
section{border:1px solid #ccc;border-radius:6px;padding:0 1rem 1rem;margin:1rem 0;overflow-x:auto}
h2{font-size:1.05rem;overflow-wrap:anywhere}dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem}
dt{color:#555}dd{margin:0;overflow-wrap:anywhere}table{border-collapse:collapse}caption{text-align:left;padding:.3rem 0}
th,td{border:1px solid #ccc;padding:.25rem .6rem;text-align:left;font-weight:normal;overflow-wrap:anywhere}
td{font-family:ui-monospace,monospace}thead th{background:#f3f3f3}tr.differs td{background:#fde2e0;font-weight:bold}
.match{color:#0a6b2d}.mismatch{color:#a8201a}.undecided{color:#7a5200}
"""


def terminal(shown: Sheet, title: str = "", *, color: bool = False) -> str:
    """Return the evidence as plain lines; `>` marks the columns that differ, colour only repeats it."""
    start, end = (_BOLD, _PLAIN) if color else ("", "")
    named = f"{title}: " if title else ""
    lines = [f"{start}{one_line(f'{named}{shown.verdict} by rule {shown.rule}')}{end}", f"  {one_line(shown.reason)}"]
    lines += [f"  {label}: {one_line(text)}" for label, text in shown.facts]
    if shown.heading:
        lines.append(f"  {one_line(shown.heading)} (gold | predicted)")
        lines += [_terminal_cell(cell, color=color) for cell in shown.cells]
    if shown.left_out:
        lines.append(f"      and {shown.left_out} more columns")
    return "\n".join(lines)


def _terminal_cell(cell: CellPair, *, color: bool) -> str:
    """Return one column's line."""
    name, gold, predicted = (one_line(text) for text in (cell.name, cell.gold or _ABSENT, cell.predicted or _ABSENT))
    line = f"  {'>' if cell.differs else ' '} {name}: {gold} | {predicted}"
    return f"{_BOLD_RED}{line}{_PLAIN}" if cell.differs and color else line


def markdown_evidence(shown: Sheet) -> str:
    """Return the evidence as Markdown: a line, a list of facts, and the first differing row as a table."""
    parts = [f"**{markdown(shown.verdict)}** by rule {markdown_code(shown.rule)}: {markdown(shown.reason)}"]
    if shown.facts:
        parts.append("\n".join(f"- {markdown(label)}: {markdown(text)}" for label, text in shown.facts))
    if shown.cells:
        rows = [_markdown_row(cell) for cell in shown.cells]
        head = f"| {markdown(shown.heading)} | gold | predicted |\n| --- | --- | --- |"
        parts.append("\n".join([head, *rows]))
    if shown.left_out:
        parts.append(f"… and {shown.left_out} more columns.")
    return "\n\n".join(parts)


def _markdown_row(cell: CellPair) -> str:
    """Return one column's row; a differing one is bold and marked."""
    cells = [_ABSENT if text is None else markdown_code(text) for text in (cell.gold, cell.predicted)]
    if cell.differs:
        return f"| ≠ <b>{markdown(cell.name)}</b> | <b>{cells[0]}</b> | <b>{cells[1]}</b> |"
    return f"| {markdown(cell.name)} | {cells[0]} | {cells[1]} |"


def html_evidence(shown: Sheet, title: str = "") -> str:
    """Return the evidence as one HTML section without script, style or link of its own."""
    named = f"{_html(title)}: " if title else ""
    known = shown.verdict if shown.verdict in ("match", "mismatch", "undecided") else "undecided"
    facts = "".join(f"<dt>{_html(label)}</dt><dd>{_html(text)}</dd>" for label, text in shown.facts)
    parts = [
        "<section>",
        f'<h2>{named}<span class="{known}">{_html(shown.verdict)}</span> by rule {_html(shown.rule)}</h2>',
        f"<p>{_html(shown.reason)}</p>",
        f"<dl>{facts}</dl>" if facts else "",
        _html_table(shown) if shown.cells else "",
        f"<p>… and {shown.left_out} more columns.</p>" if shown.left_out else "",
        "</section>",
    ]
    return "\n".join(part for part in parts if part)


def _html_table(shown: Sheet) -> str:
    """Return the first differing row as a table; the mark is text too, not colour alone."""
    rows = []
    for cell in shown.cells:
        opening = '<tr class="differs">' if cell.differs else "<tr>"
        name = f"≠ {_html(cell.name)}" if cell.differs else _html(cell.name)
        gold, predicted = (_html(text or _ABSENT) for text in (cell.gold, cell.predicted))
        rows.append(f'{opening}<th scope="row">{name}</th><td>{gold}</td><td>{predicted}</td></tr>')
    head = '<thead><tr><th scope="col">column</th><th scope="col">gold</th><th scope="col">predicted</th></tr></thead>'
    return f"<table><caption>{_html(shown.heading)}</caption>{head}<tbody>{''.join(rows)}</tbody></table>"


def html_head(title: str) -> str:
    """Return the start of a page that loads nothing and runs nothing."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_html(title)}</title>\n<style>\n{_STYLE}</style></head><body>\n<h1>{_html(title)}</h1>"
    )


HTML_END = "</body></html>"


def html_page(title: str, sections: Iterable[str]) -> str:
    """Return a whole page of sections that are escaped already."""
    return "\n".join([html_head(title), *sections, HTML_END, ""])


def _html(text: str) -> str:
    """Return text of unknown origin as HTML text or attribute value."""
    return html.escape(one_line(text), quote=True)
