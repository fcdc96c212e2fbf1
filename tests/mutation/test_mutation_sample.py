"""A fixed sample of mutants dies in the quick tests, as `make mutants` shows for all of them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from mutants import mutants_of
from run import equivalents, modules

FOLDER = Path(__file__).parent
SAMPLE = 8


@pytest.mark.slow
def test_a_fixed_sample_of_mutants_dies() -> None:
    """No mutant of the sample survives that docs/mutants.md does not argue to be equivalent."""
    command = [sys.executable, str(FOLDER / "run.py"), "--sample", str(SAMPLE)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(rf"{SAMPLE} run: {SAMPLE} killed", done.stdout), done.stdout


def test_every_argument_is_about_a_mutant_that_exists() -> None:
    """An id in docs/mutants.md that no mutant has any more is stale."""
    known = {mutant.id for path in modules() for mutant in mutants_of(path)}
    assert equivalents() <= known
    assert len(known) > 1000


def test_a_mutant_changes_one_place_only() -> None:
    """Each mutant differs from the code it was made of, and no two of a file are alike."""
    found = mutants_of(FOLDER.parents[1] / "harness" / "compare" / "columns.py")
    sources = [mutant.source for mutant in found]
    assert len(set(sources)) == len(sources) > 10
    plain = (FOLDER.parents[1] / "harness" / "compare" / "columns.py").read_text(encoding="utf-8")
    assert plain not in sources
