"""Measure sandboxes one at a time: start, end, memory, hand-out from a warm pool, and looking at the state."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlassay.cases.pack import Pack
from sqlassay.dialect_adapters.contract import Adapter, Limits, Mode, Pins, Role
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.sandboxes.contract import Provider, Sandbox, SnapshotImage
from sqlassay.sandboxes.fingerprint import Mark
from sqlassay.sandboxes.pool import Pool
from sqlassay.sandboxes.pool_size import PoolSize
from sqlassay.sandboxes.registry import provider

WARM_UPS = 2
RUN_ID = "bench-sandbox"


@dataclass(frozen=True, slots=True)
class Middle:
    """The median of some seconds, and the range they lie in."""

    median: float
    least: float
    most: float
    runs: int

    @property
    def shown(self) -> str:
        """Return it in milliseconds for a table."""
        return f"{self.median * 1000:.0f} ms ({self.least * 1000:.0f}–{self.most * 1000:.0f}, {self.runs} runs)"


def middle(seconds: list[float]) -> Middle:
    """Return the median of what was measured after the warm-ups."""
    return Middle(statistics.median(seconds), min(seconds), max(seconds), len(seconds))


@dataclass(frozen=True, slots=True)
class Place:
    """An engine, a provider of sandboxes for it and the image with the data."""

    dialect: str
    way: str
    adapter: Adapter
    provider: Provider
    image: SnapshotImage

    @property
    def database(self) -> str:
        """Return the database all is asked of."""
        return self.image.catalogs[0].database


@contextmanager
def placed(dialect: str, way: str, pack: Pack) -> Iterator[Place]:
    """Give a place with its image made; everything started there is gone at the end."""
    spoken = adapter(dialect)
    makes = provider(way)
    try:
        yield Place(dialect, way, spoken, makes, makes.prepare(spoken, pack.snapshots, lambda line: print(f"  {line}")))
    finally:
        makes.close()


def ask(place: Place, sandbox: Sandbox, sql: str = "SELECT count(*) AS c FROM t00") -> None:
    """Log in as a reader, run one statement and leave."""
    session = sandbox.open(place.database, Role.READER, Pins())
    try:
        session.begin_read(Limits())
        session.fetch(sql, Limits())
    finally:
        session.close()


def starts(place: Place, mode: Mode, runs: int) -> tuple[Middle, Middle, int]:
    """Return the time from asking for a sandbox to its first rows, the time to remove it, and its memory in bytes."""
    up, down, memory = [], [], []
    for turn in range(runs + WARM_UPS):
        began = time.monotonic()
        sandbox = place.provider.start(place.adapter, place.image, mode, RUN_ID)
        ask(place, sandbox)
        ready = time.monotonic()
        if turn >= WARM_UPS:
            up.append(ready - began)
            memory.append(used_memory(place, sandbox))
        began = time.monotonic()
        sandbox.destroy()
        if turn >= WARM_UPS:
            down.append(time.monotonic() - began)
    return middle(up), middle(down), round(statistics.median(memory))


def used_memory(place: Place, sandbox: Sandbox) -> int:
    """Return the memory a sandbox takes in bytes: what the engine counts, or its processes' shares; 0 where unseen."""
    if place.way == "docker":
        return _counted_memory(sandbox)
    return sum(_share(pid) for pid in _jailed_pids(sandbox))


def _counted_memory(sandbox: Sandbox) -> int:
    """Return what `docker stats` shows: all that is charged to the container but file pages nobody used lately."""
    import docker

    client = docker.from_env()
    try:
        told = client.api.stats(sandbox.id, stream=False, one_shot=True)["memory_stats"]
    finally:
        client.close()
    parts = told.get("stats", {})
    return int(told.get("usage", 0)) - int(parts.get("total_inactive_file", parts.get("inactive_file", 0)))


def _jailed_pids(sandbox: Sandbox) -> list[int]:
    """Return the processes whose output goes to the log of a jailed sandbox."""
    folder = str(getattr(sandbox, "folder", "/nonexistent"))
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if str((entry / "fd" / "1").readlink()).startswith(folder):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def _share(pid: int) -> int:
    """Return a process's proportional share of memory in bytes."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii")
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:")) * 1024


def handouts(place: Place, runs: int, pause: float) -> tuple[Middle, Middle]:
    """Return how long a warm pool takes to hand out a sandbox nobody has used, and the time until its first rows."""
    waited, answered = [], []
    pool = Pool(place.provider, place.adapter, RUN_ID, PoolSize(most=8, ahead=3))
    try:
        pool.warm(place.image, Mode.READ, runs + WARM_UPS)
        for turn in range(runs + WARM_UPS):
            time.sleep(pause)  # the refill's time: what is measured is the hand-out of what is warm
            began = time.monotonic()
            server = pool.lease(place.image, Mode.READ, fresh=True)
            handed = time.monotonic()
            ask(place, server.sandbox)
            if turn >= WARM_UPS:
                waited.append(handed - began)
                answered.append(time.monotonic() - began)
            pool.release(server, again=False)
    finally:
        pool.close()
    return middle(waited), middle(answered)


def checks(place: Place, runs: int) -> tuple[Middle | None, Middle]:
    """Return how long a look at the state takes: by the engine's mark, where it has one, and by the whole checksum."""
    sandbox = place.provider.start(place.adapter, place.image, Mode.READ, RUN_ID)
    try:
        mark = Mark(place.adapter.recipe, lambda: sandbox.open(place.database, Role.HARNESS, Pins()))
        proxied = middle(timed(mark.still, runs * 5)) if mark.known else None
        mark.close()
        whole = middle(timed(lambda: place.adapter.state_digest(sandbox.endpoint, place.database), runs))
    finally:
        sandbox.destroy()
    return proxied, whole


def timed(call: Callable[[], object], runs: int) -> list[float]:
    """Return the seconds of each call after the warm-ups."""
    seconds = []
    for turn in range(runs + WARM_UPS):
        began = time.monotonic()
        call()
        if turn >= WARM_UPS:
            seconds.append(time.monotonic() - began)
    return seconds


def raw(place: Place, statements: list[str], repeats: int = 1) -> list[float]:
    """Return the seconds each statement takes on one warm login, with nothing of ours around it."""
    sandbox = place.provider.start(place.adapter, place.image, Mode.READ, RUN_ID)
    try:
        session = sandbox.open(place.database, Role.READER, Pins())
        seconds = []
        session.begin_read(Limits(timeout=60))
        session.fetch(statements[0], Limits(timeout=60))
        for sql in statements * repeats:
            began = time.monotonic()
            session.fetch(sql, Limits(timeout=60))
            seconds.append(time.monotonic() - began)
        session.close()
    finally:
        sandbox.destroy()
    return seconds


def cores() -> int:
    """Return how many cores this machine has."""
    return os.cpu_count() or 1
