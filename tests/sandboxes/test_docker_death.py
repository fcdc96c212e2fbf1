"""A server that dies of memory is told from one that is lost, even where the engine notices late."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from requests import ReadTimeout

from sqlassay.dialect_adapters.contract import Endpoint
from sqlassay.sandboxes.contract import Isolation
from sqlassay.sandboxes.docker import sandbox as module
from sqlassay.sandboxes.docker.sandbox import DockerSandbox

ALIVE = {"Running": True, "Pid": 0, "ExitCode": 0, "OOMKilled": False}
KILLED = {"Running": False, "Pid": 0, "ExitCode": 137, "OOMKilled": False}
OUT_OF_MEMORY = {"Running": False, "Pid": 0, "ExitCode": 137, "OOMKilled": True}
LEFT = {"Running": False, "Pid": 0, "ExitCode": 1, "OOMKilled": False}


class Engine:
    """An engine that tells one state after the other, the last for ever."""

    def __init__(self, *states: dict[str, Any]) -> None:
        self.states = list(states)

    def inspect(self, made: str) -> dict[str, Any]:
        return {"State": self.states.pop(0) if len(self.states) > 1 else self.states[0]}


def _sandbox(*states: dict[str, Any], socket: Path | None = None) -> DockerSandbox:
    """Return a sandbox whose engine tells these states; without a socket it is on another machine."""
    engine: Any = Engine(*states)
    nothing: Any = None
    at = Endpoint(socket)
    return DockerSandbox(engine, nothing, "id", nothing, Isolation("docker", "", ""), at, lambda made: None)


@pytest.mark.parametrize(
    ("states", "died"),
    [
        ([OUT_OF_MEMORY], True),
        ([ALIVE, ALIVE, OUT_OF_MEMORY], True),
        ([ALIVE, KILLED], True),
        ([ALIVE, LEFT], False),
        ([LEFT], False),
    ],
)
def test_the_engine_may_notice_late(states: list[dict[str, Any]], died: bool) -> None:
    """The connection breaks first: the engine is asked again until it has noticed that the server is dead."""
    assert _sandbox(*states).died_of_memory() is died


@pytest.mark.parametrize(
    ("before", "after", "died"),
    [
        ("oom_kill 7\n", "oom_kill 7\n", False),
        ("nr_free 1\noom_kill 7\n", "oom_kill 8\n", True),
        ("nr_free 1\n", "nr_free 1\n", True),
        ("", "", True),
    ],
)
def test_a_server_that_somebody_killed_did_not_die_of_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str, after: str, died: bool
) -> None:
    """Without the engine's flag, a killed server died of memory only if this kernel has killed anything meanwhile."""
    vmstat = tmp_path / "vmstat"
    monkeypatch.setattr(module, "_VMSTAT", vmstat)
    if before:
        vmstat.write_text(before)
    sandbox = _sandbox(ALIVE, KILLED, socket=tmp_path / "s")
    if after:
        vmstat.write_text(after)
    assert sandbox.died_of_memory() is died


def test_a_server_that_lives_is_not_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection lost to a server that goes on running is no death of memory, and the wait for one has an end."""
    monkeypatch.setattr(module, "_NOTICED_SECONDS", 0.1)
    assert _sandbox(ALIVE).died_of_memory() is False


def test_a_server_dies_past_an_engine_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the engine does not answer a kill, the process known since the start is killed all the same."""
    server = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        engine: Any = Hung()
        nothing: Any = None
        sandbox = DockerSandbox(
            engine, nothing, "id", nothing, Isolation("docker", "", ""), Endpoint(tmp_path / "s"), lambda made: None
        )
        monkeypatch.setattr(module, "listener", lambda path, belongs: os.pidfd_open(server.pid))
        sandbox.know_listener()
        sandbox.kill()
        assert server.wait(timeout=10) == -signal.SIGKILL
    finally:
        server.kill()
        server.wait()


class Hung:
    """An engine that takes requests and does not answer."""

    @property
    def api(self) -> Hung:
        """Return itself as the client."""
        return self

    def kill(self, made: str) -> None:
        """Give up waiting."""
        raise ReadTimeout("no answer")
