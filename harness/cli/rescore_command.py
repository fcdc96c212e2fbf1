"""`sqlassay rescore RUN`: judge a run's stored rows again under other policies, without a database."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from sqlassay.cases.policy import Policy


@click.command("rescore")
@click.argument("run")
@click.option(
    "--policy",
    metavar="A,B",
    multiple=True,
    help="Policies to judge by (default strict): presets, or a preset plus fields as in strict+rel_tol=1e-6.",
)
@click.option("--out", metavar="DIR", help="Folder for rescore.json and rescore.md (default: the run's own).")
@click.option("--differences", is_flag=True, help="Write every differing cell under each policy as CSV, too.")
def command(run: str, policy: tuple[str, ...], out: str | None, differences: bool) -> int:
    """Judge a run's stored rows again under other policies, without a database.

    RUN is a run folder. Its own policy is judged again too: a recorded verdict that is not found again ends with
    exit code 3. Rows that were not kept (--store-rows diff or none) are counted, never guessed.
    """
    from sqlassay.cases.policy_spelling import policy_named
    from sqlassay.harness.reports.rescored import terminal
    from sqlassay.harness.run.rescore import rescore
    from sqlassay.harness.store.output import check_output, claim

    if out is not None:
        check_output(Path(out), "rescore")
    names = [name for part in (policy or ("strict",)) for name in _names(part)]
    policies = [(name, policy_named(name)) for name in names]
    found = rescore(Path(run), policies)
    folder = Path(run) if out is None else claim(Path(out), "rescore")
    _write(found, folder)
    if differences:
        _write_differences(Path(run), policies, folder)
    sys.stdout.write(terminal(found) + "\n")
    return int(found.exit_code)


def _names(text: str) -> list[str]:
    """Return the policies of a list with commas; a comma inside brackets belongs to a field."""
    import re

    return [name.strip() for name in re.split(r",(?![^\[]*\])", text) if name.strip()]


def _write(found: object, folder: Path) -> None:
    """Write both files.

    Raises: InfrastructureError where the folder cannot be written.
    """
    from sqlassay.cases.errors import InfrastructureError
    from sqlassay.harness.reports.rescored import write

    try:
        write(found, folder)  # type: ignore[arg-type]
    except OSError as error:
        message = f"{folder} cannot be written ({error.strerror})"
        raise InfrastructureError(message, remedy="Name another folder with --out") from None


def _write_differences(run: Path, policies: list[tuple[str, Policy]], folder: Path) -> None:
    """Write a file for each result and policy under which cells differ.

    Raises: InfrastructureError where the folder cannot be written.
    """
    from sqlassay.cases.errors import InfrastructureError
    from sqlassay.harness.reports.files import write_text
    from sqlassay.harness.run.rescore import differing_under
    from sqlassay.harness.store.folder import differences_name, file_name

    try:
        for name, result, text in differing_under(run, policies):
            place = folder / "rescore-differences" / file_name(name) / Path(differences_name(*result.key)).name
            for parent in (place.parent.parent, place.parent):
                parent.mkdir(mode=0o700, exist_ok=True)
            write_text(place, text)
    except OSError as error:
        message = f"{folder} cannot be written ({error.strerror})"
        raise InfrastructureError(message, remedy="Name another folder with --out") from None
