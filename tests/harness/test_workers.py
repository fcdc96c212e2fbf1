"""Workers: every task once, results as they finish, asking ahead of executing, and no thread left on any way out."""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass, field

import pytest

from sqlassay.harness.run.handover import Handover
from sqlassay.harness.run.workers import Crew


@dataclass
class Station:
    """Stands where a station stands and counts the cases that ended at it."""

    rested: int = 0

    def rest(self):
        self.rested += 1


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


def done(crew, tasks):
    return [item for batch in crew.work(tasks) for item in batch]


def test_every_task_is_done_once_by_any_number_of_workers():
    """Twenty tasks on three workers give twenty results; every task ends at its station, every desk is closed."""
    desks: list[Desk] = []

    def opened():
        desks.append(Desk())
        return desks[-1]

    crew = Crew(opened, lambda task, desk: task * 2, 3)
    assert sorted(done(crew, range(20))) == [n * 2 for n in range(20)]
    assert len(desks) == 3
    assert sum(d.station.rested for d in desks) == 20
    assert all(d.parser.closed for d in desks)


@pytest.mark.parametrize("way", [KeyboardInterrupt, GeneratorExit, ValueError])
def test_an_interruption_stops_what_workers_wait_for(way):
    """However the work is broken off, `stop` is called once and no thread is left."""
    stopped: list[bool] = []
    before = threading.active_count()

    def do(task, desk):
        time.sleep(0.02)
        return task

    crew = Crew(Desk, do, 2, stop=lambda: stopped.append(True))
    work = crew.work(range(50))
    next(work)
    if way is GeneratorExit:
        work.close()
    else:
        with pytest.raises(way):
            work.throw(way())
    assert stopped == [True]
    assert threading.active_count() == before


def test_a_result_may_be_nothing():
    """None is a result like any other, and not the end of the work."""
    assert done(Crew(Desk, lambda _task, _desk: None, 2), range(50)) == [None] * 50


def test_no_tasks_give_no_results():
    """A run without tasks ends at once."""
    assert done(Crew(Desk, lambda task, desk: task, 4), []) == []


def test_a_deque_gives_its_tasks_away():
    """Tasks that are given as a deque are let go of one by one: nothing holds those that are done."""
    tasks = deque(range(20))
    assert sorted(done(Crew(Desk, lambda task, _desk: task, 2), tasks)) == list(range(20))
    assert not tasks


def test_a_slow_task_does_not_hold_the_others():
    """Results arrive in finishing order."""
    gate = threading.Event()

    def do(task, desk):
        if task == 0:
            gate.wait(10)
        return task

    finished = []
    for batch in Crew(Desk, do, 2).work(range(5)):
        finished += batch
        if len(finished) == 4:
            gate.set()
    assert finished[-1] == 0


def test_a_worker_error_reaches_the_caller_and_the_others_are_stopped():
    """An error no worker can handle ends the phase; a statement running elsewhere is stopped, not waited for."""
    desks: list[Desk] = []
    killed = threading.Event()

    def opened():
        desks.append(Desk())
        return desks[-1]

    def do(task, desk):
        if task == 0:
            time.sleep(0.1)
            raise ValueError("broken")
        killed.wait(10)
        return task

    started = time.monotonic()
    with pytest.raises(ValueError, match="broken"):
        done(Crew(opened, do, 2, stop=killed.set), range(2))
    assert time.monotonic() - started < 5
    assert all(d.parser.closed for d in desks)
    assert sum(d.station.rested for d in desks) == 2


def test_an_error_of_whoever_asks_ahead_reaches_the_caller():
    """A fault while a task is made ready ends the phase like one at a desk."""

    def ahead(task):
        raise ValueError("no answer")

    with pytest.raises(ValueError, match="no answer"):
        done(Crew(Desk, lambda task, desk: task, 2, ahead=ahead), range(3))


def test_asking_overlaps_with_executing():
    """Twelve tasks of 0.05 s asking and 0.05 s executing on one worker take less than both one after the other."""

    def slept(task, desk=None):
        time.sleep(0.05)
        return task

    started = time.monotonic()
    assert sorted(done(Crew(Desk, slept, 1, ahead=slept), range(12))) == list(range(12))
    assert time.monotonic() - started < 12 * 0.1 * 0.8


def test_asking_is_at_most_a_bounded_number_of_tasks_ahead():
    """While no task is executed, two workers' askers have at most six answers waiting or under way."""
    asked: list[int] = []
    gate = threading.Event()

    def ahead(task):
        asked.append(task)
        return task

    def do(task, desk):
        gate.wait(10)
        return task

    crew = Crew(Desk, do, 2, ahead=ahead)
    threading.Timer(0.3, lambda: (seen.append(len(asked)), gate.set())).start()
    seen: list[int] = []
    assert len(done(crew, range(40))) == 40
    assert seen[0] <= 2 * 2 + 2 + 2


def test_the_number_of_tasks_left_counts_down_to_nothing():
    """Whoever boots sandboxes ahead is told how many tasks have not begun."""
    told: list[int] = []
    done(Crew(Desk, lambda task, desk: task, 1, left=told.append), range(3))
    assert told == [2, 1, 0]


def test_a_handover_keeps_its_bound_and_lets_everybody_go():
    """The third item waits for room; closing lets the giver go with False and the taker with nothing."""
    line: Handover[int] = Handover(2)
    assert [line.put(1), line.put(2)] == [True, True]
    given: list[bool] = []
    giver = threading.Thread(target=lambda: given.append(line.put(3)))
    giver.start()
    giver.join(timeout=0.05)
    assert giver.is_alive() is True
    assert line.get() == 1
    giver.join(timeout=5)
    assert line.take(9) == [2, 3]
    taken: list[int | None] = []
    taker = threading.Thread(target=lambda: taken.append(line.get()))
    taker.start()
    line.close()
    taker.join(timeout=5)
    assert (given, taken, line.put(4)) == ([True], [None], False)


def test_an_ended_handover_gives_what_is_there():
    """Items put in before the end still arrive, and then nothing."""
    line: Handover[int] = Handover(2)
    line.put(1)
    line.end()
    assert [line.get(), line.get()] == [1, None]
