"""A bounded queue between the stages of a run: whoever is ahead waits for room, whoever is behind for the next item."""

from __future__ import annotations

import threading
from collections import deque
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Handover(Generic[Item]):
    """Items in order from any number of threads to any number of threads, never more than `room` at once."""

    def __init__(self, room: int) -> None:
        """Begin empty and open."""
        self._room = room
        self._items: deque[Item] = deque()
        # Guards the items and both flags; told whenever one of them changes.
        self._changed = threading.Condition()
        self._ended = False
        self._closed = False

    def put(self, item: Item) -> bool:
        """Hand one item over, waiting for room; False where nobody will take it any more."""
        with self._changed:
            while len(self._items) >= self._room and not self._closed:
                self._changed.wait()
            if self._closed:
                return False
            self._items.append(item)
            self._changed.notify_all()
            return True

    def get(self) -> Item | None:
        """Return the next item, waiting for it; None once no more will come."""
        found = self.take(1)
        return found[0] if found else None

    def take(self, most: int) -> list[Item]:
        """Return every item that is there, `most` at most, waiting for the first; none once no more will come."""
        with self._changed:
            while not self._items and not (self._ended or self._closed):
                self._changed.wait()
            found = [self._items.popleft() for _ in range(min(most, len(self._items)))]
            self._changed.notify_all()
            return found

    def end(self) -> None:
        """Say that no more will be put in; what is there is still handed over."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def close(self) -> None:
        """Drop what is there and let everybody go who waits."""
        with self._changed:
            self._closed = True
            self._items.clear()
            self._changed.notify_all()
