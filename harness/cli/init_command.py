"""`sqlassay init DIR`: start a pack that runs as it is."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("init")
@click.argument("folder", type=click.Path(path_type=Path))
def command(folder: Path) -> int:
    """Start a pack of your own in FOLDER: a schema, rows, three cases and predictions that run as they are.

    Nothing that exists is overwritten.
    """
    from cases.starter import write_starter
    from harness.store.output import note

    for path in write_starter(folder):
        note(path)
        click.echo(f"wrote {path}")
    click.echo(f"Next: sqlassay run {folder}")
    return 0
