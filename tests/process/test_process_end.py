"""Whoever closes the process provider has nothing left running, whatever was under way."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from test_process_provider import SNAPSHOT

from sqlassay.cases.errors import SqlassayError
from sqlassay.dialect_adapters.contract import Limits, Mode, Pins, Role, SessionLostError, StatementError
from sqlassay.dialect_adapters.sqlite.adapter import SqliteAdapter
from sqlassay.sandboxes.contract import SnapshotImage
from sqlassay.sandboxes.process import provider as room
from sqlassay.sandboxes.process.provider import ProcessProvider
from sqlassay.sandboxes.process.sandbox import runs_root

pytestmark = pytest.mark.jail
ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM r) SELECT max(n) FROM r"


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Keep images and run folders of a test apart from the machine's."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    yield
    assert list(runs_root().iterdir()) == []


def jailed() -> list[int]:
    """Return every live process of a sandbox of this test, after the moment the kernel needs to clear the dead."""
    time.sleep(0.01)
    return holders()


def holders() -> list[int]:
    """Return every process, wherever it hangs, whose output goes to a log of this test's sandboxes."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            log = str((entry / "fd" / "1").readlink())
            if log.startswith(f"{tempfile.gettempdir()}/sqlassay-"):
                found.append(int(entry.name))
    return found


@pytest.fixture(autouse=True, params=["any", "namespaces"])
def way(request: pytest.FixtureRequest, own_folders: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Jail as this machine does, and as one without bubblewrap does."""
    if request.param == "namespaces":
        monkeypatch.setenv("PATH", "/nonexistent")


@pytest.fixture
def image() -> SnapshotImage:
    """A prepared image."""
    provider = ProcessProvider()
    try:
        return provider.prepare(SqliteAdapter(), [SNAPSHOT], print)
    finally:
        provider.close()


def test_nothing_runs_after_close(image: SnapshotImage) -> None:
    """The moment close returns, jail, worker and the process of a running statement are gone, not only told to go."""
    provider = ProcessProvider()
    sandbox = provider.start(SqliteAdapter(), image, Mode.READ, "run-1")
    session = sandbox.open("w", Role.READER, Pins())

    def run() -> None:
        """Run until the end of the worker."""
        with suppress(SessionLostError, StatementError):
            session.fetch(ENDLESS, Limits(timeout=30))

    thread = threading.Thread(target=run)
    thread.start()
    time.sleep(0.2)
    assert len(jailed()) >= 3
    provider.close()
    assert jailed() == []
    thread.join()
    session.close()


@pytest.mark.parametrize("delay", [0.0, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1])
def test_close_meets_start(image: SnapshotImage, delay: float) -> None:
    """A close while another thread starts a sandbox leaves neither that sandbox nor a process of it."""
    provider = ProcessProvider()
    refused: list[str] = []

    def start() -> None:
        """Start until refused."""
        try:
            while True:
                provider.start(SqliteAdapter(), image, Mode.READ, "run-1")
        except SqlassayError as error:
            refused.append(error.message)

    threads = [threading.Thread(target=start) for _ in range(2)]
    for thread in threads:
        thread.start()
    time.sleep(delay)
    provider.close()
    assert jailed() == []
    for thread in threads:
        thread.join(20)
    assert len(refused) == 2
    assert jailed() == []


def test_an_interrupted_start_leaves_nothing(image: SnapshotImage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while a worker comes up ends it at once."""

    def interrupted(*_: object) -> None:
        """Stand for the signal."""
        raise KeyboardInterrupt

    provider = ProcessProvider()
    monkeypatch.setattr(room, "_wait_ready", interrupted)
    with pytest.raises(KeyboardInterrupt):
        provider.start(SqliteAdapter(), image, Mode.READ, "run-1")
    assert jailed() == []
    provider.close()
