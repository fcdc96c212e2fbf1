"""`make redteam` passes its variables on, and `make soak` attacks every engine with the whole pack."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
VARIABLES = {
    "DIALECT": "--dialect",
    "ENGINE": "--engine",
    "ATTACKS": "--attacks",
    "BENIGN": "--benign",
    "SNAPSHOT": "--snapshot",
    "LAYERS": "--layers",
    "SAMPLE": "--sample",
    "SEED": "--seed",
    "TIMEOUT": "--timeout",
    "OUT": "--out",
    "JOBS": "--jobs",
    "SANDBOX": "--sandbox",
    "RUNTIME": "--runtime",
    "PULL": "--pull",
    "MIRROR": "--mirror",
    "IMAGES_LOCK": "--images-lock",
}


def dry(*arguments: str) -> str:
    """Return what make would run; the installation counts as done."""
    inherited = {*VARIABLES, "MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES"}
    environment = {key: value for key, value in os.environ.items() if key not in inherited}
    command = ["make", "--dry-run", "--assume-old=.venv/.runtime", "--assume-old=.venv/.dev", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(("variable", "option"), sorted(VARIABLES.items()))
def test_make_redteam_passes_its_variables(variable: str, option: str) -> None:
    """Each variable reaches the command as its option, quoted."""
    assert f"{option} 'x y'" in dry("redteam", f"{variable}=x y")


def test_make_soak_attacks_every_engine() -> None:
    """The whole pack is run on each engine, and the first that fails ends the soak."""
    text = dry("soak")
    assert "for dialect in sqlite postgres mysql mariadb duckdb" in text
    assert "sqlassay redteam --dialect $dialect" in text
    assert "|| exit" in text
