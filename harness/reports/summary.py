"""Writes summary.md, which fits a GitHub step summary, and summary.json, the same figures for a program."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from pathlib import Path
from typing import TypeVar

from sqlassay.cases.verdicts import Verdict
from sqlassay.harness.reports import figures
from sqlassay.harness.reports.escape import markdown, markdown_block, markdown_code
from sqlassay.harness.reports.evidence import case_sheet
from sqlassay.harness.reports.evidence_media import markdown_evidence
from sqlassay.harness.reports.files import Json, base_name, without_folders, write_json, write_text
from sqlassay.harness.results.case_result import CaseResult
from sqlassay.harness.results.run_result import RunResult

Part = TypeVar("Part", str, tuple[str, ...])

MARKDOWN = "summary.md"
JSON = "summary.json"
LISTED = 200
SHOWN_IN_FULL = 50
TEXT_LIMIT = 400
SQL_LIMIT = 4000
PART_BYTES = 180_000
"""What one part of the page may take: five of them fit the 1,024 KiB of a GitHub step summary."""

_COMPARED = frozenset({Verdict.MISMATCH, Verdict.UNDECIDED})


def write(run: RunResult, folder: Path) -> tuple[Path, ...]:
    """Write both summaries into `folder` and return their paths."""
    return (
        write_text(folder / MARKDOWN, summary_markdown(run)),
        write_json(folder / JSON, summary_json(run)),
    )


def summary_json(run: RunResult) -> dict[str, Json]:
    """Return the run's totals, each with its n, and everything that decided them."""
    manifest = run.manifest
    return {
        **figures.header_json(run),
        "scores": figures.aggregates_json(run),
        "scorable": run.scorable,
        "gold": figures.sorted_counts(figures.gold_counts(run)),
        "verdicts": figures.sorted_counts(run.verdicts),
        "causes": figures.sorted_counts(run.causes),
        "mutation_blocks": run.blocked,
        "disagreement_threshold": without_folders(manifest.settings.get("disagreement")),
        "disagreements": list(run.disagreements),
        "predicted_seconds": dict(sorted(run.percentiles.items())),
        "health": None if run.health is None else run.health.model_dump(mode="json"),
        "sandboxes": None if run.sandboxes is None else run.sandboxes.model_dump(mode="json"),
        **({} if run.judge is None else {"judge": run.judge.model_dump(mode="json")}),
        "thresholds": [threshold.model_dump(mode="json") for threshold in run.thresholds],
        "problems": list(run.problems),
        "breaches": list(run.breaches),
        "base": {
            "image": base_name(manifest.base_image),
            "digest": manifest.base_digest,
            "source": manifest.base_source,
            "key": manifest.image_key,
        },
        "settings": without_folders(manifest.settings),
        "policy": without_folders(manifest.policy),
        "policy_origin": without_folders(manifest.policy_origin),
        "packages": dict(sorted(manifest.packages.items())),
        "exit_code": int(run.exit_code),
        "verdict_line": run.verdict_line,
    }


def summary_markdown(run: RunResult) -> str:
    """Return the page: verdict line, scores with n, verdicts, causes, what was off, then each failed result."""
    manifest = run.manifest
    title = f"# sqlassay: {markdown(base_name(manifest.pack))} on {markdown(manifest.dialect)}"
    parts = [
        title,
        f"**{markdown(run.verdict_line)}**",
        _table(("score", "mean", "n", "of", "note"), [_score_row(run, name) for name in _metric_names(run)]),
        _counts("verdict", run.verdicts),
        _counts("cause", run.causes),
        _facts(run),
        _list("Thresholds", [_threshold(run, index) for index in range(len(run.thresholds))]),
        _list("Breaches", [markdown(line) for line in run.breaches]),
        _list("Problems", [markdown(line) for line in run.problems]),
        _peer_and_strict(run),
        _failures(run),
    ]
    return "\n\n".join(part for part in parts if part)


def _metric_names(run: RunResult) -> list[str]:
    """Return the metrics in the order the run reports them."""
    return [total.name for total in run.aggregates]


def _score_row(run: RunResult, name: str) -> tuple[str, ...]:
    """Return one metric's cells; the disagreement rate names its t."""
    total = run.aggregate(name)
    threshold = run.manifest.settings.get("disagreement")
    shown = f"{figures.label(name)} (t = {threshold})" if name == "disagreement" else figures.label(name)
    if total is None:
        return (markdown(shown), "–", "0", "0", "")
    return (markdown(shown), figures.decimal(total.mean), str(total.n), str(total.of), markdown(total.note))


def _counts(name: str, counts: dict[str, int]) -> str:
    """Return a table of counts, nothing where there are none."""
    rows = [(markdown(key), str(value)) for key, value in figures.sorted_counts(counts).items()]
    return _table((name, "n"), rows) if rows else ""


def _facts(run: RunResult) -> str:
    """Return what ran where and how fast, one fact a line."""
    manifest, times = run.manifest, run.percentiles
    lines = [
        f"- results: {figures.coverage(run)}",
        f"- gold: {markdown(figures.gold_line(run))}",
        f"- mutations blocked: {run.blocked}",
        *([f"- unsafe statements in the agent's own steps: {told}"] if (told := figures.unsafe_steps(run)) else []),
        f"- engine: {markdown(f'{manifest.dialect} {manifest.engine_version}, image {base_name(manifest.image)}')}",
        *([f"- engine settings: {markdown(told)}"] if (told := figures.engine_settings(run)) else []),
        f"- isolation: {markdown(figures.place(run))}",
        *([f"- health: {markdown(figures.health(run))}"] if figures.health(run) else []),
        *([f"- sandboxes: {markdown(figures.handouts(run))}"] if figures.handouts(run) else []),
        *([f"- judge: {markdown(figures.judge_line(run))}"] if run.judge else []),
        f"- predicted execution: p50 {figures.seconds(times.get('p50'))}, p95 {figures.seconds(times.get('p95'))}",
        f"- policy: {markdown(manifest.policy_digest)}, seed {manifest.seed}",
        f"- agent: {markdown(base_name(manifest.agent))}",
    ]
    return "\n".join(lines)


def _threshold(run: RunResult, index: int) -> str:
    """Return one declared threshold and whether it held."""
    return markdown(figures.threshold_line(run.thresholds[index]))


def _peer_and_strict(run: RunResult) -> str:
    """Return where the peer whose rule this run follows and `strict` do not agree, and why; nothing without a peer."""
    peer = run.manifest.policy.get("peer")
    if peer is None:
        return ""
    rows = [
        (
            markdown_code(result.case_id),
            str(result.trial),
            markdown(result.comparison.verdict),
            markdown(result.strict.verdict),
            markdown(_short(f"{result.strict.rule}: {result.strict.reason}", TEXT_LIMIT)),
        )
        for result in run.results
        if result.comparison is not None
        and result.strict is not None
        and result.comparison.verdict != result.strict.verdict
    ]
    shown = _fitting(rows[:LISTED])
    rest = f"\n\n{len(rows) - len(shown)} more are in results.jsonl." if len(rows) > len(shown) else ""
    table = _table(("case", "trial", markdown(str(peer)), "strict", "why strict says so"), shown) if rows else ""
    return f"## Where {markdown(str(peer))} and strict differ (n = {len(rows)})\n\n{table}{rest}".rstrip()


def _failures(run: RunResult) -> str:
    """Return a table of the results that are no match, then the first ones in full; what is left out is said."""
    failures = figures.failed(run.results)
    if not failures:
        return ""
    rows = _fitting([_failure_row(result) for result in failures[:LISTED]])
    left = len(failures) - len(rows)
    rest = f"\n\n{left} more are in results.csv." if left else ""
    table = _table(("case", "trial", "verdict", "cause", "reason"), rows)
    wrong = [result for result in failures if result.verdict in _COMPARED][:SHOWN_IN_FULL]
    blocks = "\n\n".join(_fitting([_in_full(result) for result in wrong]))
    return f"## Results that are no match (n = {len(failures)})\n\n{table}{rest}\n\n{blocks}".rstrip()


def _failure_row(result: CaseResult) -> tuple[str, ...]:
    """Return one failed result's cells."""
    cause = "" if result.cause is None else result.cause.value
    return (
        markdown_code(result.case_id),
        str(result.trial),
        markdown(result.verdict.value),
        markdown(cause),
        markdown(_short(result.reason, TEXT_LIMIT)),
    )


def _in_full(result: CaseResult) -> str:
    """Return one result that was compared, folded: question, evidence, gold and predicted SQL."""
    heading = f"<details><summary>{markdown_code(result.case_id)}: {markdown(_short(result.question, TEXT_LIMIT))}"
    gold = markdown_block(_short(result.gold_sql or "-- none", SQL_LIMIT))
    predicted = markdown_block(_short(result.predicted_sql or "-- none", SQL_LIMIT))
    shown = case_sheet(result)
    evidence = "" if shown is None else f"{markdown_evidence(shown)}\n\n"
    return f"{heading}</summary>\n\n{evidence}Gold:\n\n{gold}\n\nPredicted:\n\n{predicted}\n\n</details>"


def _short(text: str, limit: int) -> str:
    """Return the text, cut with a note of its whole length where it is past the limit."""
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters in all)"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table of cells that are escaped already."""
    lines = ["| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def _list(title: str, lines: Sequence[str]) -> str:
    """Return a titled list, nothing where it is empty; what does not fit is counted."""
    if not lines:
        return ""
    shown = _fitting(lines)
    more = [f"- {len(lines) - len(shown)} more are in summary.json"] if len(shown) < len(lines) else []
    return "\n".join([f"## {title}", "", *(f"- {line}" for line in shown), *more])


def _fitting(parts: Sequence[Part]) -> Sequence[Part]:
    """Return the leading parts that fit into one part of the page."""
    sizes = accumulate(len("".join(part).encode()) for part in parts)
    return parts[: sum(size <= PART_BYTES for size in sizes)]
