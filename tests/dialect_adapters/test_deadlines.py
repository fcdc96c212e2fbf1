"""The clock all statements share: each deadline at its time, none that was given up, nothing kept of those."""

from __future__ import annotations

import gc
import signal
import subprocess
import sys
import threading
import time
import weakref
from subprocess import PIPE
from time import monotonic

from sqlassay.dialect_adapters.deadlines import Deadlines

_STOPPED = """
import sys, time
from sqlassay.dialect_adapters.deadlines import Deadlines
clock = Deadlines()
clock.at(time.monotonic() + 1000, lambda: None)
time.sleep(0.3)
print("at work", flush=True)
sys.stdin.readline()
time.sleep(0.2)
print(clock.paused)
"""


def test_a_process_that_was_stopped_knows_for_how_long():
    """SIGSTOP for three seconds is noticed, however far the next deadline is."""
    with subprocess.Popen([sys.executable, "-c", _STOPPED], text=True, stdin=PIPE, stdout=PIPE) as child:
        assert child.stdout.readline() == "at work\n"
        child.send_signal(signal.SIGSTOP)
        time.sleep(3.0)
        child.send_signal(signal.SIGCONT)
        said, _ = child.communicate("go on\n", timeout=30)
    assert 2.0 < float(said) < 20.0


def test_deadlines_are_called_in_the_order_of_their_times():
    """A later-set earlier deadline wakes the clock; each is called once, no sooner than asked."""
    clock, called, done = Deadlines(), [], threading.Event()
    began = monotonic()
    clock.at(began + 0.10, lambda: (called.append(("second", monotonic())), done.set()))
    clock.at(began + 0.03, lambda: called.append(("first", monotonic())))
    assert done.wait(5) is True
    assert [name for name, _ in called] == ["first", "second"]
    assert [at - began >= wanted for (_, at), wanted in zip(called, (0.03, 0.10), strict=True)] == [True, True]


def test_a_deadline_that_was_given_up_is_not_called():
    """Dropping before the time calls nothing, dropping again does nothing, and a later one is still called."""
    clock, called, done = Deadlines(), [], threading.Event()
    dropped = clock.at(monotonic() + 0.02, lambda: called.append("dropped"))
    clock.at(monotonic() + 0.06, done.set)
    clock.drop(dropped)
    clock.drop(dropped)
    assert done.wait(5) is True
    assert called == []


def test_nothing_is_kept_of_statements_that_ended_in_time():
    """Ten thousand given-up deadlines an hour away leave no entries behind and hold on to nothing."""

    class Statement:
        """Something large that a deadline refers to."""

        def late(self) -> None:
            """Never called."""

    clock = Deadlines()
    statement = Statement()
    gone = weakref.ref(statement)
    clock.drop(clock.at(monotonic() + 3600, statement.late))
    del statement
    gc.collect()
    assert gone() is None
    for _ in range(10_000):
        clock.drop(clock.at(monotonic() + 3600, lambda: None))
    assert len(clock._entries) < 100


def test_one_thread_serves_them_all():
    """However many deadlines are set, one thread waits."""
    before = threading.active_count()
    clock = Deadlines()
    held = [clock.at(monotonic() + 3600, lambda: None) for _ in range(50)]
    assert threading.active_count() == before + 1
    for one in held:
        clock.drop(one)
