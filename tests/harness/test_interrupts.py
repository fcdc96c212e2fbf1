"""Ctrl-C pressed again and again ends a command once, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sqlassay.harness.cli import main as module
from sqlassay.harness.cli.main import Interrupts


def test_the_first_signal_interrupts_and_the_next_are_answered(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """What removes sandboxes is not broken off; a signal that comes much later still ends a command that hangs."""
    now = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    interrupts = Interrupts()
    with pytest.raises(KeyboardInterrupt):
        interrupts(signal.SIGINT, None)
    for _ in range(2):
        now[0] += 1
        interrupts(signal.SIGTERM, None)
    assert capfd.readouterr().err.count("INTERRUPTED already: removing what was started") == 2
    now[0] += module.REMOVAL_SECONDS
    with pytest.raises(KeyboardInterrupt):
        interrupts(signal.SIGINT, None)


@pytest.mark.jail
def test_three_interrupts_in_a_row_leave_nothing(tmp_path: Path) -> None:
    """No folder, no lock and no process of a run is left, and the code is 130."""
    agent = tmp_path / "agent.py"
    agent.write_text("import time\ndef answer(request):\n    time.sleep(60)\n")
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    command = [sys.executable, "-m", "sqlassay.harness.cli", "run", "demo", "--agent", f"{agent}:answer", "--jobs", "2"]
    where = {"TMPDIR": str(temporary), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    environment = {**os.environ, **where, "PYTHONPATH": str(Path(__file__).parents[2])}
    process = subprocess.Popen(command, env=environment, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        until = time.monotonic() + 60
        while not list(tmp_path.glob("runs/*/manifest.json")) and time.monotonic() < until:
            time.sleep(0.05)
        for _ in range(3):
            process.send_signal(signal.SIGINT)
            time.sleep(0.05)
        said = process.communicate(timeout=60)[0].decode()
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130, said
    left = [path for path in temporary.rglob("*") if path.name != f"sqlassay-{os.geteuid()}"]
    assert left == []
    assert list((tmp_path / "cache/sqlassay/runs").glob("*.lock")) == []
