"""`sqlassay snapshot`: build a pack's images before they are needed, list, collect and move those that are here."""

from __future__ import annotations

from pathlib import Path

import click

from sqlassay.cases.counting import counted


@click.group("snapshot")
def command() -> None:
    """Build, list, collect, export or import snapshot images."""


@command.command("build")
@click.argument("pack", required=False)
@click.option("--from", "uri", metavar="SOURCE", help="Take a person's data into a new pack instead.")
@click.option("--tables", metavar="A,B", help="With --from: these tables only.")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="With --from: the new pack's folder.")
@click.option("--dialect", default="sqlite", show_default=True, help="Engine to build for.")
@click.option("--sandbox", default="auto", show_default=True, help="auto, docker, process or reduced.")
@click.option(
    "--engine",
    type=click.Choice(["auto", "ask", "none"]),
    default="auto",
    show_default=True,
    help="Whether a missing container engine is installed and started.",
)
@click.option("--pull", type=click.Choice(["auto", "never"]), help="May a registry be asked for a base image?")
@click.option("--mirror", metavar="HOST,HOST", help="Registries to ask before the official one.")
@click.option("--images-lock", metavar="FILE", help="What official images must be (default: a file in the cache).")
def build(pack: str | None, uri: str | None, tables: str | None, out: Path | None, **options: str | None) -> int:
    """Build the snapshot image of PACK for one dialect; nothing happens where it is up to date.

    With --from, a database becomes the data of a new pack in --out DIR: a live one (postgresql://USER@HOST/DATABASE or
    mysql://USER@HOST/DATABASE, read once, in one read-only transaction), a SQLite or DuckDB file, a CSV, TSV or
    Parquet file or a folder of them, or a dump.
    """
    if uri is not None:
        return _take(uri, tables, out, pack)
    if pack is None or tables is not None or out is not None:
        raise click.UsageError("name a PACK, or a database with --from URI --out DIR")
    from sqlassay.cases.formats.registry import load_pack
    from sqlassay.dialect_adapters.registry import adapter as find_adapter
    from sqlassay.harness.cli.screen import screen
    from sqlassay.harness.run.options import options_from, resolve
    from sqlassay.sandboxes.images.choice import BaseChoice
    from sqlassay.sandboxes.opening import open_provider
    from sqlassay.sandboxes.shares import prepare_shares

    given = {name: value for name, value in options.items() if value is not None}
    asked = options_from(given, file=None, names="--")
    loaded = load_pack(Path(pack))
    config = resolve([("command line", asked)], loaded.settings)
    adapter = find_adapter(config.dialect)
    bases = BaseChoice(config.pull, config.mirror, config.images_lock)
    with screen() as live:
        provider = open_provider(adapter.recipe, config.sandbox, live.notice, engine=config.engine, bases=bases)
        try:
            image = prepare_shares(provider, adapter, loaded.snapshots, live.notice)
        finally:
            provider.close()
    for part in image.parts or (image,):
        held = sum(len(catalog.tables) for catalog in part.catalogs)
        for catalog in part.catalogs:
            for note in catalog.notes:
                click.echo(f"snapshot {catalog.snapshot}: {note}")
        click.echo(f"{part.ref}  {counted(len(part.catalogs), 'snapshot')}, {counted(held, 'table')}")
    return 0


def _take(uri: str, tables: str | None, out: Path | None, pack: str | None) -> int:
    """Take a person's data into a new pack with one first question."""
    from sqlassay.harness.store.output import note
    from sqlassay.harness.taking.pack import plan_pack, write_plan

    if out is None or pack is not None:
        raise click.UsageError("--from URI takes --out DIR, and no PACK")
    chosen = tuple(name.strip() for name in (tables or "").split(",") if name.strip())
    started = write_plan(plan_pack(uri), out, tables=chosen)
    taken = started.taken
    note(out)
    for line in taken.notes:
        click.echo(line)
    rows = "" if taken.rows is None else f", {counted(taken.rows, 'row')}"
    click.echo(f"took {counted(len(taken.tables), 'table')}{rows} into {out}")
    click.echo(f"Your questions go into {out / 'cases.jsonl'}; `sqlassay init` takes a table of them")
    click.echo(f"Next: {started.following}")
    return 0


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="Write the images as JSON.")
def list_images(*, as_json: bool) -> int:
    """List the images of this machine, the latest used first: size beyond the base, last use, who runs them."""
    from sqlassay.sandboxes.inventory import images

    found = images()
    if as_json:
        import json

        fields = ("ref", "dialect", "provider", "databases", "size", "used", "in_use", "imported")
        click.echo(json.dumps([{name: getattr(image, name) for name in fields} for image in found], indent=1))
        return 0
    for image in found:
        marks = [word for word, set_ in (("imported", image.imported), ("in use", image.in_use)) if set_]
        parts = (
            image.dialect,
            image.ref,
            counted(image.databases, "database"),
            image.provider,
            _size(image.size),
            _day(image.used),
        )
        click.echo("  ".join([*parts, *marks]))
    return 0


@command.command("gc")
@click.option("--keep", type=click.IntRange(0), required=True, help="How many images stay, the latest used first.")
@click.option("--dry-run", is_flag=True, help="Say what would be removed, and remove nothing.")
def gc(keep: int, *, dry_run: bool) -> int:
    """Remove all but the images used last, of every dialect; never one that a live run uses."""
    from sqlassay.sandboxes.collection import collect

    freed = 0
    for one in collect(keep, dry_run=dry_run):
        freed += one.freed
        click.echo(f"{one.fate}  {one.ref}" + (f"  {_size(one.freed)}" if one.fate != "in use" else ""))
    click.echo(f"{'would free' if dry_run else 'freed'} {_size(freed)}")
    return 0


@command.command("export")
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("refs", nargs=-1, metavar="[REF]...")
def export_images(file: Path, refs: tuple[str, ...]) -> int:
    """Write images to the bundle FILE, to import on a machine without network: those named by REF, else all it can use.

    REF is a name that `snapshot list` shows, or its beginning. The bundle holds the images, what their databases hold
    and their secrets, and proves itself by the digest that is printed.
    """
    from sqlassay.harness.store.output import note
    from sqlassay.sandboxes.transfer import chosen, export

    moved = export(file, chosen(refs, notice=lambda line: click.echo(line, err=True)))
    note(file)
    for ref in moved.refs:
        click.echo(ref)
    click.echo(f"{file}  {_size(file.stat().st_size)}  {moved.digest}")
    return 0


@command.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--digest", help="What `snapshot export` printed; another bundle is refused.")
def import_images(file: Path, digest: str | None) -> int:
    """Take in the images of the bundle FILE; one that was damaged or changed is refused whole."""
    from sqlassay.sandboxes.transfer import take_in

    moved = take_in(file, digest)
    for ref in moved.refs:
        click.echo(ref)
    click.echo(f"{counted(len(moved.refs), 'image')} taken in  {moved.digest}")
    return 0


def _counted(databases: int) -> str:
    """Return a number of databases in words."""
    return counted(databases, "database")


def _size(count: int) -> str:
    """Return bytes as a person reads them."""
    return f"{count / 1_000_000:.1f} MB" if count >= 1_000_000 else f"{count / 1000:.0f} kB"


def _day(seconds: float) -> str:
    """Return a moment of last use in UTC."""
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")
