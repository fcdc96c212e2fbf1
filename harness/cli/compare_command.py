"""`sqlassay compare PAIRS`: judge pairs of relations without any database, one line in, one line out."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

if TYPE_CHECKING:
    from sqlassay.cases.errors import InputError
    from sqlassay.cases.pairs import Pair
    from sqlassay.cases.policy import Policy
    from sqlassay.harness.results.case_result import ComparisonRecord

_NAMED = 10
FORMS = ("json", "text", "markdown", "html", "csv")

Writer = "Callable[[Pair, ComparisonRecord], str]"
"""Turns one judged pair into what is written about it."""


@click.command("compare")
@click.argument("pairs", metavar="PAIRS|GOLD")
@click.argument("predicted", metavar="[PREDICTED]", required=False)
@click.option(
    "--policy", metavar="NAME", default="strict", help="Policy below each line's own fields (default strict)."
)
@click.option("--out", metavar="FILE", help="Write there instead of to standard output.")
@click.option(
    "--evidence",
    type=click.Choice(FORMS),
    help="Show the evidence too: in the JSON lines, or as text, Markdown, HTML; csv: every differing cell.",
)
def command(pairs: str, predicted: str | None, policy: str, out: str | None, evidence: str | None) -> int:
    """Judge pairs of relations without any database.

    PAIRS is a JSON lines file (- for standard input): {"id", "policy", "gold": {"columns", "rows"}, "pred": {…}} with
    rows in typed JSON. For each line one JSON line {"id", "verdict", "reason", "rule"} is written. A malformed line
    is named on standard error, the others are judged all the same, and the exit code is 2. A line that says which
    verdict is right (label fields `verdict`, `tag`, `reason`) is told whether it is met, and the exit code is 1 where
    one is not. GOLD and PREDICTED are two files of results (CSV, TSV, Parquet, Excel, JSON), or two folders of them.
    """
    from sqlassay.cases.policy_spelling import policy_named

    base = policy_named(policy)
    counts: Counter[str] = Counter()
    labels = Labels()
    bad = 0
    source = Path("<stdin>" if pairs == "-" else pairs)
    with _read(pairs, predicted, source, base) as read, _target(out) as target:
        write = _writer(evidence, color=out is None and sys.stdout.isatty())
        target.write(_head(evidence, source))
        for judged in _judged(read, source):
            if isinstance(judged, Exception):
                bad += 1
                sys.stderr.write(f"INPUT: {judged}\n")
            else:
                counts[judged[1].verdict] += 1
                labels.take(*judged)
                target.write(write(*judged))
        target.write("</body></html>\n" if evidence == "html" else "")
        target.flush()
    return _ended(counts, bad, pairs, labels)


@dataclass
class Labels:
    """Which labels the verdicts met: how many there are, and the pairs whose label says otherwise."""

    total: int = 0
    missed: list[str] = field(default_factory=list)

    def take(self, pair: Pair, record: ComparisonRecord) -> None:
        """Count one judged pair, where it has a label."""
        self.total += pair.label is not None
        if pair.label not in (None, record.verdict):
            self.missed.append(f"{pair.id} ({pair.label}, found {record.verdict})")

    def told(self) -> str:
        """Return how many are met and which are not."""
        missed = f"; not met: {', '.join(self.missed[:_NAMED])}" if self.missed else ""
        more = f" and {len(self.missed) - _NAMED} more" if len(self.missed) > _NAMED else ""
        return f"{self.total - len(self.missed)} of {self.total} labels met{missed}{more}"


@contextmanager
def _read(pairs: str, predicted: str | None, source: Path, base: Policy) -> Iterator[Iterator[Pair | InputError]]:
    """Give the pairs of a file of pairs, or of two files or folders of results."""
    from sqlassay.cases.pairs import pairs_of_files, read_pairs

    if predicted is not None:
        yield pairs_of_files(Path(pairs), Path(predicted), base)
        return
    with _opened(pairs) as stream:
        yield read_pairs(stream, source, base)


@contextmanager
def _opened(pairs: str) -> Iterator[IO[bytes]]:
    """Open the pairs for reading.

    Raises: InputError where there is no such file.
    """
    from sqlassay.cases.errors import InputError

    if pairs == "-":
        yield sys.stdin.buffer
        return
    path = Path(pairs)
    if path.is_dir():
        raise InputError("is a folder", file=pairs, remedy="Name a file of JSON lines, or - for standard input")
    try:
        stream = path.open("rb")
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=pairs, remedy="Check the path") from None
    with stream:
        yield stream


@contextmanager
def _target(out: str | None) -> Iterator[IO[str]]:
    """Open what is written to.

    Raises: InfrastructureError where it cannot be written.
    """
    from sqlassay.cases.errors import InfrastructureError
    from sqlassay.cases.paths import private
    from sqlassay.harness.store.output import note

    if out is None:
        yield sys.stdout
        return
    try:
        target = open(out, "w", encoding="utf-8", newline="\n", opener=private)  # noqa: SIM115, PTH123 (closed below)
        note(Path(out))
    except OSError as error:
        raise InfrastructureError(f"{out} cannot be written ({error.strerror})", remedy="Name another --out") from None
    with target:
        yield target


def _judged(read: Iterator[Pair | InputError], name: Path) -> Iterator[tuple[Pair, ComparisonRecord] | Exception]:
    """Yield each pair with its verdict, or the error that makes a line none; one line is held at a time."""
    from sqlassay.cases.errors import InputError
    from sqlassay.cases.pairs import placed
    from sqlassay.harness.results.records import comparison_record
    from sqlassay.harness.results.verdicts import Comparison
    from sqlassay.harness.verdict import GoldRows, judge_rows

    for pair in read:
        if isinstance(pair, InputError):
            yield pair
            continue
        try:
            yield pair, comparison_record(judge_rows(GoldRows(pair.gold), pair.predicted, pair.policy))
        except InputError as error:
            yield placed(error, name, pair.line)
        except Exception as error:  # noqa: BLE001 (whatever fails on one pair, the pairs after it are judged all the same)
            reason = f"the comparator failed on this pair: {type(error).__name__}: {error}"
            yield pair, comparison_record(Comparison("undecided", "failed", reason, pair.policy.digest))


def _writer(evidence: str | None, *, color: bool) -> Callable[[Pair, ComparisonRecord], str]:
    """Return what turns a judged pair into text."""
    if evidence is None or evidence == "json":
        return lambda pair, record: _json_line(pair, record, whole=evidence == "json")
    if evidence == "csv":
        return _cells
    from sqlassay.harness.reports import evidence_media as media
    from sqlassay.harness.reports.escape import markdown_code
    from sqlassay.harness.reports.evidence import Sheet, sheet

    forms: dict[str, Callable[[Sheet, str], str]] = {
        "text": lambda shown, name: media.terminal(shown, name, color=color) + "\n",
        "markdown": lambda shown, name: f"## {markdown_code(name)}\n\n{media.markdown_evidence(shown)}\n\n",
        "html": lambda shown, name: media.html_evidence(shown, name) + "\n",
    }
    form = forms[evidence]

    def write(pair: Pair, record: ComparisonRecord) -> str:
        """Return the pair's evidence in the chosen form."""
        names = [[column.name for column in side.columns] for side in (pair.gold, pair.predicted)]
        return form(sheet(record, *names), pair.id)

    return write


def _cells(pair: Pair, record: ComparisonRecord) -> str:
    """Return a line for every cell in which a pair that does not match differs."""
    from sqlassay.harness.reports.differences import lines
    from sqlassay.harness.verdict import GoldRows, cells_apart

    if record.verdict == "match" or record.rule == "failed":
        return ""
    return lines(cells_apart(GoldRows(pair.gold), pair.predicted, pair.policy), pair.id)


def _json_line(pair: Pair, record: ComparisonRecord, *, whole: bool) -> str:
    """Return one JSON line; `whole` adds all evidence."""
    import json

    from sqlassay.harness.reports.escape import json_text

    value: dict[str, object] = {"id": pair.id, "verdict": record.verdict, "reason": record.reason, "rule": record.rule}
    if pair.label is not None:
        value |= {"label": pair.label, "met": pair.label == record.verdict}
        value |= {name: text for name, text in (("tag", pair.tag), ("why", pair.why)) if text is not None}
    if whole:
        value |= record.model_dump(mode="json", exclude=set(value))
    return json_text(json.dumps(value, ensure_ascii=False, separators=(",", ":"))) + "\n"


def _head(evidence: str | None, source: Path) -> str:
    """Return what stands before the first pair."""
    if evidence == "csv":
        from sqlassay.harness.reports.differences import head

        return head("id")
    if evidence != "html":
        return ""
    from sqlassay.harness.reports.evidence_media import html_head

    return html_head(f"sqlassay compare: {source.name}") + "\n"


def _ended(counts: Counter[str], bad: int, pairs: str, labels: Labels) -> int:
    """Say on standard error how it ended, so that standard output holds the answers alone; return the exit code."""
    total = sum(counts.values())
    shares = ", ".join(f"{counts[verdict]} {verdict}" for verdict in ("match", "mismatch", "undecided"))
    if bad:
        line, code = f"INPUT: {bad} malformed lines, {total} pairs judged: {shares}", 2
    elif not total:
        line, code = f"NOTHING SCORABLE: no pair in {pairs}", 5
    elif labels.missed:
        line, code = f"FAIL: {labels.told()}; {total} pairs: {shares}", 1
    else:
        met = f"; {labels.told()}" if labels.total else ""
        line, code = f"OK: {total} pairs: {shares}{met}", 0
    sys.stderr.write(f"{line} (exit {code})\n")
    return code
