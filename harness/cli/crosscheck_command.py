"""`sqlassay crosscheck`: every case on every engine, what agrees, what breaks, what silently differs, and why."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from sqlassay.cases.pack import Pack
    from sqlassay.harness.results.crosscheck import CrossResult, Predict
    from sqlassay.harness.run.options import RunConfig, RunOptions

_OWN = frozenset({"dialect", "predictions", "agent", "out", "format", "metrics", "policy", "fail_under", "dry_run"})

_COVERED = 0.9
"""The coverage that a threshold of portability asks for: a share over few of the cases says little about a pack."""


@click.command("crosscheck")
@click.argument("pack")
@click.option("--dialects", default="sqlite,postgres,mysql", show_default=True, metavar="A,B", help="Engines; all are "
              "held against the first.")  # fmt: skip
@click.option("--predictions", metavar="[D=]FILE", multiple=True, help="An agent's answers, one file for all dialects "
              "or one for each; without them the gold itself is crossed.")  # fmt: skip
@click.option("--agent", metavar="MODULE:FUNCTION", help="Python callable to ask instead.")
@click.option("--predict", type=click.Choice(["native", "transpile", "per-dialect"]), help="What each engine is given: "
              "the first dialect's text as it is, that text rewritten, or a text of its own (default; gold that is "
              "missing is rewritten). With files and without a dialect in them: native.")  # fmt: skip
@click.option("--format", "format_", metavar="NAME", help="Format of the pack where it is not found out by itself.")
@click.option("--out", metavar="DIR", help="Folder for the reports (default: runs/crosscheck_<pack>).")
@click.option("--fail-under", type=click.FloatRange(0, 1), metavar="X", help="Exit 1 where the portability of all "
              "engines is below X.")  # fmt: skip
@click.option("--min-coverage", type=click.FloatRange(0, 1), metavar="X", help="Exit 1 where fewer cases than this "
              "share could be compared, the others being refused, vacuous or failing everywhere (default with "
              "--fail-under: 0.9).")  # fmt: skip
@click.option("--fail-unexplained", is_flag=True, help="Exit 1 where a disagreement is not explained.")
@click.option("--jobs", metavar="N", help="Parallel workers (default: cores).")
@click.option("--timeout", metavar="S", help="Seconds a predicted statement may take (default 30).")
@click.option("--gold-timeout", metavar="S", help="Seconds a gold statement may take (default 300).")
@click.option("--agent-timeout", metavar="S", help="Seconds the agent may take for one answer (default 120).")
@click.option("--row-limit", metavar="N", help="Rows a result may have (default 100000).")
@click.option("--only", metavar="IDS", help="Cross these cases only.")
@click.option("--tags", metavar="TAGS", help="Cross cases with one of these tags only.")
@click.option("--limit", metavar="N", help="Cross the first N selected cases.")
@click.option("--sample", metavar="N", help="Cross a seeded sample of N cases.")
@click.option("--seed", metavar="N", help="Seed of the sample (default 0).")
@click.option("--clock", metavar="ISO", help="What CURRENT_DATE and its kin say, where the engine can be told.")
@click.option("--sandbox", metavar="NAME", help="auto (default), docker, process or reduced.")
@click.option("--engine", metavar="HOW", help="auto (default), ask or none: may a container engine be started here?")
@click.option("--runtime", metavar="NAME", help="Container runtime the engine knows, such as runsc or crun.")
@click.option("--pull", metavar="HOW", help="auto (default) or never: may a registry be asked for a base image?")
@click.option("--mirror", metavar="HOST,HOST", help="Registries to ask before the official one.")
@click.option("--images-lock", metavar="FILE", help="What official images must be (default: a file in the cache).")
@click.option("--allow-unknown", is_flag=True, default=None, help="Ignore predictions for cases the pack does not "
              "have.")  # fmt: skip
@click.option("--gold-cache/--no-gold-cache", default=None, help="Keep gold answers for the next run (default: yes).")
def command(
    pack: str,
    dialects: str,
    predictions: tuple[str, ...],
    agent: str | None,
    predict: Predict | None,
    format_: str | None,
    out: str | None,
    fail_under: float | None,
    min_coverage: float | None,
    fail_unexplained: bool,
    **options: Any,
) -> int:
    """Run every case on every engine, and say which disagree, how, why, and whose it is.

    PACK is as in `sqlassay run`. Each disagreement is given a cause from a closed list and the probe that shows it:
    the statement's rewritten form on the server, another way of comparing, or a question to the data. Silent
    differences come first. Exit 1 only where a declared threshold does not hold.
    """
    from sqlassay.cases.formats.registry import load_pack
    from sqlassay.harness.cli.screen import screen
    from sqlassay.harness.crosscheck.run import Wanted, crosscheck
    from sqlassay.harness.run.options import options_from
    from sqlassay.harness.store.output import check_output

    names = _dialects(dialects)
    loaded = load_pack(Path(pack), format=format_)
    folder = Path(out) if out else Path("runs") / f"crosscheck_{loaded.name}"
    check_output(folder, "crosscheck")
    # An agent's process must see neither gold nor earlier runs: the folder is veiled as a run's is.
    given = {name: value for name, value in options.items() if value is not None} | {"agent": agent, "out": folder}
    base = options_from({name: value for name, value in given.items() if value is not None}, file=None, names="--")
    files = _files(predictions, names)
    golds = agent is None and not files
    how = predict or ("native" if _one_for_all(files, loaded) else "per-dialect")
    wanted = Wanted(
        configs=tuple(_config(base, loaded, name, files.get(name, files.get(""))) for name in names),
        predict=how,
        golds=golds,
        agent="gold" if golds else agent or ", ".join(sorted({file.name for file in files.values()})),
        fail_under=fail_under,
        min_coverage=_COVERED if min_coverage is None and fail_under is not None else min_coverage,
        fail_unexplained=fail_unexplained,
    )
    with screen() as live:
        found = crosscheck(wanted, loaded, live)
    _write(found, folder)
    return int(found.exit_code)


def _dialects(text: str) -> tuple[str, ...]:
    """Return the named dialects in their order, each known and named once."""
    from sqlassay.dialect_adapters.registry import adapter

    names = tuple(part.strip() for part in text.split(",") if part.strip())
    if len(names) < 2 or len(set(names)) != len(names):
        raise click.UsageError(f"--dialects takes at least two different dialects, not '{text}'.")
    for name in names:
        adapter(name)
    return names


def _files(given: tuple[str, ...], names: tuple[str, ...]) -> dict[str, Path]:
    """Return the prediction file of each dialect; the empty name is the file for all."""
    files: dict[str, Path] = {}
    for text in given:
        name, sign, rest = text.partition("=")
        dialect, file = (name, rest) if sign and name in names else ("", text)
        if dialect in files:
            raise click.UsageError(f"--predictions names two files for {dialect or 'all dialects'}.")
        files[dialect] = Path(file)
    if files and "" not in files and (missing := [name for name in names if name not in files]):
        raise click.UsageError(f"--predictions names no file for {', '.join(missing)}.")
    return files


def _one_for_all(files: dict[str, Path], pack: Pack) -> bool:
    """Return whether there is one file whose answers name no dialect: one text for every engine."""
    from sqlassay.cases.predictions import predictions_of

    if set(files) != {""}:
        return False
    return len({prediction.dialect for prediction in predictions_of(files[""], pack)}) <= 1


def _config(base: RunOptions, pack: Pack, dialect: str, predictions: Path | None) -> RunConfig:
    """Return the settings of one engine; a sandbox is taken where it runs that engine."""
    from sqlassay.harness.run.options import options_from, resolve

    own = options_from({"dialect": dialect, "predictions": predictions}, file=None)
    layers = [("command line", own), ("command line", base), ("environment", _environment())]
    return replace(resolve(layers, pack.settings), fail_under=())


def _environment() -> RunOptions:
    """Return what the environment says of how a run is run; what it is run on is the command line's alone."""
    from sqlassay.harness.cli.run_command import ENVIRONMENT
    from sqlassay.harness.run.options import RunOptions, options_from

    named = {field: os.environ.get(ENVIRONMENT + field.upper()) for field in set(RunOptions.model_fields) - _OWN}
    return options_from({field: value for field, value in named.items() if value}, file=None, names=ENVIRONMENT)


def _write(found: CrossResult, folder: Path) -> None:
    """Write every report and print the tables; the last line is the verdict."""
    import shutil

    from sqlassay.harness.reports.crosscheck import render, write
    from sqlassay.harness.store.output import claim

    write(found, claim(folder, "crosscheck"))
    width = shutil.get_terminal_size((110, 24)).columns
    sys.stdout.write(render(found, str(folder), width=width, color=sys.stdout.isatty()).rstrip("\n") + "\n")
