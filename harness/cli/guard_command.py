"""`sqlassay guard`: say of every statement in a file whether it would reach a database; needs none."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from sqlassay.cases.catalog import Catalog
    from sqlassay.cases.errors import InputError
    from sqlassay.dialect_adapters.contract import GrammarRules
    from sqlassay.harness.guard.statements import Statement
    from sqlassay.harness.results.verdicts import GuardVerdict


@click.command("guard")
@click.argument("file", metavar="FILE")
@click.option("--dialect", required=True, help="Engine whose rules decide.")
@click.option("--catalog", "--catalogue", metavar="FILE", help="Catalogue (JSON) of the snapshot; default: none.")
@click.option("--profile", type=click.Choice(["dql", "dml", "ddl"]), default="dql", show_default=True)
def command(file: str, dialect: str, catalog: str | None, profile: str) -> int:
    """Judge every statement of FILE (`-`: standard input) without any database.

    FILE holds JSON lines of {"id", "sql"}, or is any file of predictions: our own lines, a table (CSV, JSON, Excel; its
    columns are guessed and told), or a map of {id: sql}. Each statement gives one line {"id", "verdict", "reason",
    "node", "flags"}, the verdict allowed or rejected; a prediction without a statement gives none. A statement in a
    fence, in JSON or among words is read as a run reads it, and `answer_rules` says how. A malformed line is named on
    standard error, the others are judged all the same, and the exit code is 2.
    Without a catalogue only the system's own schemas and functions are denied; of tables, columns and functions of the
    snapshot's own nothing is known, which a line says.
    """
    from sqlassay.dialect_adapters.registry import adapter

    rules = adapter(dialect).rules
    tables = None if catalog is None else _catalog(Path(catalog))
    counts: Counter[str] = Counter()
    with _judge(dialect, rules, tables, profile) as judge:
        for statement in _statements(file):
            if isinstance(statement, Exception):
                counts["malformed"] += 1
                click.echo(f"INPUT: {statement}", err=True)
                continue
            if statement.sql is None:
                counts["none"] += 1
                continue
            verdict, read_by = judge(statement.sql)
            counts.update(all=1, rejected=int(not verdict.allowed), flagged=int(bool(verdict.flags)))
            line = {
                "id": statement.id,
                "verdict": "allowed" if verdict.allowed else "rejected",
                "reason": verdict.reason,
                "node": verdict.node,
                "flags": list(verdict.flags),
                **({"answer_rules": list(read_by)} if read_by else {}),
            }
            click.echo(json.dumps(line))
    if tables is None:
        click.echo("No catalogue: tables, columns and functions of the snapshot's own were not asked about.", err=True)
    return _ended(counts, file)


@contextmanager
def _judge(
    dialect: str, rules: GrammarRules, catalog: Catalog | None, profile: str
) -> Iterator[Callable[[str], tuple[GuardVerdict, tuple[str, ...]]]]:
    """Give the function that parses and guards one text; its parser ends with the block."""
    from sqlassay.harness.answer import read_answer
    from sqlassay.harness.guard import check
    from sqlassay.harness.parse.parser import Parser
    from sqlassay.harness.results.verdicts import GuardVerdict

    with Parser() as parser:

        def judge(text: str) -> tuple[GuardVerdict, tuple[str, ...]]:
            """Return the verdict on one answer, read as a run reads it, and the rules that made SQL of it."""
            answer = read_answer(text, rules)
            if answer.sql is None:
                return GuardVerdict(False, answer.reason, node="unreadable_answer"), answer.rules
            spoken = rules.sqlglot_dialect
            parsed = parser.parse(
                answer.sql,
                dialect,
                catalog,
                sqlglot_dialect=spoken,
                cte_scope=rules.cte_scope,
                spellings=rules.spellings,
                brief=True,
            )
            return check(parsed, rules, catalog, profile=profile), answer.rules

        yield judge


def _statements(file: str) -> Iterator[Statement | InputError]:
    """Yield every statement of a file or of standard input, or the error that makes a line none.

    Raises:
        InputError: the file cannot be read.
    """
    from sqlassay.cases.errors import InputError
    from sqlassay.harness.guard.statements import read_statements, statements_of

    if file == "-":
        yield from read_statements(sys.stdin.buffer, "<stdin>")
        return
    try:
        yield from statements_of(Path(file))
    except OSError as error:
        why = f"the file cannot be read: {error.strerror}"
        raise InputError(why, file=file, remedy="Name a file of statements") from error


def _ended(counts: Counter[str], file: str) -> int:
    """Say on standard error how it ended and return the exit code.

    Raises:
        InputError: there was no line at all.
    """
    from sqlassay.cases.errors import InputError

    if not counts["all"] and not counts["malformed"] and not counts["none"]:
        name = "standard input" if file == "-" else file
        raise InputError("there is no statement in it", file=name, remedy='Write lines of {"id": …, "sql": …}')
    statements = "statement" if counts["all"] == 1 else "statements"
    found = f"{counts['all']} {statements}, {counts['rejected']} rejected, {counts['flagged']} flagged"
    if counts["none"]:
        found += f", {counts['none']} without a statement"
    bad = counts["malformed"]
    line = (
        f"INPUT: {bad} malformed {'line' if bad == 1 else 'lines'}, {found} (exit 2)"
        if bad
        else f"OK: {found} (exit 0)"
    )
    click.echo(line, err=True)
    return 2 if bad else 0


def _catalog(path: Path) -> Catalog:
    """Return the catalogue of a file.

    Raises:
        InputError: the file is no catalogue.
    """
    from sqlassay.cases.catalog import Catalog
    from sqlassay.cases.errors import InputError

    try:
        return Catalog.model_validate_json(path.read_bytes())
    except (OSError, ValueError) as error:
        remedy = "Name the catalogue written beside a snapshot's image"
        raise InputError("the file is no catalogue", file=path, remedy=remedy) from error
