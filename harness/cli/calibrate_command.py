"""`sqlassay calibrate LABELS.jsonl`: measure a judge against people before its scores are believed."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from sqlassay.harness.results.calibration import Calibration


@click.command("calibrate")
@click.argument("labels", metavar="LABELS.jsonl")
@click.option("--judge", metavar="SPEC", multiple=True, required=True, help="Judge to measure: openai:MODEL[@URL], "
              "anthropic:MODEL, callable:MODULE:FUNCTION or replay:FILE; several are a panel.")  # fmt: skip
@click.option("--metric", metavar="NAME", default="sqlas.semantic_equivalence", show_default=True,
              help="Metric by judge whose score is held to the labels.")  # fmt: skip
@click.option("--threshold", type=click.FloatRange(0, 1), default=0.5, show_default=True,
              help="Score, on 0 to 1, from which the judge says yes.")  # fmt: skip
@click.option("--positive", type=click.FloatRange(0, 1), default=0.5, show_default=True,
              help="Grade from which people say yes, where labels are grades.")  # fmt: skip
@click.option("--fail-under", metavar="FIGURE=X", multiple=True, help="Exit 1 where agreement, kappa, kappa_low, "
              "sensitivity or specificity is below X.")  # fmt: skip
@click.option(
    "--judge-record", metavar="FILE", help="Write the judge's answers to a file that --judge replay:FILE reads."
)
@click.option("--judge-cache/--no-judge-cache", default=True, help="Keep a judge's answers for later (default: yes).")
@click.option("--jobs", type=click.IntRange(1, 256), default=4, show_default=True, help="Labels judged at once.")
@click.option("--out", metavar="DIR", help="Folder for calibration.json and calibration.md (default: none is written).")
def command(
    labels: str,
    judge: tuple[str, ...],
    metric: str,
    threshold: float,
    positive: float,
    fail_under: tuple[str, ...],
    judge_record: str | None,
    judge_cache: bool,
    jobs: int,
    out: str | None,
) -> int:
    """Measure how far a judge agrees with people.

    Each line of LABELS.jsonl holds what the judge would see (question, sql, gold_sql, rows, answer …) and what people
    said: "label" true, false, or a grade from 0 to 1. Prints agreement, Cohen's kappa with its interval, the confusion
    table and whether another threshold is worth taking. Exit 1: a bound of --fail-under does not hold; 3: a label has
    no judgement.
    """
    from sqlassay.cases.reading import read_bytes
    from sqlassay.harness.calibrate import calibrate, read_labels
    from sqlassay.harness.calibrate.calibration import Setup
    from sqlassay.harness.judges import open_judge
    from sqlassay.harness.metrics.registry import metrics
    from sqlassay.harness.reports.calibration import terminal
    from sqlassay.harness.store.output import check_output
    from sqlassay.sandboxes.cache import cache_dir

    if out is not None:
        check_output(Path(out), "calibrate")
    path = Path(labels)
    found = read_labels(path)
    setup = Setup(metrics([metric])[0], threshold, positive, tuple(map(_bound, fail_under)), jobs)
    record = Path(judge_record) if judge_record else None
    seated = open_judge(judge, cache=cache_dir() / "judge" if judge_cache else None, record=record)
    try:
        result = calibrate(found, path.name, hashlib.sha256(read_bytes(path)).hexdigest(), setup, seated)
    finally:
        seated.close()
    if out is not None:
        _write(result, Path(out))
    sys.stdout.write(terminal(result) + "\n")
    return int(result.exit_code)


def _bound(text: str) -> tuple[str, float]:
    """Return one declared bound.

    Raises:
        UsageError: it is not FIGURE=NUMBER.
    """
    figure, _, number = text.partition("=")
    try:
        value = float(number)
    except ValueError:
        value = float("nan")
    if not -1 <= value <= 1:
        raise click.UsageError(f"--fail-under takes FIGURE=NUMBER with a number from -1 to 1, not '{text}'.")
    return figure.strip(), value


def _write(result: Calibration, folder: Path) -> None:
    """Write both files.

    Raises:
        InfrastructureError: the folder cannot be written.
    """
    from sqlassay.cases.errors import InfrastructureError
    from sqlassay.harness.reports.calibration import write
    from sqlassay.harness.store.output import claim

    try:
        write(result, claim(folder, "calibrate"))
    except OSError as error:
        message = f"{folder} cannot be written ({error.strerror})"
        raise InfrastructureError(message, remedy="Name another folder with --out") from None
