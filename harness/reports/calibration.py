"""Shows a calibration in a terminal and writes its page: calibration.json and calibration.md."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sqlassay.harness.reports.escape import markdown, one_line
from sqlassay.harness.reports.files import base_name, write_json, write_text
from sqlassay.harness.results.calibration import Calibration, Interval95

LISTED = 20
_FIGURES = ("agreement", "kappa", "sensitivity", "specificity")


def write(found: Calibration, folder: Path) -> tuple[Path, ...]:
    """Write both files into `folder` and return their paths."""
    return (
        write_json(folder / "calibration.json", found.model_dump(mode="json")),
        write_text(folder / "calibration.md", page(found)),
    )


def terminal(found: Calibration) -> str:
    """Return the figures, the table, the advice and the cases that differ; the last line is the verdict."""
    (no_no, no_yes), (yes_no, yes_yes) = found.confusion
    width = max(len(str(count)) for row in found.confusion for count in row) + 3
    lines = [
        f"{found.judge} on {found.metric}, {base_name(found.labels)}: {found.judged} of {found.count} labels judged",
        *(f"{name:<12} {_shown(getattr(found, name))}" for name in _FIGURES),
        f"{'':<12} {'judge no':>{width + 8}}{'judge yes':>{width + 8}}",
        f"{'people no':<12} {no_no:>{width + 8}}{no_yes:>{width + 8}}",
        f"{'people yes':<12} {yes_no:>{width + 8}}{yes_yes:>{width + 8}}",
        f"threshold    {found.threshold:g}; {found.advice}",
        *_differing(found),
        _took(found),
    ]
    return "\n".join(one_line(line) for line in [*lines, found.verdict_line])


def _shown(found: Interval95) -> str:
    """Return a figure with its interval."""
    if found.value is None or found.low is None or found.high is None:
        return "not defined by these labels"
    return f"{found.value:.3f}  95 % {found.low:.3f} to {found.high:.3f}"


def _differing(found: Calibration) -> Iterator[str]:
    """Yield the first cases that judge and people differ on, and how many more there are."""
    for case in found.differing[:LISTED]:
        score = "none" if case.score is None else f"{case.score:.3g}"
        yield f"differs: {case.id}: people {'yes' if case.human else 'no'}, judge {score}: {case.reason}"
    if len(found.differing) > LISTED:
        yield f"and {len(found.differing) - LISTED} more differ"


def _took(found: Calibration) -> str:
    """Return what the judge took."""
    took = found.figures
    cost = "cost unknown" if took.cost is None else f"cost {took.cost:.6g}"
    tokens = f"{took.input_tokens} + {took.output_tokens} tokens"
    return f"judge: {took.asked} questions, {took.kept} answered before; {tokens}, {cost}"


def page(found: Calibration) -> str:
    """Return the page as Markdown."""
    (no_no, no_yes), (yes_no, yes_yes) = found.confusion
    lines = [
        f"# Calibration: {markdown(found.judge)}",
        "",
        f"**{markdown(found.verdict_line)}**",
        "",
        f"- metric: {markdown(found.metric)}, a yes from {found.threshold:g}",
        f"- labels: {markdown(base_name(found.labels))}, {found.judged} of {found.count} judged",
        f"- advice: {markdown(found.advice)}",
        f"- {markdown(_took(found))}",
        "",
        "| figure | value |",
        "|---|---|",
        *(f"| {name} | {_shown(getattr(found, name))} |" for name in _FIGURES),
        f"| kappa at {'–' if found.advised is None else f'{found.advised:.3g}'} | {_shown(found.advised_kappa)} |",
        f"| kappa on held-out labels | {_shown(found.held_out_kappa)} |",
        "",
        "| | judge no | judge yes |",
        "|---|---|---|",
        f"| people no | {no_no} | {no_yes} |",
        f"| people yes | {yes_no} | {yes_yes} |",
        "",
        *(f"- {markdown(line)}" for line in _differing(found)),
    ]
    return "\n".join(lines).rstrip("\n") + "\n"
