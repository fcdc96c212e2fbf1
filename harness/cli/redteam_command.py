"""`sqlassay redteam`: attack each layer alone and all together, print the ladder, write the reports."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from sqlassay.harness.results.redteam import Layer, RedTeamResult
    from sqlassay.sandboxes.engine import EnginePolicy
    from sqlassay.sandboxes.images.choice import BaseChoice, Pull

LAYERS = ("guard", "role", "sandbox")


@click.command("redteam")
@click.option("--dialect", default="sqlite", show_default=True, metavar="D", help="Engine to attack.")
@click.option("--attacks", metavar="FILE", help="Attacks, one JSON object a line (default: the bundled pack's).")
@click.option("--benign", metavar="FILE", help="Harmless statements that must pass (default: the bundled pack's).")
@click.option("--snapshot", metavar="PACK[:ID]", help="Pack and snapshot to attack (default: the bundled one).")
@click.option("--layers", default=",".join(LAYERS), show_default=True, metavar="A,B", help="Layers to try alone; all "
              "three together are tried as well where all three are named.")  # fmt: skip
@click.option("--out", metavar="DIR", help="Folder for the reports (default: runs/redteam_<dialect>).")
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Parallel workers (default: cores).")
@click.option("--sample", type=click.IntRange(1), metavar="N", help="Try a seeded sample of N attacks and 10 N "
              "variants.")  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Seed of variants and sample.")
@click.option("--timeout", type=click.FloatRange(0.1, 60.0), default=2.0, show_default=True, metavar="S",
              help="Deadline of one statement.")  # fmt: skip
@click.option("--sandbox", default="auto", show_default=True, metavar="NAME", help="auto, docker, process or reduced.")
@click.option("--engine", type=click.Choice(["auto", "ask", "none"]), default="auto", show_default=True)
@click.option("--runtime", default="", envvar="SQLASSAY_RUNTIME", metavar="NAME",
              help="Container runtime the engine knows, such as runsc or crun (default: its own).")  # fmt: skip
@click.option("--pull", type=click.Choice(["auto", "never"]), default="auto", show_default=True,
              help="May a registry be asked for a base image?")  # fmt: skip
@click.option("--mirror", metavar="HOST,HOST", help="Registries to ask before the official one.")
@click.option("--images-lock", metavar="FILE", help="What official images must be (default: a file in the cache).")
def command(
    dialect: str,
    attacks: str | None,
    benign: str | None,
    snapshot: str | None,
    layers: str,
    out: str | None,
    jobs: int | None,
    sample: int | None,
    seed: int,
    timeout: float,
    sandbox: str,
    engine: EnginePolicy,
    runtime: str,
    pull: Pull,
    mirror: str | None,
    images_lock: str | None,
) -> int:
    """Attack every layer of the defence and say which attacks did harm.

    Each attack meets guard, role and sandbox alone and all together; what it did is judged by its effects (data,
    files, connections, other sessions, time, leaked values), never by an error message. Exit 4: an attack did harm
    behind all layers; 1: a layer did not hold alone what it must.
    """
    from sqlassay.harness.cli.screen import screen
    from sqlassay.harness.redteam.prepare import Asked, run
    from sqlassay.harness.store.output import check_output

    chosen = _layers(layers)
    asked = Asked(
        dialect=dialect,
        attacks=Path(attacks) if attacks else None,
        benign=Path(benign) if benign else None,
        snapshot=snapshot,
        layers=chosen,
        jobs=jobs or os.cpu_count() or 1,
        sample=sample,
        seed=seed,
        timeout=timeout,
        sandbox=sandbox,
        engine=engine,
        runtime=runtime,
        bases=_bases(pull, mirror, images_lock),
    )
    folder = Path(out) if out else Path("runs") / f"redteam_{dialect}"
    check_output(folder, "redteam")
    with screen() as live:
        found = run(asked, live.notice, live.progress)
    _write(found, folder)
    return int(found.exit_code)


def _bases(pull: Pull, mirror: str | None, lock: str | None) -> BaseChoice:
    """Return where base images may come from."""
    from sqlassay.sandboxes.images.choice import BaseChoice

    hosts = tuple(part.strip() for part in (mirror or "").split(",") if part.strip())
    if mirror is not None and not hosts:
        raise click.UsageError("--mirror takes HOST,HOST; it was given nothing.")
    return BaseChoice(pull, hosts, Path(lock) if lock else None)


def _layers(text: str) -> tuple[Layer, ...]:
    """Return the named layers in their order."""
    named = {part.strip() for part in text.split(",") if part.strip()}
    if not named or named - set(LAYERS):
        raise click.UsageError(f"--layers takes {', '.join(LAYERS)}, not '{text}'.")
    layers: tuple[Layer, ...] = ("guard", "role", "sandbox")
    return tuple(layer for layer in layers if layer in named)


def _write(found: RedTeamResult, folder: Path) -> None:
    """Write every report and print the ladder; its last line is the verdict."""
    import shutil

    from sqlassay.harness.reports.redteam import render, write
    from sqlassay.harness.store.output import claim

    write(found, claim(folder, "redteam"))
    width = shutil.get_terminal_size((110, 24)).columns
    sys.stdout.write(render(found, str(folder), width=width, color=sys.stdout.isatty()).rstrip("\n") + "\n")
