"""The pool: every server in one place, boots ahead, waits where there is no room, and leaves none behind."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from sqlassay.cases.errors import InfrastructureError, SandboxStartError
from sqlassay.dialect_adapters.contract import Mode
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.sandboxes.contract import BaseImage, Isolation, SnapshotImage
from sqlassay.sandboxes.pool import Pool
from sqlassay.sandboxes.pool_figures import figures_of, rank
from sqlassay.sandboxes.pool_size import PoolSize, free_memory_mb, pool_size

BASE = BaseImage("base", "d", "/bin", 0, "1", "local")
ONE = SnapshotImage("one", "1", "sqlite", BASE, ())
TWO = SnapshotImage("two", "2", "sqlite", BASE, ())


class Sandbox:
    """A server that only counts."""

    def __init__(self, provider: Provider, number: int) -> None:
        self.id = str(number)
        self.isolation = Isolation("fake", "none", "none")
        self.killed = threading.Event()
        self._provider = provider

    def kill(self) -> None:
        self.killed.set()

    def destroy(self) -> None:
        time.sleep(self._provider.end_seconds)
        with self._provider.lock:
            self._provider.living.discard(self)
            self._provider.destroyed += 1


class Provider:
    """Starts servers that only count, as slowly as told, or fails."""

    name = "fake"
    needs_engine = False

    def __init__(self, *, seconds: float = 0.0, end_seconds: float = 0.0) -> None:
        self.lock = threading.Lock()
        self.living: set[Sandbox] = set()
        self.most = 0
        self.started = 0
        self.destroyed = 0
        self.seconds = seconds
        self.end_seconds = end_seconds
        self.fails: Callable[[], bool] = lambda: False

    def start(self, adapter, image, mode, run_id):
        time.sleep(self.seconds)
        if self.fails():
            raise InfrastructureError("no engine", remedy="start one")
        with self.lock:
            self.started += 1
            sandbox = Sandbox(self, self.started)
            self.living.add(sandbox)
            self.most = max(self.most, len(self.living))
        return sandbox


@pytest.fixture
def provider():
    before = set(threading.enumerate())
    made = Provider()
    yield made
    assert made.living == set(), "every server is gone at the end"
    assert [t.name for t in threading.enumerate() if t not in before and t.name.startswith("sqlassay-")] == []


def opened(provider: Provider, *, most: int = 4, ahead: int = 0) -> Pool:
    return Pool(provider, adapter("sqlite"), "run", PoolSize(most, ahead))


def until(true: Callable[[], bool], seconds: float = 5.0) -> bool:
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.002)
    return true()


def test_a_sound_server_is_used_again(provider):
    """At level run one server serves one statement after the other."""
    pool = opened(provider)
    for _ in range(5):
        pool.release(pool.lease(ONE, Mode.READ, fresh=False), again=True)
    pool.close()
    assert (provider.started, pool.figures.handouts, pool.figures.replaced) == (1, 5, 0)


def test_a_fresh_lease_never_meets_a_used_server(provider):
    """A server that anything ran on is not handed out where a fresh one is asked for."""
    pool = opened(provider)
    first = pool.lease(ONE, Mode.READ, fresh=True)
    first.used = True
    pool.release(first, again=True)
    second = pool.lease(ONE, Mode.READ, fresh=True)
    assert second is not first
    pool.release(second, again=False)
    pool.close()


def test_a_tainted_server_is_destroyed_and_replaced_ahead(provider):
    """After a taint the server is gone, and the next one is booted before anybody asks."""
    pool = opened(provider, ahead=1)
    first = pool.lease(ONE, Mode.READ, fresh=False)
    first.used = True
    pool.release(first, again=True, tainted=True)
    assert until(lambda: provider.destroyed == 1 and provider.started == 2)
    assert pool.lease(ONE, Mode.READ, fresh=False) is not first
    pool.close()
    assert pool.figures.replaced == 1


def test_servers_are_booted_ahead_up_to_the_size_and_no_further(provider):
    """Two ahead means two ready; each hand-out boots one more in the background."""
    pool = opened(provider, most=8, ahead=2)
    pool.warm(ONE, Mode.READ, 99)
    assert until(lambda: provider.started == 2)
    time.sleep(0.05)
    assert provider.started == 2
    pool.release(pool.lease(ONE, Mode.READ, fresh=True), again=False)
    assert until(lambda: provider.started == 3)
    pool.close()


def test_a_ready_server_is_handed_out_at_once(provider):
    """Whoever asks after the boot waits for nothing."""
    provider.seconds = 0.2
    pool = opened(provider, ahead=1)
    pool.warm(ONE, Mode.READ, 99)
    assert until(lambda: provider.started == 1)
    pool.release(pool.lease(ONE, Mode.READ, fresh=True), again=False)
    pool.close()
    assert pool.figures.fresh_median is not None
    assert pool.figures.fresh_median < 0.01


def test_nothing_is_booted_for_tasks_that_are_not_there(provider):
    """With one task left one server is booted, however many might be kept ready."""
    pool = opened(provider, most=8, ahead=4)
    pool.left(1)
    pool.warm(ONE, Mode.READ, 99)
    assert until(lambda: provider.started == 1)
    time.sleep(0.05)
    assert provider.started == 1
    pool.close()


def test_there_are_never_more_servers_than_the_size_allows(provider):
    """Ten threads that each want a fresh server, removed slowly, never have more than three living."""
    provider.seconds, provider.end_seconds = 0.002, 0.01
    pool = opened(provider, most=3, ahead=2)
    pool.warm(ONE, Mode.READ, 99)

    def work() -> None:
        for _ in range(5):
            pool.release(pool.lease(ONE, Mode.READ, fresh=True), again=False)

    threads = [threading.Thread(target=work) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert not any(thread.is_alive() for thread in threads)
    pool.close()
    assert provider.most <= 3
    assert pool.figures.handouts == 50


def test_the_image_used_longest_ago_makes_room(provider):
    """With room for two, a third image's server takes the place of the one that idled longest."""
    pool = opened(provider, most=2)
    kept = {}
    three = SnapshotImage("three", "3", "sqlite", BASE, ())
    for image in (ONE, TWO, ONE):
        kept[image.key] = pool.lease(image, Mode.READ, fresh=False)
        pool.release(kept[image.key], again=True)
    pool.release(pool.lease(three, Mode.READ, fresh=False), again=True)
    assert pool.lease(ONE, Mode.READ, fresh=False) is kept["1"]
    assert kept["2"].sandbox not in provider.living
    pool.close()


def test_spare_servers_make_room_for_another_mode(provider):
    """A WRITE server gets room though ready READ servers fill the pool."""
    pool = opened(provider, most=2, ahead=1)
    pool.warm(ONE, Mode.READ, 2, at_once=True)
    assert until(lambda: provider.started == 2)
    pool.release(pool.lease(ONE, Mode.WRITE, fresh=True), again=False)
    pool.close()


def test_a_boot_that_fails_is_told_to_whoever_asked(provider):
    """The engine's own words arrive; the next one to ask tries again and may succeed."""
    provider.fails = lambda: True
    pool = opened(provider, ahead=1)
    pool.warm(ONE, Mode.READ, 99)
    for _ in range(2):
        with pytest.raises(SandboxStartError, match="no engine"):
            pool.lease(ONE, Mode.READ, fresh=True)
    provider.fails = lambda: False
    pool.release(pool.lease(ONE, Mode.READ, fresh=True), again=False)
    pool.close()


def test_failed_boots_ahead_are_not_repeated_without_end(provider):
    """A boot ahead that fails is tried again only once somebody needs a server."""
    tries: list[int] = []
    provider.fails = lambda: tries.append(1) is None
    pool = opened(provider, ahead=1)
    pool.warm(ONE, Mode.READ, 99)
    assert until(lambda: len(tries) >= 1)
    time.sleep(0.1)
    assert len(tries) <= 2
    pool.close()


def test_whoever_waits_gets_what_another_gives_back(provider):
    """With room for one, the second thread is handed the first one's server, without a start of its own."""
    pool = opened(provider, most=1)
    first = pool.lease(ONE, Mode.READ, fresh=False)
    got = []
    waiting = threading.Thread(target=lambda: got.append(pool.lease(ONE, Mode.READ, fresh=False)))
    waiting.start()
    waiting.join(timeout=0.05)
    assert got == []
    pool.release(first, again=True)
    waiting.join(timeout=5)
    assert (got, provider.started) == ([first], 1)
    pool.close()


def test_closing_lets_waiters_go_and_removes_leased_servers(provider):
    """A thread that waits is told that the run is over; a server whose worker never came back is removed."""
    pool = opened(provider, most=1)
    lost = pool.lease(ONE, Mode.READ, fresh=False)
    told = []

    def wait() -> None:
        with pytest.raises(SandboxStartError, match="the run is over"):
            pool.lease(ONE, Mode.READ, fresh=False)
        told.append(True)

    waiting = threading.Thread(target=wait)
    waiting.start()
    pool.close()
    waiting.join(timeout=5)
    pool.release(lost, again=True)
    pool.close()
    assert told == [True]


def test_killing_stops_what_is_leased_and_starts_no_more(provider):
    """A broken-off phase kills the servers under statements and hands out none."""
    pool = opened(provider)
    leased = pool.lease(ONE, Mode.READ, fresh=False)
    pool.kill()
    assert leased.sandbox.killed.is_set()
    with pytest.raises(SandboxStartError):
        pool.lease(ONE, Mode.READ, fresh=True)
    pool.release(leased, again=False)
    pool.close()


def test_a_boot_under_way_when_the_pool_closes_leaves_nothing(provider):
    """A server that comes up after the end is destroyed by whoever booted it."""
    provider.seconds = 0.1
    pool = opened(provider, ahead=2)
    pool.warm(ONE, Mode.READ, 99)
    time.sleep(0.02)
    pool.close()
    assert provider.started == provider.destroyed == 2


def test_looking_at_the_isolation_costs_no_server(provider):
    """The first lease gets the very server that was looked at, still unused."""
    pool = opened(provider)
    assert pool.look(ONE, Mode.READ).provider == "fake"
    server = pool.lease(ONE, Mode.READ, fresh=True)
    assert (provider.started, server.used) == (1, False)
    pool.close()
    assert pool.figures.handouts == 1


@pytest.mark.parametrize(
    ("free_mb", "jobs", "ahead", "expected"),
    [
        (64_000, 2, None, PoolSize(6, 2)),
        (64_000, 2, 0, PoolSize(4, 0)),
        (64_000, 8, 4, PoolSize(14, 4)),
        (2_048, 8, None, PoolSize(2, 1)),
        (100, 8, None, PoolSize(1, 0)),
        (None, 2, 500, PoolSize(68, 64)),
    ],
)
def test_the_size_follows_memory_and_cores(free_mb, jobs, ahead, expected, monkeypatch):
    """Workers, spares and those on their way out have room; half the free memory by each server's limit bounds it."""
    monkeypatch.setattr("sqlassay.sandboxes.pool_size.free_memory_mb", lambda: free_mb)
    assert pool_size(adapter("postgres").recipe, jobs, ahead, cores=2) == expected


def test_free_memory_is_read_from_the_kernel(tmp_path):
    """MemAvailable in MiB; None where the file says nothing."""
    path = tmp_path / "meminfo"
    path.write_text("MemTotal: 9 kB\nMemAvailable:   2097152 kB\n")
    assert free_memory_mb(path) == 2048
    path.write_text("MemTotal: 9 kB\n")
    assert (free_memory_mb(path), free_memory_mb(tmp_path / "none")) == (None, None)


def test_figures_name_the_middle_the_95th_part_and_the_worst():
    """Nearest ranks of a hundred hand-outs; none of none."""
    found = figures_of(3, 1, [n / 1000 for n in range(100, 0, -1)], [0.5])
    assert (found.handouts, found.median, found.p95, found.longest) == (100, 0.05, 0.095, 0.1)
    assert (found.fresh, found.fresh_median, found.started, found.replaced) == (1, 0.5, 3, 1)
    assert rank([], 0.5) is None


def test_who_boots_for_itself_takes_the_place_of_one_booted_ahead(provider):
    """Of one expected server one is started, whoever is quicker: a booter or the thread that needs it."""
    provider.seconds = 0.02
    for _ in range(10):
        pool = opened(provider, ahead=1)
        before = provider.started
        pool.warm(ONE, Mode.READ, 1, at_once=True)
        pool.release(pool.lease(ONE, Mode.READ, fresh=False), again=True)
        time.sleep(0.03)
        pool.close()
        assert provider.started == before + 1


def test_no_more_is_booted_ahead_than_will_be_asked_for(provider):
    """Of three expected servers two are ready at a time, and three are started in all."""
    pool = opened(provider, most=8, ahead=2)
    pool.warm(ONE, Mode.WRITE, 3)
    assert until(lambda: provider.started == 2)
    for _ in range(3):
        pool.release(pool.lease(ONE, Mode.WRITE, fresh=True), again=False)
    time.sleep(0.05)
    pool.close()
    assert provider.started == 3
