"""The engine restarts, hangs, breaks off or has no space: one clear line in time, nothing lost, nothing left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from chaos_ground import VERDICTS, Ground, wait_for
from engine_proxy import EngineProxy, proxied

pytestmark = [pytest.mark.docker, pytest.mark.slow]

_BRISK = """
import sys
from sandboxes.docker import outage
outage.ANSWER_SECONDS, outage.OUTAGE_SECONDS, outage._PING_SECONDS = 3, {outage}, 1
from harness.cli.main import main
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
    from chaos_ground import Engine

    with Engine() as api:
        for made in ground.containers():
            pid = api.inspect_container(made)["State"]["Pid"]
            if pid:
                os.kill(pid, signal.SIGKILL)


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


@pytest.mark.skipif(not os.environ.get("SQLASSAY_CHAOS_ENGINE"), reason="restarts the engine, which others may use")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_real_engine_that_is_restarted_is_waited_for(postgres: Ground, how: signal.Signals) -> None:
    """Dockerd stopped or killed in the middle of a run and started again: the run waits, goes on and ends well."""
    arguments = postgres.run_arguments("run", "postgres", "--jobs", "1", "--engine", "none")
    made = postgres.start(*arguments, CHAOS_ASK="0.3")
    assert wait_for(lambda: len(postgres.journalled("run")) >= 2 or made.poll() is not None, 90), postgres.said()
    daemon = int(Path("/var/run/docker.pid").read_text(encoding="utf-8"))
    os.kill(daemon, how)
    assert wait_for(lambda: not Path(f"/proc/{daemon}").exists(), 60)
    subprocess.run([sys.executable, "-m", "sandboxes.engine", "auto"], check=True, timeout=120)
    assert made.wait(timeout=120) == 0, postgres.said()
    assert postgres.verdicts("run") == VERDICTS
    postgres.call("clean")
    assert postgres.settled() == []


def test_an_engine_that_hangs_from_the_start_is_told(postgres, proxy):
    """A hung engine is one line with exit 3 within seconds, before anything is asked."""
    proxy.hang()
    began = time.monotonic()
    made = started(postgres, proxy, *postgres.run_arguments("run", "postgres", "--engine", "none"))
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
