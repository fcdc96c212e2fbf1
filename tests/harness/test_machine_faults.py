"""What the machine refuses a command (a read, a thread, memory) is one line with the remedy, never a traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_UNREADABLE = """
import importlib.machinery, sys

sound = importlib.machinery.SourceFileLoader.get_code

def get_code(self, name):
    if name == {what!r}:
        raise OSError(5, "Input/output error", self.path)
    return sound(self, name)

importlib.machinery.SourceFileLoader.get_code = get_code
"""
_NO_THREAD = """
import threading

def start(self):
    raise RuntimeError("can't start new thread")

threading.Thread.start = start
"""
_NO_MEMORY = """
import sqlassay.cases.formats.registry as registry

def load_pack(*_, **__):
    raise MemoryError

registry.load_pack = load_pack
"""


@pytest.mark.jail
@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (_UNREADABLE.format(what="sqlassay.harness.reports"), "Input/output error"),
        (_UNREADABLE.format(what="sqlassay.harness.reports.junit"), "reports could not be written: junit"),
        (_UNREADABLE.format(what="sqlassay.harness.metrics.routing"), "Input/output error"),
        (_UNREADABLE.format(what="sqlassay.sandboxes.process.plan"), "Input/output error"),
        (_NO_THREAD, "starts no further thread. Look at `ulimit -u`"),
        (_NO_MEMORY, "ran out of memory"),
    ],
)
def test_a_refusal_of_the_machine_is_infrastructure(fault: str, said: str, tmp_path: Path) -> None:
    """Exit 3, the fault and what to do in the last line; nothing is called internal."""
    code = f"{fault}\nimport sys\nfrom sqlassay.harness.cli.main import main\nmain(sys.argv[1:])\n"
    arguments = ["run", "demo", "--dialect", "sqlite", "--out", str(tmp_path / "run")]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    both = done.stdout + done.stderr
    assert (done.returncode, "Traceback" in both, "INTERNAL" in both) == (3, False, False), both
    assert said in both
