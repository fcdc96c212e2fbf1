"""The engine restarts, hangs, breaks off or has no space: one clear line in time, nothing lost, nothing left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from chaos_ground import VERDICTS, Engine, Ground, wait_for
from engine_proxy import EngineProxy, proxied

from sqlassay.sandboxes import engine

pytestmark = [pytest.mark.docker, pytest.mark.slow]

_BRISK = """
import sys
from sqlassay.sandboxes.docker import outage
outage.ANSWER_SECONDS, outage.OUTAGE_SECONDS, outage._PING_SECONDS = 3, {outage}, 1
from sqlassay.harness.cli.main import main
main(sys.argv[1:])
"""
"""The command with less patience for the engine, so that a test need not wait for half a minute."""


@pytest.fixture
def proxy(postgres: Ground) -> Iterator[EngineProxy]:
    """An engine that can be broken for one command."""
    with proxied(postgres.home) as made:
        yield made


def started(ground: Ground, proxy: EngineProxy, *arguments: str, outage: float = 3) -> subprocess.Popen[str]:
    """Start a command that reaches the engine through the proxy."""
    with (ground.home / "said").open("a") as log:
        return subprocess.Popen(
            [sys.executable, "-c", _BRISK.format(outage=outage), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            text=True,
            cwd=ground.home,
            env=ground.env(DOCKER_HOST=proxy.host, CHAOS_ASK="0.3"),
        )


def running(ground: Ground, proxy: EngineProxy, *, at: int = 2, outage: float = 3) -> subprocess.Popen[str]:
    """Return a run through the proxy that has some results."""
    arguments = ground.run_arguments("run", "postgres", "--jobs", "1", "--engine", "none")
    made = started(ground, proxy, *arguments, outage=outage)
    assert wait_for(lambda: len(ground.journalled("run")) >= at or made.poll() is not None, 90), ground.said()
    assert made.poll() is None, ground.said()
    return made


def drop_server(ground: Ground) -> None:
    """Kill the run's server behind the engine's back, so that the run needs another one."""
    for pid in server_pids(ground):
        os.kill(pid, signal.SIGKILL)


def server_pids(ground: Ground) -> list[int]:
    """Return the first process of each of the run's servers."""
    with Engine() as api:
        pids = [api.inspect_container(made)["State"]["Pid"] for made in ground.containers()]
    return [pid for pid in pids if pid]


def resumed(ground: Ground) -> None:
    """Resume the run with a sound engine and see that it ends as it should, with nothing left."""
    finished, asked = set(ground.journalled("run")), len(ground.asked())
    code, said = ground.call("resume", str(ground.home / "run"))
    assert code == 0, said
    assert ground.verdicts("run") == VERDICTS
    assert finished.isdisjoint(ground.asked()[asked:])
    assert ground.settled() == []


def test_an_engine_that_restarts_is_waited_for(postgres, proxy):
    """The engine is gone for seconds and every server dies with it: the run waits, goes on and ends well."""
    made = running(postgres, proxy, outage=30)
    proxy.refuse()
    drop_server(postgres)
    time.sleep(3)
    proxy.come_back()
    assert made.wait(timeout=90) == 0, postgres.said()
    assert postgres.verdicts("run") == VERDICTS
    assert postgres.settled() == []


@pytest.mark.parametrize("how", ["refuse", "hang"])
def test_an_engine_that_stays_away_ends_the_run_in_time(postgres, proxy, how):
    """A dead or hung engine ends the run with exit 3 and the way on; finished results are kept, the rest is resumed."""
    made = running(postgres, proxy)
    getattr(proxy, how)()
    drop_server(postgres)
    began = time.monotonic()
    assert made.wait(timeout=60) == 3, postgres.said()
    assert time.monotonic() - began < 45
    last = postgres.said().rstrip().splitlines()[-1]
    assert ("are finished and kept" in last, "sqlassay resume" in last) == (True, True), last
    proxy.come_back()
    assert 2 <= len(postgres.journalled("run")) < len(VERDICTS)
    resumed(postgres)


_PATIENT = """
import sys
from sqlassay.sandboxes.docker import outage
outage.OUTAGE_SECONDS = 120
from sqlassay.harness.cli.main import main
main(sys.argv[1:])
"""
"""The command with more patience: a machine's own engine ends every container there is before it answers again."""


@dataclass(frozen=True)
class Daemon:
    """The machine's dockerd as it was found: process, command line, environment, folder and log."""

    pid: int
    argv: list[str]
    env: dict[str, str]
    folder: Path
    log: Path

    @classmethod
    def found(cls) -> Daemon:
        """Look at the one that runs."""
        pid = int(Path("/var/run/docker.pid").read_text(encoding="utf-8"))
        place = Path(f"/proc/{pid}")
        argv, env = ((place / name).read_bytes().decode().split("\0")[:-1] for name in ("cmdline", "environ"))
        log, folder = ((place / name).readlink() for name in ("fd/1", "cwd"))
        return cls(pid, argv, dict(pair.split("=", 1) for pair in env), folder if folder.is_dir() else Path("/"), log)

    def gone(self) -> bool:
        """Return True once the process has ended, be it that nobody has collected it."""
        return engine._command(str(self.pid)) == ""

    def start(self) -> None:
        """Start it again as it was, so that it outlives the tests, and wait until it answers."""
        if not Path("/run/systemd/system").is_dir():
            engine._drop_stale_pids(engine._OWNERS)
            with (self.log if self.log.is_absolute() else Path(os.devnull)).open("ab") as log:
                command = ["setsid", "--fork", *self.argv]
                subprocess.run(
                    command, check=True, cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log
                )
            assert wait_for(lambda: engine._running_daemon() is not None, 30)
        subprocess.run([sys.executable, "-m", "sqlassay.sandboxes.engine", "auto"], check=True, timeout=120)


@pytest.mark.skipif(not os.environ.get("SQLASSAY_CHAOS_ENGINE"), reason="restarts the engine, which others may use")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_real_engine_that_is_restarted_is_waited_for(postgres: Ground, how: signal.Signals) -> None:
    """Dockerd stopped or killed in the middle of a run and started again: the run waits, goes on and ends well."""
    daemon = Daemon.found()
    arguments = postgres.run_arguments("run", "postgres", "--jobs", "1", "--engine", "none")
    with (postgres.home / "said").open("a") as log:
        made = subprocess.Popen(
            [sys.executable, "-c", _PATIENT, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=postgres.home,
            env=postgres.env(CHAOS_ASK="0.5"),
        )
    assert wait_for(lambda: len(postgres.journalled("run")) >= 2 or made.poll() is not None, 90), postgres.said()
    assert made.poll() is None, postgres.said()
    servers = server_pids(postgres)
    os.kill(daemon.pid, how)
    try:
        assert wait_for(daemon.gone, 90)
        for pid in servers:  # a killed dockerd leaves its containers alone: the run must need it, or it sees nothing
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(2)
    finally:
        daemon.start()
    assert made.wait(timeout=180) == 0, postgres.said()
    assert postgres.verdicts("run") == VERDICTS
    assert Daemon.found().argv == daemon.argv
    postgres.call("clean")
    assert postgres.settled() == []


def test_an_engine_that_hangs_from_the_start_is_told(postgres, proxy):
    """A hung engine is one line with exit 3 within seconds, before anything is asked."""
    proxy.hang()
    began = time.monotonic()
    made = started(
        postgres, proxy, *postgres.run_arguments("run", "postgres", "--engine", "none", "--sandbox", "docker")
    )
    assert made.wait(timeout=60) == 3, postgres.said()
    assert time.monotonic() - began < 30
    assert "no container engine answers" in postgres.said()
    assert (postgres.asked(), (postgres.home / "run").exists()) == ([], False)


def test_broken_connections_are_made_again(postgres, proxy):
    """Connections to the engine that break while a server is replaced cost nothing but time."""
    made = running(postgres, proxy, outage=30)
    proxy.break_off()
    drop_server(postgres)
    proxy.break_off()
    assert made.wait(timeout=90) == 0, postgres.said()
    assert postgres.verdicts("run") == VERDICTS
    assert postgres.settled() == []


def test_an_engine_without_space_is_told_and_the_run_resumed(postgres, proxy):
    """No space for a new server: exit 3 with the engine's words and the remedy, then resumed once there is space."""
    made = running(postgres, proxy)
    proxy.fill()
    drop_server(postgres)
    assert made.wait(timeout=60) == 3, postgres.said()
    last = postgres.said().rstrip().splitlines()[-1]
    assert ("no space left on device" in last, "docker system df" in last) == (True, True), last
    proxy.come_back()
    resumed(postgres)


def test_a_bake_without_space_leaves_nothing(ground: Ground, tmp_path: Path):
    """A full engine while an image is baked: one line, no container, no image, and the next run bakes it."""
    with proxied(ground.home) as proxy:
        proxy.fill()
        made = started(ground, proxy, *ground.run_arguments("run", "sqlite", "--sandbox", "docker", "--engine", "none"))
        assert made.wait(timeout=90) == 3, ground.said()
        assert "no space left on device" in ground.said()
        assert (ground.containers(), ground.images()) == ([], [])
    code, said = ground.call(*ground.run_arguments("run", "sqlite", "--sandbox", "docker"))
    assert code == 0, said
    assert ground.verdicts("run") == VERDICTS
    assert ground.settled() == []
