"""Shows a run judged again under other policies: in a terminal, as rescore.md and as rescore.json."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sqlassay.harness.reports.escape import markdown, markdown_code, one_line, redact
from sqlassay.harness.reports.evidence import sheet
from sqlassay.harness.reports.evidence_media import markdown_evidence
from sqlassay.harness.reports.figures import decimal
from sqlassay.harness.reports.files import base_name, write_json, write_text
from sqlassay.harness.results.rescored import Flip, PolicyTotal, Rescored

MARKDOWN = "rescore.md"
JSON = "rescore.json"
LISTED = 40
"""Flips a terminal lists; the files hold them all."""

IN_FULL = 200
"""Flips rescore.md shows with their evidence; past these the table alone names them."""

_HEADS = ("policy", "n", "match", "mismatch", "undecided", "execution accuracy", "policy digest")
_REASON = 160


def write(rescored: Rescored, folder: Path) -> tuple[Path, ...]:
    """Write rescore.json and rescore.md into `folder` and return their paths."""
    return (
        write_json(folder / JSON, rescored.model_dump(mode="json")),
        write_text(folder / MARKDOWN, rescore_markdown(rescored)),
    )


def terminal(rescored: Rescored) -> str:
    """Return a table of the policies, what could not be judged, the flips, and the verdict line last."""
    rows = [_HEADS, *(_total_row(total, rescored) for total in rescored.totals)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADS))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines += ["", *_notes(rescored)]
    for flip in rescored.flips[:LISTED]:
        lines.append(f"{_name(flip)}: {flip.recorded} in the run")
        lines += [f"  {name}: {verdict} by rule {rule}: {reason}" for name, verdict, rule, reason in _sides(flip)]
    if len(rescored.flips) > LISTED:
        lines.append(f"{len(rescored.flips) - LISTED} more verdicts differ; {MARKDOWN} has them all")
    return "\n".join(one_line(line) for line in (*lines, rescored.verdict_line))


def rescore_markdown(rescored: Rescored) -> str:
    """Return the page: verdict line, totals, what could not be judged, then each flip with its evidence."""
    title = f"# sqlassay rescore: {markdown(base_name(rescored.pack))} on {markdown(rescored.dialect)}"
    parts = [
        title,
        f"**{markdown(rescored.verdict_line)}**",
        f"Run {markdown_code(rescored.run_id)}. No database was used: the stored rows were judged again.",
        _table(_HEADS, [tuple(map(markdown, _total_row(total, rescored))) for total in rescored.totals]),
        "\n".join(f"- {markdown(note)}" for note in _notes(rescored)),
    ]
    if rescored.flips:
        rows = [(markdown_code(_name(flip)), *map(markdown, _verdict_cells(flip, rescored))) for flip in rescored.flips]
        heads = ("case", "in the run", *(markdown(total.name) for total in rescored.totals))
        parts.append(f"## Verdicts that differ (n = {len(rescored.flips)})\n\n{_table(heads, rows)}")
        parts += [_in_full(flip) for flip in rescored.flips[:IN_FULL]]
    if len(rescored.flips) > IN_FULL:
        parts.append(f"The evidence of {len(rescored.flips) - IN_FULL} more is in {JSON}.")
    return "\n\n".join(part for part in parts if part)


def _total_row(total: PolicyTotal, rescored: Rescored) -> tuple[str, ...]:
    """Return one policy's cells."""
    name = f"{total.name} ({rescored.own_policy})" if total.name == "run" else total.name
    counts = (str(total.n), str(total.match), str(total.mismatch), str(total.undecided))
    return (name, *counts, decimal(total.accuracy), total.digest)


def _notes(rescored: Rescored) -> list[str]:
    """Say what the counts cover, what no policy changes, and what could not be judged or found again."""
    carried = ", ".join(f"{count} {verdict}" for verdict, count in rescored.carried.items())
    notes = [
        f"{rescored.judged} of {rescored.compared} compared results judged again; "
        f"{rescored.scorable} of {rescored.results} results are scorable"
    ]
    if carried:
        notes.append(f"never compared, so the same under every policy: {carried}")
    left = ", ".join(f"{total.name} {total.left_out}" for total in rescored.totals if total.left_out)
    if left:
        notes.append(f"undecided by the gold itself and left out of the denominator (leave_undetermined): {left}")
    if rescored.not_stored:
        notes.append(
            f"cannot be judged again, as the run kept rows by --store-rows {rescored.store_rows}: "
            f"{len(rescored.not_stored)} results ({_listed(rescored.not_stored)}); no accuracy is given"
        )
    if rescored.not_reproduced:
        notes.append(
            f"the stored rows give another verdict than was recorded, under the run's own policy: "
            f"{len(rescored.not_reproduced)} results ({_listed(rescored.not_reproduced)})"
        )
    return notes


def _listed(names: Sequence[str], most: int = 5) -> str:
    """Return the first names and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _name(flip: Flip) -> str:
    """Name a result."""
    return flip.case_id if flip.trial == 0 else f"{flip.case_id} (trial {flip.trial})"


def _sides(flip: Flip) -> list[tuple[str, str, str, str]]:
    """Return each policy's verdict, rule and reason, the reason cut with a mark."""
    reasons = {name: redact(record.reason) for name, record in flip.judged.items()}
    return [
        (name, record.verdict, record.rule, reasons[name][:_REASON] + "…" * (len(reasons[name]) > _REASON))
        for name, record in flip.judged.items()
    ]


def _verdict_cells(flip: Flip, rescored: Rescored) -> tuple[str, ...]:
    """Return the recorded verdict and each policy's with its rule."""
    judged = [flip.judged[total.name] for total in rescored.totals]
    return (flip.recorded, *(f"{record.verdict} ({record.rule})" for record in judged))


def _in_full(flip: Flip) -> str:
    """Return one flip folded: each policy's reason, and the evidence of the first that says mismatch."""
    lines = [
        f"- {markdown(name)}: **{markdown(verdict)}** by rule {markdown_code(rule)}: {markdown(reason)}"
        for name, verdict, rule, reason in _sides(flip)
    ]
    lines += [
        f"- {markdown(name)} goes by another accepted gold: {markdown_code(redact(gold.sql or '?'))}"
        for name, gold in flip.other_gold.items()
    ]
    name, telling = next(((n, record) for n, record in flip.judged.items() if record.first is not None), ("", None))
    golds = flip.other_gold[name].columns if name in flip.other_gold else flip.gold_columns
    shown = "" if telling is None else markdown_evidence(sheet(telling, golds, flip.predicted_columns))
    body = "\n\n".join(part for part in ("\n".join(lines), shown) if part)
    return f"<details><summary>{markdown_code(_name(flip))}</summary>\n\n{body}\n\n</details>"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table of cells that are escaped already."""
    lines = ["| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])
