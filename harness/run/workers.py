"""Run tasks on several threads, each with a desk of its own; results arrive in finishing order.

Where a task needs somebody else first, as an agent that may take its time, threads of another kind see to that ahead of
the workers: a bounded number of tasks is made ready while others are executed, and no sandbox waits for an answer.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from sqlassay.harness.desk import Desk
from sqlassay.harness.run.handover import Handover

Task = TypeVar("Task")
Done = TypeVar("Done")

BATCH = 64
"""The most results that are handed over at once: what is journalled together costs one wait for the disk."""
_STOP_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class _Left:
    """What a worker hands over last; any other value, None too, is a result."""


@dataclass(frozen=True, slots=True)
class _Broken:
    """An exception on its way from a worker to the caller."""

    error: BaseException


def _nothing(*_: object) -> None:
    """Do nothing."""


class Crew(Generic[Task, Done]):
    """Threads that take tasks from one queue. Use as `for batch in crew.work(...)`.

    `ahead` makes a task ready in a thread of its own kind; `left` is told how many tasks have not begun; `stop` is
    called where the work is broken off, to end what the workers wait for.
    """

    def __init__(
        self,
        open_desk: Callable[[], Desk],
        do: Callable[[Task, Desk], Done],
        jobs: int,
        *,
        ahead: Callable[[Task], Task] | None = None,
        left: Callable[[int], None] = _nothing,
        stop: Callable[[], None] = _nothing,
    ) -> None:
        """Remember how a desk is opened and what is done at it."""
        self._open_desk = open_desk
        self._do = do
        self._jobs = jobs
        self._ahead = ahead
        self._tell_left = left
        self._stop = stop
        self._lock = threading.Lock()  # guards _left and _asking, which several threads count down
        self._left = 0
        self._asking = 0

    def work(self, tasks: Sequence[Task]) -> Generator[list[Done], None, None]:
        """Yield results as they finish, all that are there at once; on any way out the threads are gone first.

        A deque of tasks is emptied.
        """
        jobs = max(1, min(self._jobs, len(tasks)))
        todo: Handover[Task] = Handover(max(1, len(tasks)))
        ready: Handover[Task] = Handover(2 * jobs) if self._ahead is not None else todo
        done: Handover[Done | _Broken | _Left] = Handover(4 * BATCH)
        self._left = len(tasks)
        for task in _given(tasks):
            todo.put(task)
        todo.end()
        threads = [self._thread("worker", n, self._worker, ready, done) for n in range(jobs)]
        if self._ahead is not None:
            self._asking = jobs
            threads += [self._thread("asker", n, self._asker, self._ahead, todo, ready, done) for n in range(jobs)]
        for thread in threads:
            thread.start()
        finished = False
        try:
            yield from _collected(done, jobs)
            finished = True
        finally:
            for line in (todo, ready, done):
                line.close()
            if not finished:
                self._stop()
            for thread in threads:
                thread.join(timeout=_STOP_SECONDS)

    def _thread(self, kind: str, number: int, run: Callable[..., None], *arguments: object) -> threading.Thread:
        """Return a thread of the crew, not started."""
        return threading.Thread(target=run, args=arguments, name=f"{kind}-{number}", daemon=True)

    def _worker(self, ready: Handover[Task], done: Handover[Done | _Broken | _Left]) -> None:
        """Take tasks until there are none; the desk is closed on any way out."""
        desk = None
        try:
            desk = self._open_desk()
            while (task := ready.get()) is not None:
                self._count_down()
                try:
                    finished = self._do(task, desk)
                finally:
                    desk.station.rest()
                if not done.put(finished):
                    break
        except BaseException as error:  # noqa: BLE001 (handed to the caller, who raises it in its own thread)
            done.put(_Broken(error))
        finally:
            if desk is not None:
                desk.parser.close()
            done.put(_Left())

    def _asker(
        self,
        ahead: Callable[[Task], Task],
        todo: Handover[Task],
        ready: Handover[Task],
        done: Handover[Done | _Broken | _Left],
    ) -> None:
        """Make tasks ready until there are none; the last one to leave says so."""
        try:
            while (task := todo.get()) is not None:
                if not ready.put(ahead(task)):
                    return
        except BaseException as error:  # noqa: BLE001 (handed to the caller, who raises it in its own thread)
            done.put(_Broken(error))
        finally:
            with self._lock:
                self._asking -= 1
                last = self._asking == 0
            if last:
                ready.end()

    def _count_down(self) -> None:
        """Tell that one more task has begun."""
        with self._lock:
            self._left -= 1
            left = self._left
        self._tell_left(left)


def _given(tasks: Sequence[Task]) -> Iterator[Task]:
    """Yield every task; a deque gives its tasks away, so that each is let go of once it is done."""
    if not isinstance(tasks, deque):
        yield from tasks
        return
    while tasks:
        yield tasks.popleft()


def _collected(done: Handover[Done | _Broken | _Left], workers: int) -> Iterator[list[Done]]:
    """Yield results until every worker has said that it left; raise what a worker could not handle."""
    while workers:
        batch: list[Done] = []
        for item in done.take(BATCH):
            if isinstance(item, _Left):
                workers -= 1
            elif isinstance(item, _Broken):
                if batch:
                    yield batch
                raise item.error
            else:
                batch.append(item)
        if batch:
            yield batch
