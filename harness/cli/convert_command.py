"""`sqlassay convert FORMAT PATH`: write a foreign data set as a pack in our own format."""

from __future__ import annotations

from pathlib import Path

import click

from sqlassay.cases.counting import counted


@click.command("convert")
@click.argument("format_", metavar="FORMAT")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Folder of the pack (default: its name).")
@click.option("--predictions", type=click.Path(path_type=Path), metavar="FILE", help="Predictions to convert with it.")
def command(format_: str, path: Path, out: Path | None, predictions: Path | None) -> int:
    """Write a foreign data set as a pack in our own format.

    FORMAT is a name from `sqlassay list formats`, or auto. Databases are copied into the pack. Rows that cannot be
    judged are left out, counted by reason, and listed in left_out.txt.
    """
    from dataclasses import replace

    from sqlassay.cases.formats.registry import load_pack
    from sqlassay.cases.left_out import FILE, summed
    from sqlassay.cases.predictions import check_known, predictions_of
    from sqlassay.cases.writing import write_pack
    from sqlassay.harness.store.output import note
    from sqlassay.harness.taking.pack import next_command

    pack = load_pack(path, format=None if format_ == "auto" else format_)
    if predictions is not None:
        pack = replace(pack, inline_predictions=check_known(predictions_of(predictions, pack), pack))
    folder = out or Path(pack.name)
    files = write_pack(pack, folder)
    note(folder)
    for line in summed(pack.left_out, str(folder / FILE)):
        click.echo(line)
    databases = len(pack.snapshots)
    what = f"{counted(len(pack.cases), 'case')} on {counted(databases, 'snapshot')}"
    click.echo(f"wrote {what} to {folder} ({counted(len(files), 'file')})")
    predicted = bool(pack.inline_predictions) or (pack.predictions is not None and pack.predictions != pack.path)
    click.echo(f"Next: {next_command(folder, pack.cases, predicted=predicted)}")
    return 0
