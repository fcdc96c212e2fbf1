"""`sqlassay snapshot`: build a pack's image before it is needed, or list the images that are here."""

from __future__ import annotations

from pathlib import Path

import click


@click.group("snapshot")
def command() -> None:
    """Build or list snapshot images."""


@command.command("build")
@click.argument("pack")
@click.option("--dialect", default="sqlite", show_default=True, help="Engine to build for.")
@click.option("--sandbox", default="auto", show_default=True, help="auto, docker or process.")
@click.option("--engine", type=click.Choice(["auto", "ask", "none"]), default="auto", show_default=True)
def build(pack: str, dialect: str, sandbox: str, engine: str) -> int:
    """Build the snapshot image of PACK for one dialect; nothing happens where it is up to date."""
    from cases.formats.registry import load_pack
    from harness.cli.screen import screen
    from harness.run.bench import prepare
    from harness.run.options import RunOptions, resolve

    loaded = load_pack(Path(pack))
    asked = RunOptions.model_validate({"dialect": dialect, "sandbox": sandbox, "engine": engine})
    with screen() as live:
        bench = prepare(resolve([("command line", asked)], loaded.settings), loaded, "snapshot-build", live)
        bench.provider.close()
    tables = sum(len(catalog.tables) for catalog in bench.image.catalogs)
    click.echo(f"{bench.image.ref}  {len(bench.image.catalogs)} snapshots, {tables} tables")
    return 0


@command.command("list")
def list_images() -> int:
    """List the images of this machine, newest use first."""
    from sandboxes.inventory import images

    for image in images():
        click.echo(f"{image.dialect}  {image.ref}  {image.databases} databases  {image.provider}")
    return 0
