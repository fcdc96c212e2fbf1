"""`sqlassay check-cases`: find what is wrong with a pack's own gold before it judges anybody."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlassay.harness.results.health import Flag, Health

_DEFAULT = "does_not_run,refused_by_guard,non_deterministic"


@click.command("check-cases")
@click.argument("pack")
@click.option("--dialects", metavar="A,B", help="Dialects to check gold in (default: all the pack has gold in).")
@click.option("--fail-on", default=_DEFAULT, show_default=True, metavar="A,B", help="Flags that end with exit 1; "
              "`all`, or `none`.")  # fmt: skip
@click.option("--out", metavar="DIR", help="Folder for health.json and health.md (default: runs/health_<pack>).")
@click.option("--format", "format_", metavar="NAME", help="Format of the pack where it is not found out by itself.")
@click.option("--only", metavar="IDS", help="Check these cases only.")
@click.option("--tags", metavar="TAGS", help="Check cases with one of these tags only.")
@click.option("--limit", metavar="N", help="Check the first N selected cases.")
@click.option("--sample", metavar="N", help="Check a seeded sample of N cases.")
@click.option("--seed", metavar="N", help="Seed of the sample and of the shuffled rows (default 0).")
@click.option("--policy", metavar="NAME", help="Policy, with fields as in strict+rel_tol=1e-6 (default: the pack's).")
@click.option("--clock", metavar="ISO", help="The day every statement sees; then none is flagged for reading it.")
@click.option("--timeout", metavar="S", help="Seconds a prediction may take (default 30).")
@click.option("--gold-timeout", metavar="S", help="Seconds a gold statement may take (default 300).")
@click.option("--row-limit", metavar="N", help="Rows a result may have (default 100000).")
@click.option("--jobs", metavar="N", help="Parallel workers (default: cores).")
@click.option("--sandbox", metavar="NAME", help="auto (default), docker, process or reduced.")
@click.option("--engine", metavar="HOW", help="auto (default), ask or none: may a container engine be started here?")
@click.option("--runtime", metavar="NAME", help="Container runtime the engine knows, such as runsc or crun.")
@click.option("--pull", metavar="HOW", help="auto (default) or never: may a registry be asked for a base image?")
@click.option("--mirror", metavar="HOST,HOST", help="Registries to ask before the official one.")
@click.option("--images-lock", metavar="FILE", help="What official images must be (default: a file in the cache).")
def command(pack: str, dialects: str | None, fail_on: str, out: str | None, format_: str | None, **options: Any) -> int:
    """Check a pack's gold: it runs, twice, in any row order, on any day, and matches itself.

    Every gold statement runs on its engine, again as a prediction under the pack's policy, on copies of the data with
    reversed and shuffled rows, and, where it reads the clock, on other days; the data is asked where a text leaves a
    choice of rows. Exit 1: a flag of --fail-on occurs; 3: something could not be examined; 5: no gold at all.
    """
    from sqlassay.cases.formats.registry import load_pack
    from sqlassay.cases.left_out import summed
    from sqlassay.harness.checkup.checkup import check_cases, dialects_of
    from sqlassay.harness.cli.screen import screen
    from sqlassay.harness.run.options import options_from, resolve
    from sqlassay.harness.run.select import select
    from sqlassay.harness.store.output import check_output

    fatal = _flags(fail_on)
    loaded = load_pack(Path(pack), format=format_)
    given = {name: value for name, value in options.items() if value is not None}
    config = resolve([("command line", options_from(given, file=None, names="--"))], loaded.settings)
    folder = Path(out) if out else Path("runs") / f"health_{loaded.name}"
    check_output(folder, "check-cases")
    for line in summed(loaded.left_out):
        click.echo(line, err=True)
    named = tuple(part.strip() for part in (dialects or "").split(",") if part.strip())
    with screen() as live:
        found = check_cases(config, loaded, named or dialects_of(select(loaded, config), live), fatal, live)
    _show(found, folder)
    return int(found.exit_code)


def _flags(text: str) -> Sequence[Flag]:
    """Return the named flags.

    Raises:
        UsageError: a flag that is none.
    """
    from sqlassay.harness.results.health import Flag

    names = [part.strip() for part in text.split(",") if part.strip()]
    if names in (["all"], ["none"]):
        return tuple(Flag) if names == ["all"] else ()
    unknown = [name for name in names if name not in list(Flag)]
    if unknown or not names:
        raise click.UsageError(f"--fail-on takes all, none, or {', '.join(Flag)}, not '{text}'.")
    return tuple(Flag(name) for name in names)


def _show(found: Health, folder: Path) -> None:
    """Write the health page and print its table; the last line is the verdict."""
    import shutil

    from sqlassay.harness.reports.health import render, write
    from sqlassay.harness.store.output import claim

    write(found, claim(folder, "check-cases"))
    width = shutil.get_terminal_size((110, 24)).columns
    sys.stdout.write(render(found, str(folder), width=width, color=sys.stdout.isatty()).rstrip("\n") + "\n")
