"""`sqlassay guard`: say of every statement in a file whether it would reach a database; needs none."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from cases.catalog import Catalog


@click.command("guard")
@click.argument("file", metavar="FILE.jsonl")
@click.option("--dialect", required=True, help="Engine whose rules decide.")
@click.option("--catalog", "--catalogue", metavar="FILE", help="Catalogue (JSON) of the snapshot; default: none.")
@click.option("--profile", type=click.Choice(["dql", "dml", "ddl"]), default="dql", show_default=True)
def command(file: str, dialect: str, catalog: str | None, profile: str) -> int:
    """Judge every statement of FILE.jsonl (`-`: standard input) without any database.

    Each line {"id", "sql"} gives one line {"id", "verdict", "reason", "node", "flags"}, the verdict allowed or
    rejected. Without a catalogue, table checks deny the system's own schemas only.
    """
    from dialect_adapters.registry import adapter
    from harness.guard import check
    from harness.guard.statements import read_statements
    from harness.parse.parser import Parser

    rules = adapter(dialect).rules
    tables = None if catalog is None else _catalog(Path(catalog))
    statements = list(read_statements(_lines(file), file))
    rejected = flagged = 0
    with Parser() as parser:
        for statement in statements:
            parsed = parser.parse(
                statement.sql,
                dialect,
                tables,
                sqlglot_dialect=rules.sqlglot_dialect,
                cte_scope=rules.cte_scope,
                brief=True,
            )
            verdict = check(parsed, rules, tables, profile=profile)
            rejected += not verdict.allowed
            flagged += bool(verdict.flags)
            line = {
                "id": statement.id,
                "verdict": "allowed" if verdict.allowed else "rejected",
                "reason": verdict.reason,
                "node": verdict.node,
                "flags": list(verdict.flags),
            }
            click.echo(json.dumps(line))
    click.echo(f"OK: {len(statements)} statements, {rejected} rejected, {flagged} flagged (exit 0)", err=True)
    return 0


def _lines(file: str) -> list[bytes]:
    """Return the file's lines.

    Raises:
        InputError: the file cannot be read.
    """
    from cases.errors import InputError

    if file == "-":
        return sys.stdin.buffer.read().split(b"\n")
    try:
        return Path(file).read_bytes().split(b"\n")
    except OSError as error:
        raise InputError("the file cannot be read", file=file, remedy="Name a JSONL file of {id, sql}") from error


def _catalog(path: Path) -> Catalog:
    """Return the catalogue of a file.

    Raises:
        InputError: the file is no catalogue.
    """
    from cases.catalog import Catalog
    from cases.errors import InputError

    try:
        return Catalog.model_validate_json(path.read_bytes())
    except (OSError, ValueError) as error:
        remedy = "Name the catalogue written beside a snapshot's image"
        raise InputError("the file is no catalogue", file=path, remedy=remedy) from error
