"""`sqlassay stef`: score SQL by its question alone, as STEF does; needs no schema, no gold and no database."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

if TYPE_CHECKING:
    from sqlassay.harness.parse import Parser
    from sqlassay.harness.results.judging import Ask
    from sqlassay.harness.results.parsed import ParsedQuery
    from sqlassay.harness.results.stef import RunTotals
    from sqlassay.harness.stef.assessment import Assessment
    from sqlassay.harness.stef.lines import Row
    from sqlassay.harness.stef.rules import RuleBook


@click.command("stef")
@click.argument("file", metavar="FILE.jsonl")
@click.option("--dialect", help="Engine whose SQL it is; default: postgres.")
@click.option("--grammar", metavar="NAME", help="Grammar in place of an engine: snowflake, bigquery, tsql, …")
@click.option("--rules", metavar="FILE", help="Rule profiles of the applications (JSON or YAML).")
@click.option("--profile", metavar="NAME", help="Rule profile of lines that name none.")
@click.option("--judge", "judges", multiple=True, metavar="SPEC", help="Judge asked for what lines do not give.")
@click.option(
    "--judge-record", metavar="FILE", help="Write the judge's answers to a file that --judge replay:FILE reads."
)
@click.option("--summary", metavar="FILE", help="Write mean, P90, coverage and breakdowns here (JSON).")
def command(
    file: str,
    dialect: str | None,
    grammar: str | None,
    rules: str | None,
    profile: str | None,
    judges: tuple[str, ...],
    judge_record: str | None,
    summary: str | None,
) -> int:
    """Score every line of FILE.jsonl (`-`: standard input) without schema, gold or database.

    Each line {"id", "question", "enriched_question", "sql"} may hold "rules" (a profile's name, or the rules), "spec"
    (the question's specification), "verdict" with "confidence", "drift", and "agent", "version", "category" to break
    results down by. It gives one line with every signal. What a line does not give is asked of the judge; what nobody
    gives is unavailable, and so is the score, never a default. A malformed line is named on standard error, the
    others are scored all the same, and the exit code is 2.
    """
    from dataclasses import replace

    from sqlassay.dialect_adapters.registry import adapter
    from sqlassay.harness.answer import read_answer
    from sqlassay.harness.parse import Parser
    from sqlassay.harness.prompts import without_comments
    from sqlassay.harness.results.stef import Mark, totals
    from sqlassay.harness.stef.assessment import assess
    from sqlassay.harness.stef.lines import read_rows

    book = _book(rules, profile)
    if dialect is not None and grammar is not None:
        raise click.UsageError("give --dialect or --grammar, not both")
    found: list[Mark] = []
    bad = 0
    with _opened(file) as stream, _seated(judges, judge_record) as ask, Parser() as parser:
        read = _reader(parser, dialect or "postgres") if grammar is None else _foreign_reader(parser, grammar)
        for row in read_rows(stream, "<stdin>" if file == "-" else file, book, profile):
            if isinstance(row, Exception):
                click.echo(f"INPUT: {row}", err=True)
                bad += 1
                found.append(Mark())
                continue
            answer = None if grammar is not None else read_answer(row.line.sql, adapter(dialect or "postgres").rules)
            if answer is not None and answer.sql is not None:
                row = replace(row, line=row.line.model_copy(update={"sql": answer.sql}))  # noqa: PLW2901
            parsed = read(row.line.sql)
            blocks = None if parsed.error is not None else parsed.blocks
            shown = row.submitted.model_copy(update={"sql": without_comments(parsed)})
            assessment = assess(shown, blocks, parsed.error or "", row.profile, ask)
            line = row.line
            found.append(assessment.mark(line.agent, line.version, line.category))
            _write(row, assessment)
    figures = totals(found)
    if summary is not None:
        _summarise(figures, Path(summary))
    return _ended(figures, bad, file)


def _reader(parser: Parser, dialect: str) -> Callable[[str], ParsedQuery]:
    """Return what reads one text of an installed engine.

    Raises:
        InputError: no such dialect.
    """
    from sqlassay.dialect_adapters.registry import adapter

    rules = adapter(dialect).rules
    return partial(
        parser.parse,
        dialect=dialect,
        sqlglot_dialect=rules.sqlglot_dialect,
        cte_scope=rules.cte_scope,
        spellings=rules.spellings,
    )


def _foreign_reader(parser: Parser, grammar: str) -> Callable[[str], ParsedQuery]:
    """Return what reads one text in a grammar the parser has beside the installed engines'.

    Raises:
        InputError: the parser has no such grammar.
    """
    from sqlassay.cases.errors import InputError

    read = partial(parser.parse, dialect=grammar, sqlglot_dialect=grammar)
    if parser.parse("SELECT 1", grammar, sqlglot_dialect=grammar).error is not None:
        remedy = "Name one sqlglot knows, such as snowflake, bigquery, tsql, redshift, databricks or duckdb"
        raise InputError(f"the parser has no grammar '{grammar}'", field="--grammar", remedy=remedy)
    return read


def _write(row: Row, assessment: Assessment) -> None:
    """Print one line's signals, its id and where it belongs first."""
    import json

    from sqlassay.harness.reports.escape import json_text
    from sqlassay.harness.reports.files import portable

    line = row.line
    head = {"format": 1, "id": line.id, "agent": line.agent, "version": line.version, "category": line.category}
    known = {name: value for name, value in head.items() if value is not None}
    value = known | assessment.model_dump(mode="json")
    click.echo(json_text(json.dumps(portable(value), ensure_ascii=False)))


def _book(rules: str | None, profile: str | None) -> RuleBook:
    """Return the rule profiles of a file, none without one; the profile chosen must be among them."""
    from sqlassay.harness.stef.rules import RuleBook, read_rules

    book = RuleBook() if rules is None else read_rules(Path(rules))
    book.profile(profile)
    return book


@contextmanager
def _seated(specs: tuple[str, ...], record: str | None) -> Iterator[Ask | None]:
    """Give the judge of the specs, None without any; it ends with the block."""
    if not specs:
        yield None
        return
    from sqlassay.harness.judges import open_judge

    judge = open_judge(specs, record=None if record is None else Path(record))
    try:
        yield judge
    finally:
        judge.close()


@contextmanager
def _opened(file: str) -> Iterator[IO[bytes]]:
    """Open the lines for reading.

    Raises:
        InputError: the file cannot be read.
    """
    from sqlassay.cases.errors import InputError

    if file == "-":
        yield sys.stdin.buffer
        return
    try:
        stream = Path(file).open("rb")  # noqa: SIM115 (closed below)
    except OSError as error:
        why = f"the file cannot be read: {error.strerror}"
        raise InputError(why, file=file, remedy="Name a JSONL file of {id, question, sql}") from error
    with stream:
        yield stream


def _summarise(figures: RunTotals, path: Path) -> None:
    """Write a run's figures.

    Raises:
        InfrastructureError: the file cannot be written.
    """
    from sqlassay.cases.errors import InfrastructureError
    from sqlassay.cases.paths import private

    try:
        with open(path, "w", encoding="utf-8", opener=private) as stream:  # noqa: PTH123 (Path has no opener)
            stream.write(figures.model_dump_json(indent=2) + "\n")
    except OSError as error:
        raise InfrastructureError(f"{path} cannot be written ({error.strerror})", remedy="Name another file") from None


def _ended(figures: RunTotals, bad: int, file: str) -> int:
    """Say on standard error how it ended, so that standard output holds the signals alone; return the exit code."""
    if not figures.submitted:
        line, code = f"NOTHING SCORABLE: no line in {'standard input' if file == '-' else file}", 5
    else:
        shares = f"{figures.evaluated} of {figures.submitted} lines scored"
        if figures.mean is not None and figures.coverage is not None:
            shares += f", mean {figures.mean:.1f}, P90 {figures.p90:g}, coverage {figures.coverage:.1%}"
        word, code = ("INPUT", 2) if bad else ("OK", 0) if figures.evaluated else ("NOTHING SCORABLE", 5)
        line = f"{word}: {f'{bad} malformed, ' if bad else ''}{shares}"
    click.echo(f"{line} (exit {code})", err=True)
    return code
