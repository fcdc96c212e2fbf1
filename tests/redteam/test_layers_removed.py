"""Each layer deleted from a copy of the project turns the test red that is named for it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rows import rows_of

ROOT = Path(__file__).parents[2]
ROWS: list[dict[str, Any]] = rows_of("layers")
ROOMS = ("cases", "dialect_adapters", "harness", "sandboxes", "tests", "pyproject.toml", "sqlassay")
MARKS = {"jail": pytest.mark.jail, "docker": pytest.mark.docker, "bwrap": pytest.mark.jail}
SELECTED = {"jail": "jail", "bwrap": "jail", "docker": "docker"}


def _parameter(row: dict[str, Any]) -> Any:
    """Return a row with the mark of what its test runs on."""
    marks = [pytest.mark.slow, MARKS[row["needs"]]] if "needs" in row else [pytest.mark.slow]
    return pytest.param(row, marks=marks, id=f"{row['layer']}: {row['removed']}")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the project's code and tests."""
    target = tmp_path / "copy"
    target.mkdir()
    for name in ROOMS:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, target / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, target / name)
    return target


def _run(copy: Path, tests: list[str], marked: str = "") -> tuple[int, str]:
    """Run tests of the copy in a process of their own, up to the first that fails."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--tb=line", *tests]
    done = subprocess.run(
        [*command, *(["-m", marked] if marked else [])],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": str(copy)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def _name(test: str) -> str:
    """Return a test's name without its parameters."""
    return test.rpartition("::")[2].partition("[")[0]


@pytest.mark.slow
def test_the_copy_is_green_as_it_is(copy: Path) -> None:
    """What turns red below does so for what was deleted: all named tests that need no sandbox pass on the copy."""
    code, output = _run(copy, sorted({row["red"] for row in ROWS if "needs" not in row}))
    assert code == 0, output[-3000:]


@pytest.mark.parametrize("row", [_parameter(row) for row in ROWS])
def test_a_layer_that_is_deleted_is_missed(copy: Path, row: dict[str, Any]) -> None:
    """The named test fails, by its own assertion and not because the copy cannot be run."""
    needs = row.get("needs", "")
    if needs == "bwrap" and shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed, so its jail cannot be weakened")
    file = copy / row["file"]
    text = file.read_text("utf-8")
    assert text.count(row["old"]) == 1, f"{row['file']} does not hold {row['old']!r} once"
    file.write_text(text.replace(row["old"], row["new"]), "utf-8")
    code, output = _run(copy, [row["red"]], SELECTED.get(needs, ""))
    assert code == 1, output[-3000:]
    assert re.search(rf"^FAILED .*{_name(row['red'])}", output, re.MULTILINE), output[-3000:]
    assert re.search(r"^(?:=+ )?\d+ failed", output, re.MULTILINE), output[-3000:]


def test_the_threat_model_names_them() -> None:
    """docs/threat-model.md lists every layer with the tests that miss it."""
    page = (ROOT / "docs" / "threat-model.md").read_text("utf-8")
    for row in ROWS:
        line = next(
            (line for line in page.splitlines() if line.startswith(f"| {row['layer']} | {row['removed']} |")), ""
        )
        assert f"`{row['red']}`" in line, f"{row['layer']}: {row['removed']}"
