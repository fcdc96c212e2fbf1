"""`sqlassay init DIR`: start a pack that runs as it is: an example, or one's own data, questions and predictions."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from sqlassay.cases.counting import counted


@click.command("init")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--from",
    "source",
    metavar="SOURCE",
    help="The data: a live database's URI, a SQLite or DuckDB file, a dump, a CSV or Parquet file or a folder of them. "
    "Without it an example is written.",
)
@click.option("--questions", type=click.Path(path_type=Path), metavar="FILE", help="Questions with their gold SQL.")
@click.option("--predictions", type=click.Path(path_type=Path), metavar="FILE", help="An agent's SQL to judge.")
@click.option("--dialect", metavar="D", help="Engine the gold is written for (default: the source's own).")
@click.option("--tables", metavar="A,B", help="Of a live database, a DuckDB file or a folder: these tables only.")
@click.option(
    "--yes/--dry-run",
    "write",
    default=None,
    help="Write the pack, or say what it would be (the default on a terminal).",
)
def command(
    folder: Path,
    source: str | None,
    questions: Path | None,
    predictions: Path | None,
    dialect: str | None,
    tables: str | None,
    *,
    write: bool | None,
) -> int:
    """Start a pack of your own in FOLDER.

    Without --from an example is written: a schema, rows, two cases and predictions that run as they are. With it,
    FOLDER becomes a pack of your data. Questions and predictions are CSV, JSON, JSON lines or Excel; their columns are
    guessed from names and content, the guess is shown, and FILE#question=COLUMN,gold=COLUMN names them. On a terminal
    nothing is written until --yes is given. Nothing that exists is overwritten.
    """
    if source is None:
        if questions is not None or predictions is not None or tables is not None or dialect is not None:
            raise click.UsageError("--questions, --predictions, --dialect and --tables go with --from SOURCE.")
        if write is False:
            click.echo(f"Would write an example pack into {folder}; nothing was written")
            return 0
        return _example(folder)
    from sqlassay.harness.store.output import note
    from sqlassay.harness.taking.pack import plan_pack, write_plan

    plan = plan_pack(source, questions=questions, predictions=predictions, dialect=dialect)
    for line in plan.told:
        click.echo(line)
    if write is None:
        write = not on_terminal()
    if not write:
        what = f"{plan.kind.name}, {counted(len(plan.cases), 'case')}, {counted(len(plan.predictions), 'prediction')}"
        click.echo(f"Would write into {folder}: {what}, gold for {plan.dialect}")
        click.echo("Nothing was written: add --yes to go on")
        return 0
    started = write_plan(plan, folder, tables=tuple(name.strip() for name in (tables or "").split(",") if name.strip()))
    note(folder)
    for line in started.taken.notes:
        click.echo(line)
    rows = "" if started.taken.rows is None else f", {counted(started.taken.rows, 'row')}"
    cases = f"{counted(started.cases, 'case')}, {counted(started.predictions, 'prediction')}"
    click.echo(f"wrote {counted(len(started.taken.tables), 'table')}{rows}, {cases} to {folder}")
    if not plan.cases:
        click.echo(f"Your questions go into {folder / 'cases.jsonl'}, or: sqlassay init --from … --questions FILE")
    click.echo(f"Next: {started.following}")
    return 0


def on_terminal() -> bool:
    """Return whether a person reads and answers: both streams are a terminal's."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def _example(folder: Path) -> int:
    """Write the example pack."""
    from sqlassay.cases.starter import write_starter
    from sqlassay.harness.store.output import note

    for path in write_starter(folder):
        note(path)
        click.echo(f"wrote {path}")
    click.echo(f"Next: sqlassay run {folder}")
    return 0
