"""One clock for the deadlines of all statements: a thread that sleeps until the next one, whoever runs them.

A thread a statement would cost a tenth of a millisecond each; here a statement that ends in time costs two looks at a
lock. The thread also notices when this process was stopped or starved: it wakes later than it asked to.
"""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable
from itertools import count
from time import monotonic

Deadline = list[Callable[[], None]]
"""What is to be called; empty once it was, or once it was given up."""


_TICK = 0.5
"""The longest sleep while a statement runs, in seconds: a pause is noticed however far the next deadline is."""

_PAUSE = 1.0
"""Seconds past the end of a sleep from which on this process counts as paused: a busy machine wakes it sooner."""


class Deadlines:
    """Calls each action at its time, in the clock's own thread, which must not be held up: actions only hand over."""

    def __init__(self) -> None:
        """Start nothing before the first deadline."""
        self._changed = threading.Condition()  # guards the entries; told when an earlier one comes
        self._entries: list[tuple[float, int, Deadline]] = []
        self._numbers = count()
        self._given_up = 0
        self.paused = 0.0
        """Seconds that this process stood still so far while statements ran."""
        self._thread: threading.Thread | None = None

    def at(self, when: float, action: Callable[[], None]) -> Deadline:
        """Call `action` at that moment of the monotonic clock; return what `drop` takes."""
        holder = [action]
        with self._changed:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._watch, name="sqlassay-deadlines", daemon=True)
                self._thread.start()
            earliest = not self._entries or when < self._entries[0][0]
            heapq.heappush(self._entries, (when, next(self._numbers), holder))
            if earliest:
                self._changed.notify()
        return holder

    def drop(self, holder: Deadline) -> None:
        """Give a deadline up; nothing it would have called is kept."""
        with self._changed:
            if not holder:
                return
            holder.clear()
            self._given_up += 1
            if self._given_up > len(self._entries) // 2 + 16:
                self._entries = [entry for entry in self._entries if entry[2]]
                heapq.heapify(self._entries)
                self._given_up = 0

    def _watch(self) -> None:
        """Sleep until the next deadline and call what it asks for."""
        while True:
            with self._changed:
                while not self._entries or self._entries[0][0] > (now := monotonic()):
                    left = min(_TICK, self._entries[0][0] - now) if self._entries else None
                    self._changed.wait(left)
                    late = 0.0 if left is None else monotonic() - now - left
                    if late > _PAUSE:
                        self.paused += late
                _, _, holder = heapq.heappop(self._entries)
                due = list(holder)
                if due:
                    holder.clear()
                else:
                    self._given_up = max(0, self._given_up - 1)
            for action in due:
                action()


DEADLINES = Deadlines()
"""The clock of this process."""
