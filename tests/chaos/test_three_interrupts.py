"""Ctrl-C three times in a row, as from a person in a hurry: the command ends, and nothing it started is left."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from chaos_ground import Ground, wait_for

pytestmark = [pytest.mark.slow]

PLACES = [
    pytest.param("sqlite", (), marks=pytest.mark.jail),
    pytest.param("duckdb", (), marks=pytest.mark.jail),
    pytest.param("postgres", ("--sandbox", "process"), marks=pytest.mark.jail, id="postgres-jailed"),
    pytest.param("postgres", ("--sandbox", "docker"), marks=pytest.mark.docker),
    pytest.param("mysql", ("--sandbox", "docker"), marks=pytest.mark.docker),
    pytest.param("mariadb", ("--sandbox", "docker"), marks=pytest.mark.docker),
]


def segments() -> set[str]:
    """Return the shared memory that outlives processes: System V segments by id, POSIX ones by name."""
    listed = Path("/proc/sysvipc/shm").read_text(encoding="ascii").splitlines()[1:]
    return {f"segment {line.split()[1]}" for line in listed} | {path.name for path in Path("/dev/shm").iterdir()}  # noqa: S108


def loads(ground: Ground) -> bool:
    """Return whether a server of a bake, or the process of a script, is there."""
    programs = ("bin/initdb", "bin/postgres", "confined_program.py")
    return bool(ground.containers()) or any(name in line for line in ground.processes() for name in programs)


def interrupted(ground: Ground, made: subprocess.Popen[str], moment: Callable[[], bool]) -> str:
    """Press Ctrl-C three times once something is so, and return what the command said."""
    assert wait_for(lambda: moment() or made.poll() is not None, 60), ground.said()
    assert made.poll() is None, ground.said()
    for _ in range(3):
        made.send_signal(signal.SIGINT)
        time.sleep(0.1)
    # One that comes while the interpreter takes itself down ends it by the signal, which a shell tells as 130 too.
    assert made.wait(timeout=60) in (130, -signal.SIGINT), ground.said()
    return ground.said()


@pytest.mark.parametrize(("dialect", "more"), PLACES)
def test_three_interrupts_leave_nothing(ground: Ground, dialect: str, more: tuple[str, ...]) -> None:
    """In a bake and in a run: no container, process, folder, lock, mount, image or shared memory stays behind."""
    before = segments()
    baking = ground.start(*ground.run_arguments("run", dialect, "--jobs", "2", *more), CHAOS_ASK="0.3")
    said = interrupted(ground, baking, lambda: loads(ground))
    assert "Traceback" not in said
    assert ground.settled() == []
    assert ground.images() == []
    assert segments() - before == set()

    running = ground.start(*ground.run_arguments("run", dialect, "--jobs", "2", *more), CHAOS_ASK="0.3")
    said = interrupted(ground, running, lambda: len(ground.journalled("run")) >= 2)
    assert "Traceback" not in said
    assert ground.settled() == []
    assert segments() - before == set()


@pytest.mark.parametrize(("dialect", "more"), [PLACES[2], PLACES[4]])
def test_a_killed_run_is_gone_after_the_next(ground: Ground, dialect: str, more: tuple[str, ...]) -> None:
    """After kill -9 the next run on that engine removes servers, folders and locks; no shared memory stays."""
    before = segments()
    running = ground.start(*ground.run_arguments("run", dialect, "--jobs", "2", *more), CHAOS_ASK="0.3")
    assert wait_for(lambda: len(ground.journalled("run")) >= 2 or running.poll() is not None, 90), ground.said()
    assert running.poll() is None, ground.said()
    running.kill()
    running.wait()
    assert ground.leaks() != []
    code, said = ground.call(*ground.run_arguments("next", dialect, "--jobs", "2", *more))
    assert code == 0, said
    assert ground.settled() == []
    assert segments() - before == set()
