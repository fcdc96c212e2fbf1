"""An agent's start is bounded, says what it waited for, and leaves nothing behind when it is broken off."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from sqlassay.cases.errors import InputError
from sqlassay.harness.agents.callable import CallableAgent
from sqlassay.harness.agents.request import AgentRequest

pytestmark = pytest.mark.jail

START = (
    "from sqlassay.harness.agents.callable import CallableAgent; import signal\n{setup}CallableAgent('slow.py:answer')"
)
AS_THE_COMMAND = "def stop(*_): raise KeyboardInterrupt\nsignal.signal(signal.SIGTERM, stop)\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "slow.py").write_text(
        "import os, time, pathlib\npathlib.Path(os.environ['MARK']).touch()\ntime.sleep(60)\n"
    )
    (tmp_path / "rude.py").write_text(
        "def answer(request):\n"
        "    if request.question == 'half': raise ValueError('\\ud800')\n"
        "    if request.question == 'answer': return 'SELECT \\ud800'\n"
        "    if request.question == 'nan': return {'sql': 'SELECT 1', 'cost': float('nan')}\n"
        "    if request.question == 'debt': return {'sql': 'SELECT 1', 'tokens': -3}\n"
        "    if request.question == 'deep': return {'sql': 'SELECT 1', 'metadata': {'a': [float('inf')]}}\n"
        "    raise ValueError('x' * 980 + ' password=hunter2 postgres://u:pw@h/db')\n"
    )
    return tmp_path


def test_import_that_hangs_ends_at_the_deadline_and_says_so(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names the import and the seconds, not the agent's name."""
    monkeypatch.setenv("MARK", str(folder / "mark"))
    start = time.monotonic()
    with pytest.raises(InputError, match=r"its import took longer than 1 s\. Do slow work at the first call"):
        CallableAgent("slow.py:answer", folder=folder, start_seconds=1)
    assert time.monotonic() - start < 10


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_during_the_import_leaves_no_folder(folder: Path, tmp_path: Path, number: signal.Signals) -> None:
    """Whatever breaks the start off takes the child's folder with it."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    mark = tmp_path / "mark"
    environment = {**os.environ, "TMPDIR": str(scratch), "MARK": str(mark)}
    program = START.format(setup=AS_THE_COMMAND)
    with subprocess.Popen(
        [sys.executable, "-c", program], cwd=folder, env=environment, stderr=subprocess.DEVNULL
    ) as process:
        for _ in range(600):
            if mark.exists():
                break
            time.sleep(0.05)
        assert [path.name[:15] for path in scratch.iterdir()] == ["sqlassay-agent-"]
        process.send_signal(number)
        process.wait(timeout=20)
    assert list(scratch.iterdir()) == []


def test_killed_harness_leaves_a_folder_that_the_next_agent_sweeps(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SIGKILL can be answered by nobody: the next start removes what it left."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    mark = tmp_path / "mark"
    environment = {**os.environ, "TMPDIR": str(scratch), "MARK": str(mark)}
    with subprocess.Popen(
        [sys.executable, "-c", START.format(setup="")], cwd=folder, env=environment, stderr=subprocess.DEVNULL
    ) as process:
        for _ in range(600):
            if mark.exists():
                break
            time.sleep(0.05)
        process.kill()
        process.wait()
    assert len(list(scratch.iterdir())) == 1
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    CallableAgent("rude.py:answer", folder=folder).close()
    assert list(scratch.iterdir()) == []


def test_what_cannot_be_written_down_is_a_failed_prediction(folder: Path) -> None:
    """Half characters, endless numbers and debts are the agent's error; secrets in errors are masked before any cut."""
    agent = CallableAgent("rude.py:answer", folder=folder)
    said = {}
    try:
        for mode in ("half", "answer", "nan", "debt", "deep", "secret"):
            found = agent.predict(AgentRequest(case_id="c", question=mode, dialect="sqlite"))
            assert found.sql is None
            said[mode] = str(found.metadata["agent_error"])
            found.model_dump_json().encode()
    finally:
        agent.close()
    assert "\\ud800" in said["half"]
    assert "half a character" in said["answer"]
    assert "'cost'" in said["nan"]
    assert "'tokens'" in said["debt"]
    assert "(at a.0)" in said["deep"]
    assert "hunter2" not in said["secret"]
    assert "pw" not in said["secret"]
