"""Hand out ready servers: boots ahead in the background, waits where there is no room, leaves none behind.

Every server is in one place at any time: leased, idle (used, sound, to be used again), ready (never used), booting or
on its way out. All of them count as live until they are really gone, so whoever asks faster than the machine can boot
and remove waits on a condition, and nothing is ever looked at in a loop.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic

from sqlassay.cases.errors import InfrastructureError, SandboxStartError
from sqlassay.dialect_adapters.contract import Adapter, Mode, Renewing
from sqlassay.sandboxes.contract import Isolation, Provider, SnapshotImage
from sqlassay.sandboxes.pool_figures import PoolFigures, figures_of
from sqlassay.sandboxes.pool_server import PooledServer
from sqlassay.sandboxes.pool_size import PoolSize

_BOOTERS = 2
"""Servers booted ahead at once: a boot costs a third of a second of one core."""
_END_SECONDS = 60.0

_log = logging.getLogger("sqlassay.pool")


@dataclass(slots=True)
class _Shelf:
    """The servers of one image and mode. `idle` and `ready` are in order of use, the latest last.

    `expected` is how many fresh servers will still be asked for, `most_ready` how many of them are booted at a time;
    `spare` is 1 once a server was tainted: from then on a replacement is kept ready.
    """

    image: SnapshotImage
    mode: Mode
    idle: deque[PooledServer] = field(default_factory=deque)
    ready: deque[PooledServer] = field(default_factory=deque)
    booting: int = 0
    waiting: int = 0
    expected: int = 0
    most_ready: int = 0
    spare: int = 0
    resting: bool = False
    """Set when a boot ahead failed: nobody tries again before somebody needs a server."""

    def take(self, *, fresh: bool) -> PooledServer | None:
        """Return a server that is there, a used one first where that will do."""
        if self.idle and not fresh:
            return self.idle.pop()
        return self.ready.popleft() if self.ready else None


class Pool:
    """The servers of one phase of a run; every method may be called from any thread."""

    def __init__(self, provider: Provider, adapter: Adapter, run_id: str, size: PoolSize) -> None:
        """Start nothing yet."""
        self._provider = provider
        self._adapter = adapter
        self._run_id = run_id
        self._size = size
        # Guards every field below; told whenever a server comes, goes or is asked for.
        self._changed = threading.Condition()
        self._shelves: dict[tuple[str, Mode], _Shelf] = {}
        self._leased: set[PooledServer] = set()
        self._live = 0
        self._dying = 0
        self._left: int | None = None
        self._closed = False
        self._booters: list[threading.Thread] = []
        self._removers: list[threading.Thread] = []
        self._leaving: queue.SimpleQueue[tuple[PooledServer, bool] | None] = queue.SimpleQueue()
        self._drift: list[str] = []
        self._waits: list[float] = []
        self._fresh_waits: list[float] = []
        self._started = 0
        self._replaced = 0

    def lease(self, image: SnapshotImage, mode: Mode, *, fresh: bool) -> PooledServer:
        """Return a server that nobody else has until `release`; a `fresh` one has never been used.

        Raises:
            SandboxStartError: none comes up, or the pool is closed.
        """
        began = monotonic()
        server = self._taken(image, mode, fresh=fresh)
        waited = monotonic() - began
        with self._changed:
            self._waits.append(waited)
            if not server.used:
                self._fresh_waits.append(waited)
        return server

    def release(self, server: PooledServer, *, again: bool, tainted: bool = False) -> None:
        """Give a leased server back: to be used `again`, else to be removed; a `tainted` one is replaced ahead."""
        with self._changed:
            if server not in self._leased:  # the pool was closed meanwhile and has taken it back
                return
            self._leased.discard(server)
            if again and not tainted and not self._closed:
                self._shelf(server.image, server.mode).idle.append(server)
            else:
                self._retire(server, check=False)
                if tainted:
                    self._replaced += 1
                    shelf = self._shelf(server.image, server.mode)
                    shelf.spare = min(1, self._size.ahead)
            self._boot_ahead()

    def warm(self, image: SnapshotImage, mode: Mode, expected: int, *, at_once: bool = False) -> None:
        """Boot ahead what will be asked for: all `at_once`, or as many at a time as the pool's size says."""
        with self._changed:
            shelf = self._shelf(image, mode)
            shelf.expected += expected
            shelf.most_ready = max(shelf.most_ready, expected if at_once else self._size.ahead)
            self._boot_ahead()

    def left(self, tasks: int) -> None:
        """Say how many tasks have not begun: no more servers are booted ahead than they could use."""
        with self._changed:
            self._left = tasks

    def look(self, image: SnapshotImage, mode: Mode) -> Isolation:
        """Return how such a server is isolated, waiting until the first one is up.

        Raises:
            SandboxStartError: none comes up.
        """
        server = self._taken(image, mode, fresh=False)
        with self._changed:
            self._leased.discard(server)
            shelf = self._shelf(image, mode)
            (shelf.idle if server.used else shelf.ready).appendleft(server)
            self._changed.notify_all()
        return server.sandbox.isolation

    def kill(self) -> None:
        """Stop every leased server at once and lease no more: whoever runs a statement comes back."""
        with self._changed:
            self._closed = True
            leased = tuple(self._leased)
            self._changed.notify_all()
        for server in leased:
            server.kill()

    def note(self, drift: tuple[str, ...]) -> None:
        """Keep what a statement was found to have changed."""
        with self._changed:
            self._drift.extend(drift)

    @property
    def renews(self) -> bool:
        """Return whether this engine can put a database back faster than a server starts."""
        return isinstance(self._adapter, Renewing)

    @property
    def drift(self) -> tuple[str, ...]:
        """Return one line for each change found so far."""
        with self._changed:
            return tuple(self._drift)

    @property
    def figures(self) -> PoolFigures:
        """Return what was started and how long hand-outs took."""
        with self._changed:
            return figures_of(self._started, self._replaced, self._waits, self._fresh_waits)

    def settle(self) -> None:
        """Compare the whole state of every used server with what was baked, note what changed, and close.

        To be called once nothing is leased any more.
        """
        with self._changed:
            used = [server for shelf in self._shelves.values() for server in shelf.idle]
        for server in used:
            self.note(server.settled())
        self.close()

    def close(self) -> None:
        """Remove every server without looking at it again and wait until all are gone; idempotent."""
        with self._changed:
            self._closed = True
            self._empty()
            self._changed.notify_all()
            booters, self._booters = self._booters, []
        for thread in booters:
            thread.join(timeout=_END_SECONDS)
        with self._changed:
            self._empty()  # what a booter put down in the meantime
            removers, self._removers = self._removers, []
        for _ in removers:
            self._leaving.put(None)
        for thread in removers:
            thread.join(timeout=_END_SECONDS)

    def _empty(self) -> None:
        """Send every server away; one that is still leased has lost its worker, and nobody else will remove it."""
        for shelf in self._shelves.values():
            while shelf.idle or shelf.ready:
                self._retire((shelf.idle or shelf.ready).pop(), check=False)
        while self._leased:
            self._retire(self._leased.pop(), check=False)

    def _taken(self, image: SnapshotImage, mode: Mode, *, fresh: bool) -> PooledServer:
        """Return a server that is there or booted for us, waiting for room where there is none."""
        with self._changed:
            shelf = self._shelf(image, mode)
            with _counted(shelf):
                self._refuse_closed()
                while (server := shelf.take(fresh=fresh)) is None:
                    if shelf.booting < shelf.waiting and self._room():
                        break
                    self._changed.wait()
                    self._refuse_closed()
            if server is not None:
                self._leased.add(server)
                shelf.expected = max(0, shelf.expected - (not server.used))
                self._boot_ahead()
                return server
            self._live += 1
            shelf.expected = max(0, shelf.expected - 1)
        return self._booted_for(shelf)

    def _booted_for(self, shelf: _Shelf) -> PooledServer:
        """Boot a server in the thread of whoever needs it, so that a failure is raised where it is told."""
        server = None
        try:
            server = self._start(shelf)
            with self._changed:
                shelf.resting = False
                self._refuse_closed()
                self._leased.add(server)
                self._boot_ahead()
        except BaseException:  # Ctrl-C too: whatever ended the boot, its server and its room are given back
            if server is not None:
                server.end()
            with self._changed:
                self._live -= 1
                self._changed.notify_all()
            raise
        return server

    def _start(self, shelf: _Shelf) -> PooledServer:
        """Start one server.

        Raises:
            SandboxStartError: it does not come up.
        """
        try:
            sandbox = self._provider.start(self._adapter, shelf.image, shelf.mode, self._run_id)
        except InfrastructureError as error:
            raise SandboxStartError(error.message, remedy=error.remedy) from error
        with self._changed:
            self._started += 1
        return PooledServer(self._adapter, shelf.image, shelf.mode, sandbox)

    def _room(self) -> bool:
        """Return whether one more server may be started; where not, the one idle longest leaves to make room."""
        if self._live < self._size.most:
            return True
        if self._dying < sum(shelf.waiting for shelf in self._shelves.values()):
            self._evict()
        return False

    def _evict(self) -> None:
        """Send away one server that nobody waits for: of the shelf used longest ago, a used one before a ready one."""
        used = next((shelf.idle for shelf in self._shelves.values() if shelf.idle), None)
        unused = (shelf.ready for shelf in self._shelves.values() if shelf.ready and not shelf.waiting)
        servers = used or next(unused, None)
        if servers:
            self._retire(servers.popleft(), check=servers is used)

    def _shelf(self, image: SnapshotImage, mode: Mode) -> _Shelf:
        """Return the shelf of an image and mode, which is now the one used last."""
        key = (image.key, mode)
        shelf = self._shelves.pop(key, None) or _Shelf(image, mode)
        self._shelves[key] = shelf
        return shelf

    def _refuse_closed(self) -> None:
        """Refuse a lease once the pool is closed."""
        if self._closed:
            raise SandboxStartError("the run is over: no sandbox is started any more")

    def _short(self) -> _Shelf | None:
        """Return a shelf with fewer servers ready than it is to have, where there is room for one more."""
        if self._live >= self._size.most or any(shelf.waiting > shelf.booting for shelf in self._shelves.values()):
            return None  # what room there is belongs to those who wait
        for shelf in self._shelves.values():
            wanted = max(min(shelf.expected, shelf.most_ready), shelf.spare)
            wanted = wanted if self._left is None else min(wanted, self._left + shelf.waiting)
            if not shelf.resting and len(shelf.ready) + shelf.booting < wanted:
                return shelf
        return None

    def _boot_ahead(self) -> None:
        """Have the booters look whether a server is to be booted ahead; they are hired when first needed."""
        if not self._booters and self._short() is not None:
            self._booters = [self._hire(self._boot, f"booter-{number}") for number in range(_BOOTERS)]
        self._changed.notify_all()

    def _retire(self, server: PooledServer, *, check: bool) -> None:
        """Have a server removed in the background; it counts as live until it is gone."""
        if not self._removers:
            self._removers = [self._hire(self._remove, "remover")]
        self._dying += 1
        self._leaving.put((server, check))

    def _hire(self, work: Callable[[], None], name: str) -> threading.Thread:
        """Start a thread of the pool's own."""
        thread = threading.Thread(target=work, name=f"sqlassay-{name}", daemon=True)
        thread.start()
        return thread

    def _boot(self) -> None:
        """Boot ahead whenever a shelf is short, until the pool is closed."""
        while True:
            with self._changed:
                while not self._closed and (shelf := self._short()) is None:
                    self._changed.wait()
                if self._closed or shelf is None:
                    return
                shelf.booting += 1
                self._live += 1
            server = self._booted_ahead(shelf)
            with self._changed:
                shelf.booting -= 1
                shelf.resting = server is None
                if server is not None:
                    shelf.ready.append(server)
                else:
                    self._live -= 1
                self._changed.notify_all()

    def _booted_ahead(self, shelf: _Shelf) -> PooledServer | None:
        """Return a server booted ahead, None where it did not come up or is not wanted any more."""
        try:
            server = self._start(shelf)
        except Exception as error:  # noqa: BLE001 - whoever needs a server boots one and is told; nobody waits for us
            _log.info("no server could be booted ahead: %s", error)
            return None
        if self._closed:
            server.end()
            return None
        return server

    def _remove(self) -> None:
        """Remove servers that leave, until told that there will be no more."""
        while (item := self._leaving.get()) is not None:
            server, check = item
            try:
                if check:
                    self.note(server.settled())
            finally:
                server.end()
                with self._changed:
                    self._dying -= 1
                    self._live -= 1
                    self._changed.notify_all()


@contextmanager
def _counted(shelf: _Shelf) -> Iterator[None]:
    """Count whoever waits at a shelf while waiting."""
    shelf.waiting += 1
    try:
        yield
    finally:
        shelf.waiting -= 1
