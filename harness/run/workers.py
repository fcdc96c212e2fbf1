"""Run tasks on several threads, each with a desk of its own; results arrive in finishing order."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from harness.desk import Desk

Task = TypeVar("Task")
Done = TypeVar("Done")


@dataclass(frozen=True, slots=True)
class _Broken:
    """An exception on its way from a worker to the caller."""

    error: BaseException


class Crew(Generic[Task, Done]):
    """Threads that take tasks from one queue. Iterate over `work(...)`, close it, then read `drift`."""

    def __init__(self, open_desk: Callable[[], Desk], do: Callable[[Task, Desk], Done], jobs: int) -> None:
        """Remember how a desk is opened and what is done at it."""
        self._open_desk = open_desk
        self._do = do
        self._jobs = jobs
        self._stop = threading.Event()
        self._lock = threading.Lock()  # guards _desks and drift: appended to by workers, read by the caller
        self._desks: list[Desk] = []
        self.drift: list[str] = []

    def work(self, tasks: Sequence[Task]) -> Generator[Done, None, None]:
        """Yield each task's result as it finishes; on any way out, threads and servers are gone first."""
        todo: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        done: queue.SimpleQueue[Done | _Broken | None] = queue.SimpleQueue()
        for task in tasks:
            todo.put(task)
        threads = [
            threading.Thread(target=self._worker, args=(todo, done), name=f"worker-{i}", daemon=True)
            for i in range(max(1, min(self._jobs, len(tasks))))
        ]
        for thread in threads:
            todo.put(None)
            thread.start()
        try:
            yield from self._collect(done, len(threads))
        finally:
            self._stop.set()
            if any(thread.is_alive() for thread in threads):
                self._kill()
            for thread in threads:
                thread.join(timeout=30)

    def _collect(self, done: queue.SimpleQueue[Done | _Broken | None], workers: int) -> Iterator[Done]:
        """Yield results until every worker has said that it left; raise what a worker could not handle."""
        while workers:
            item = done.get()
            if item is None:
                workers -= 1
            elif isinstance(item, _Broken):
                raise item.error
            else:
                yield item

    def _worker(self, todo: queue.SimpleQueue[Task | None], done: queue.SimpleQueue[Done | _Broken | None]) -> None:
        """Take tasks until there are none; close the desk and hand over what its state checks found on any way out."""
        desk = None
        try:
            desk = self._open_desk()
            with self._lock:
                self._desks.append(desk)
            while not self._stop.is_set() and (task := todo.get()) is not None:
                done.put(self._do(task, desk))
            if not self._stop.is_set():
                drift = desk.station.close()
                with self._lock:
                    self.drift.extend(drift)
        except BaseException as error:  # noqa: BLE001 (handed to the caller, who raises it in its own thread)
            done.put(_Broken(error))
        finally:
            if desk is not None:
                known = desk.station.abandon()
                with self._lock:
                    self.drift.extend(known)
                desk.parser.close()
            done.put(None)

    def _kill(self) -> None:
        """Stop every running server, so that waiting workers come back."""
        with self._lock:
            for desk in self._desks:
                desk.station.kill()
