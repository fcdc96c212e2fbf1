"""Workers: every task once, results as they finish, drift collected, and no thread or server left on any way out."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

import pytest

from harness.run.workers import Crew


@dataclass
class Station:
    """Stands where a station stands and counts what was asked of it."""

    drift: tuple[str, ...] = ()
    closed: int = 0
    abandoned: int = 0
    killed: threading.Event = field(default_factory=threading.Event)

    def close(self):
        self.closed += 1
        return self.drift

    def abandon(self):
        self.abandoned += 1
        return () if self.closed else self.drift

    def kill(self):
        self.killed.set()


class Parser:
    """Stands where a parser stands."""

    def __init__(self):
        self.closed = False

    def close(self):
        self.closed = True


@dataclass
class Desk:
    """A desk of the two above."""

    station: Station = field(default_factory=Station)
    parser: Parser = field(default_factory=Parser)


def test_every_task_is_done_once_by_any_number_of_workers():
    """Twenty tasks on three workers give twenty results; every desk is closed and its state looked at."""
    desks: list[Desk] = []

    def opened():
        desks.append(Desk(Station(drift=("d",))))
        return desks[-1]

    crew = Crew(opened, lambda task, desk: task * 2, 3)
    assert sorted(crew.work(range(20))) == [n * 2 for n in range(20)]
    assert len(desks) == 3
    assert crew.drift == ["d"] * 3
    assert all(d.station.closed == 1 and d.station.abandoned == 1 and d.parser.closed for d in desks)


@pytest.mark.parametrize("way", [KeyboardInterrupt, GeneratorExit, ValueError])
def test_drift_found_before_an_interruption_is_kept(way):
    """However the phase is broken off, what the stations had found until then is told."""

    def opened():
        return Desk(Station(drift=("changed",)))

    def do(task, desk):
        time.sleep(0.02)
        return task

    crew = Crew(opened, do, 2)
    work = crew.work(range(50))
    next(work)
    if way is GeneratorExit:
        work.close()
    else:
        with pytest.raises(way):
            work.throw(way())
    assert crew.drift == ["changed"] * 2


def test_no_tasks_give_no_results():
    """A run without tasks ends at once."""
    assert list(Crew(Desk, lambda task, desk: task, 4).work([])) == []


def test_a_slow_task_does_not_hold_the_others():
    """Results arrive in finishing order."""
    gate = threading.Event()

    def do(task, desk):
        if task == 0:
            gate.wait(10)
        return task

    finished = []
    for done in Crew(Desk, do, 2).work(range(5)):
        finished.append(done)
        if len(finished) == 4:
            gate.set()
    assert finished[-1] == 0


def test_a_worker_error_reaches_the_caller_and_servers_are_killed():
    """An error no worker can handle ends the phase; a statement running elsewhere is stopped, not waited for."""
    desks: list[Desk] = []

    def opened():
        desks.append(Desk())
        return desks[-1]

    def do(task, desk):
        if task == 0:
            time.sleep(0.1)
            raise ValueError("broken")
        desk.station.killed.wait(10)
        return task

    started = time.monotonic()
    with pytest.raises(ValueError, match="broken"):
        list(Crew(opened, do, 2).work(range(2)))
    assert time.monotonic() - started < 5
    assert all(d.station.abandoned == 1 and d.parser.closed for d in desks)
    assert threading.active_count() < 5
