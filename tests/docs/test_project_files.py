"""The Makefile, the lock files and the CI script keep their promises."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
VARIABLES = {
    "PREDICTIONS": "--predictions",
    "AGENT": "--agent",
    "OUT": "--out",
    "JOBS": "--jobs",
    "SANDBOX": "--sandbox",
    "RUNTIME": "--runtime",
    "TRIALS": "--trials",
    "TIMEOUT": "--timeout",
    "ROW_LIMIT": "--row-limit",
    "DIALECT": "--dialect",
    "ENGINE": "--engine",
    "PULL": "--pull",
    "MIRROR": "--mirror",
    "IMAGES_LOCK": "--images-lock",
}


def make(*arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run make as a person would, even where these tests run under make themselves."""
    inherited = {*VARIABLES, "PACK", "MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES"}
    environment = {key: value for key, value in os.environ.items() if key not in inherited}
    command = ["make", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=check, timeout=30)


def dry(*arguments: str) -> str:
    """Return what make would run; the installation counts as done."""
    return make("--dry-run", "--assume-old=.venv/.runtime", *arguments).stdout


def test_make_lists_every_target() -> None:
    """`make` alone prints each target of the Makefile with one line about it."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"(?m)^([a-z-]+):", text))
    listed = dict(line.split(None, 1) for line in make().stdout.splitlines())
    assert set(listed) == targets
    assert all(listed.values())


@pytest.mark.parametrize(("variable", "option"), sorted(VARIABLES.items()))
def test_make_eval_passes_its_variables(variable: str, option: str) -> None:
    """Each variable reaches the command as its option, quoted."""
    assert f"{option} 'x y'" in dry("eval", f"{variable}=x y")


def test_make_eval_defaults_to_the_demo_on_sqlite() -> None:
    """Without variables the demo is judged on SQLite, and no empty option is passed."""
    command = dry("eval").strip().splitlines()[-1]
    assert command.split() == [".venv/bin/sqlassay", "run", "'demo'", "--dialect", "'sqlite'", "--engine", "'auto'"]


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_lock_files_pin_by_hash_and_name_no_place(lock: Path) -> None:
    """Every requirement is an exact version with hashes; no index, URL or local path is written down."""
    text = lock.read_text(encoding="utf-8")
    requirements = re.findall(r"(?m)^(?![ #])(.+?)(?: \\)?$", text)
    assert requirements
    for requirement in requirements:
        assert re.match(r"[a-z0-9-]+==[\w.]+( ; .+)?$", requirement), requirement
    blocks = re.split(r"(?m)^(?=[a-z])", text)[1:]
    assert all(re.search(r"(?m)^    --hash=sha256:[0-9a-f]{64}", block) for block in blocks)
    assert not re.search(r"://|--index|--find-links|--extra-index|file:", text)


def test_lock_files_hold_every_dependency() -> None:
    """What pyproject.toml asks for is locked, and the development lock agrees with the runtime lock."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    runtime, dev = (_pins(ROOT / "requirements" / name) for name in ("runtime.txt", "dev.txt"))
    assert {_name(line) for line in project["dependencies"]} <= set(runtime)
    assert {_name(line) for line in project["optional-dependencies"]["dev"]} <= set(dev)
    assert {name: dev[name] for name in runtime} == runtime
    assert len(runtime) <= 35


def _name(requirement: str) -> str:
    """Return the normalised name of a requirement."""
    return re.split(r"[\[<>=;~! ]", requirement)[0].lower().replace("_", "-").replace(".", "-")


def _pins(lock: Path) -> dict[str, str]:
    """Return the pinned version of each package of a lock file."""
    return dict(re.findall(r"(?m)^([a-z0-9-]+)==([\w.]+)", lock.read_text(encoding="utf-8")))


def test_ci_runs_make_test() -> None:
    """The CI script can be run, stops at the first failure, reads no terminal, and runs exactly `make test`."""
    script = ROOT / ".ci" / "run"
    text = script.read_text(encoding="utf-8")
    assert os.access(script, os.X_OK)
    assert "set -euo pipefail" in text
    assert re.search(r"(?m)^exec make test .*</dev/null$", text)
    subprocess.run(["bash", "-n", str(script)], check=True, timeout=30)


def test_a_missing_venv_module_names_its_remedy(tmp_path: Path) -> None:
    """Where python3-venv is missing, make says the exact line that installs it and stops."""
    python = tmp_path / "python3"
    python.write_text('#!/bin/sh\ncase "$2" in *ensurepip*) exit 1 ;; esac\nexit 0\n')
    python.chmod(0o755)
    done = make(f"PYTHON={python}", f"VENV={tmp_path}/venv", "eval", check=False)
    assert "apt-get install python3-venv" in done.stderr
    assert done.returncode == 2
    assert not (tmp_path / "venv").exists()


def test_make_refuses_a_variable_that_no_target_reads() -> None:
    """A misspelt one ends make with the one that was likely meant; every variable that is passed on is known."""
    ran = subprocess.run(["make", "eval", "DIALCT=mysql"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert "DIALCT is a variable of no target; did you mean DIALECT?" in ran.stderr
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    known = set(re.search(r"KNOWN := ((?:.*\\\n)*.*)", text)[1].replace("\\\n", " ").split())  # type: ignore[index]
    assert set(re.findall(r"call option,(\w+)", text)) | set(re.findall(r"(?m)^(\w+) \?=", text)) <= known
