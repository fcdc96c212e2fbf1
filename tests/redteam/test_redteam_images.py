"""`sqlassay redteam` says where base images may come from, as `run` does."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from sqlassay.cases.errors import InputError
from sqlassay.harness.cli.redteam_command import command
from sqlassay.harness.redteam import prepare
from sqlassay.sandboxes.images.choice import BaseChoice


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ([], BaseChoice()),
        (["--pull", "never"], BaseChoice("never")),
        (["--mirror", "a.example, b.example:5000"], BaseChoice(mirrors=("a.example", "b.example:5000"))),
        (["--images-lock", "lock.json"], BaseChoice(lock=Path("lock.json"))),
    ],
)
def test_the_provider_is_told_where_images_come_from(monkeypatch, given, wanted):
    """Each option reaches the provider."""
    told = []

    def provider(*_given, bases, **_options):
        """Note what is asked for, and open nothing."""
        told.append(bases)
        raise InputError("stop here")

    monkeypatch.setattr(prepare, "open_provider", provider)
    CliRunner().invoke(command, ["--dialect", "postgres", *given])
    assert told == [wanted]


def test_an_empty_mirror_is_a_mistake():
    """An unset variable in a script is no list of hosts."""
    ran = CliRunner().invoke(command, ["--mirror", " , "])
    assert ran.exit_code == 2
    assert "--mirror takes" in ran.output
