"""The process provider starts jailed workers, keeps one statement from hurting the next, and leaves nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sqlassay.cases.errors import InfrastructureError, InputError
from sqlassay.cases.outcome import Failure, Outcome, Rows
from sqlassay.cases.relation import Kind
from sqlassay.cases.snapshot import ColumnDef, Snapshot, TableDef
from sqlassay.cases.verdicts import FailureKind
from sqlassay.dialect_adapters.contract import Adapter, Endpoint, Limits, Mode, Pins, Role
from sqlassay.dialect_adapters.execute import execute
from sqlassay.dialect_adapters.sqlite.adapter import SqliteAdapter
from sqlassay.sandboxes.contract import Sandbox
from sqlassay.sandboxes.inventory import images
from sqlassay.sandboxes.labels import process_start
from sqlassay.sandboxes.process.images import image_data
from sqlassay.sandboxes.process.interpreter import host_interpreter
from sqlassay.sandboxes.process.provider import ProcessProvider
from sqlassay.sandboxes.process.sandbox import SOCKET, WORKER, runs_root

pytestmark = pytest.mark.jail

ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM r) SELECT max(n) FROM r"
ONE_LONG_STEP = "SELECT instr(hex(zeroblob(4000000)), hex(zeroblob(1999999)) || '1')"
SORT_BOMB = (
    "WITH RECURSIVE r(n,s) AS (SELECT 1,zeroblob(7000000) UNION ALL SELECT n+1,zeroblob(7000000) FROM r LIMIT 900)"
    " SELECT n, length(s) FROM r ORDER BY s, n"
)


class Numbers:
    """Ten rows."""

    def rows(self, table: str) -> Iterator[tuple[object, ...]]:
        """Yield them."""
        yield from ((number,) for number in range(10))


SNAPSHOT = Snapshot("numbers", "w", "digest-1", (TableDef("t", (ColumnDef("n", Kind.INT),)),), Numbers())


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep images and run folders of a test apart from the machine's."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


@pytest.fixture
def provider(own_folders: None) -> Iterator[ProcessProvider]:
    """A provider that is closed at the end."""
    provider = ProcessProvider()
    yield provider
    provider.close()
    assert list(runs_root().iterdir()) == []


@pytest.fixture
def sandbox(provider: ProcessProvider) -> Sandbox:
    """A running worker."""
    adapter = SqliteAdapter()
    return provider.start(adapter, provider.prepare(adapter, [SNAPSHOT], print), Mode.READ, "run-1")


def ask(sandbox: Sandbox, sql: str, timeout: float = 5.0) -> Outcome:
    """Run one statement the way the harness does; the worker must stay fit for the next."""
    executed = execute(
        lambda: sandbox.open("w", Role.READER, Pins()),
        sql,
        Limits(timeout=timeout),
        kill=sandbox.kill,
        died_of_memory=sandbox.died_of_memory,
    )
    assert executed.tainted is False
    return executed.outcome


def value(outcome: Outcome) -> object:
    """Return the single cell of a result."""
    assert isinstance(outcome, Rows)
    ((cell,),) = outcome.relation.rows
    return cell


def test_a_statement_is_answered(sandbox: Sandbox) -> None:
    """A jailed worker answers, and says how it is isolated."""
    assert value(ask(sandbox, "SELECT sum(n) FROM t")) == 45
    assert sandbox.isolation.provider == "process"
    assert sandbox.isolation.method.split()[0] in ("bubblewrap", "namespaces")
    assert sandbox.isolation.network == "none"


@pytest.mark.parametrize("sql", [ENDLESS, ONE_LONG_STEP, SORT_BOMB], ids=["endless", "one-step", "sort-bomb"])
def test_a_greedy_statement_ends_alone(sandbox: Sandbox, sql: str) -> None:
    """A statement without end, or one that eats memory, ends within its deadline and the next one is answered."""
    started = time.monotonic()
    outcome = ask(sandbox, sql, timeout=1.0)
    assert time.monotonic() - started < 3.0
    assert isinstance(outcome, Failure)
    assert outcome.kind in (FailureKind.TIMEOUT, FailureKind.RESOURCE_LIMIT)
    assert value(ask(sandbox, "SELECT count(*) FROM t")) == 10


def test_four_at_once(sandbox: Sandbox) -> None:
    """Four sessions are served at once, each with its own rows."""
    with ThreadPoolExecutor(4) as pool:
        outcomes = list(pool.map(lambda number: ask(sandbox, f"SELECT {number} FROM t LIMIT 1"), range(40)))
    assert [value(outcome) for outcome in outcomes] == list(range(40))


def test_state_digest_is_the_catalogues(provider: ProcessProvider) -> None:
    """What the worker serves is byte for byte what the catalogue describes."""
    adapter = SqliteAdapter()
    image = provider.prepare(adapter, [SNAPSHOT], print)
    sandbox = provider.start(adapter, image, Mode.READ, "run-1")
    assert adapter.state_digest(sandbox.endpoint, "w") == image.catalog("numbers").state_digest


def test_an_image_is_written_once(provider: ProcessProvider, tmp_path: Path) -> None:
    """The same snapshots give the same folder, untouched; other content gives another."""
    adapter = SqliteAdapter()
    first = provider.prepare(adapter, [SNAPSHOT], print)
    written = (image_data(first) / "w.sqlite").stat().st_mtime_ns
    second = provider.prepare(adapter, [SNAPSHOT], print)
    assert second == first
    assert (image_data(second) / "w.sqlite").stat().st_mtime_ns == written
    other = Snapshot("numbers", "w", "digest-2", SNAPSHOT.tables, SNAPSHOT.source)
    assert provider.prepare(adapter, [other], print).key != first.key


def test_an_image_names_no_path(provider: ProcessProvider) -> None:
    """What a report prints of an image and its base is the same on any machine with the same versions."""
    image = provider.prepare(SqliteAdapter(), [SNAPSHOT], print)
    assert image.ref == f"process/sqlite:{image.key}"
    assert image.base.ref == f"host/cpython:{host_interpreter().python_version}"
    assert image.base.digest == f"sqlite:{host_interpreter().sqlite_version}"
    assert image.catalog("numbers").engine_version == host_interpreter().sqlite_version
    assert [line.ref for line in images()] == [image.ref]


def test_threads_prepare_one_image(provider: ProcessProvider) -> None:
    """Two that ask for one image at once build it once."""
    adapter = SqliteAdapter()
    with ThreadPoolExecutor(4) as pool:
        images = list(pool.map(lambda _: provider.prepare(adapter, [SNAPSHOT], print), range(4)))
    assert len({image.ref for image in images}) == 1


def test_other_modes_are_refused(provider: ProcessProvider) -> None:
    """A mode that this sandbox does not serve is refused with the remedy."""
    adapter = SqliteAdapter()
    image = provider.prepare(adapter, [SNAPSHOT], print)
    with pytest.raises(InfrastructureError, match="--sandbox docker"):
        provider.start(adapter, image, Mode.BUILD, "run-1")


def test_servers_are_refused(provider: ProcessProvider) -> None:
    """An engine that is a server needs a container, and the error says so."""
    from sqlassay.dialect_adapters.mysql.recipe import RECIPE

    class Server(SqliteAdapter):
        """An adapter whose recipe is a server's."""

        name = "mysql"
        recipe = RECIPE

    server: Adapter = Server()
    with pytest.raises(InputError, match="mysql is a server.*--sandbox docker"):
        provider.prepare(server, [SNAPSHOT], print)


def test_a_killed_worker_is_a_lost_sandbox(sandbox: Sandbox) -> None:
    """After a kill nothing is answered, and opening says so as ours, not the statement's."""
    from sqlassay.cases.errors import SandboxLostError

    sandbox.kill()
    time.sleep(0.1)
    with pytest.raises(SandboxLostError):
        sandbox.open("w", Role.READER, Pins())
    sandbox.destroy()
    sandbox.destroy()


HARNESS = """
import sys, time
from pathlib import Path
import tempfile
tempfile.tempdir = sys.argv[1]
from tests_process import SNAPSHOT, SqliteAdapter, ProcessProvider, Mode
adapter, provider = SqliteAdapter(), ProcessProvider()
sandbox = provider.start(adapter, provider.prepare(adapter, [SNAPSHOT], lambda _: None), Mode.READ, "run-9")
print(sandbox.id, flush=True)
time.sleep(60)
"""


@pytest.fixture(params=["any", "namespaces"])
def dead_harness(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The sandbox id of a harness that was killed without a chance to clean up, with and without bubblewrap."""
    code = HARNESS.replace("tests_process", Path(__file__).stem)
    environment = os.environ | {"PYTHONPATH": f"{Path(__file__).parent}"}
    if request.param == "namespaces":
        environment["PATH"] = "/nonexistent"
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as harness:
        assert harness.stdout is not None
        sandbox_id = harness.stdout.readline().strip()
        harness.send_signal(signal.SIGKILL)
    return sandbox_id


def test_a_killed_harness_leaves_no_worker(dead_harness: str) -> None:
    """The kernel ends the jail with the harness; only a small folder stays for the sweep."""
    worker = json.loads((runs_root() / dead_harness / WORKER).read_text())
    until = time.monotonic() + 3
    while process_start(worker["pid"]) == worker["started"] and not is_zombie(worker["pid"]):
        assert time.monotonic() < until, "the worker outlived its harness"
        time.sleep(0.02)
    endpoint = Endpoint(socket=runs_root() / dead_harness / SOCKET)
    while SqliteAdapter().ping(endpoint):
        assert time.monotonic() < until, "somebody still answers at the socket"
    provider = ProcessProvider()
    assert provider.sweep() == (dead_harness,)  # its control group, too, is nobody else's to remove
    provider.close()


def is_zombie(pid: int) -> bool:
    """Return True where a process has ended but nobody has collected it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_sweep_removes_dead_runs_only(dead_harness: str, provider: ProcessProvider, sandbox: Sandbox) -> None:
    """A sweep removes what a dead run left, and nothing of a live one."""
    assert provider.sweep() == (dead_harness,)
    assert [folder.name for folder in runs_root().iterdir()] == [sandbox.id]
    assert value(ask(sandbox, "SELECT count(*) FROM t")) == 10
    assert provider.sweep() == ()


def test_it_is_fast(provider: ProcessProvider) -> None:
    """A start takes well under a second and a statement a few milliseconds, each in a process of its own."""
    adapter = SqliteAdapter()
    image = provider.prepare(adapter, [SNAPSHOT], print)
    provider.start(adapter, image, Mode.READ, "run-1")
    started = time.monotonic()
    sandbox = provider.start(adapter, image, Mode.READ, "run-1")
    start = time.monotonic() - started
    started = time.monotonic()
    for _ in range(100):
        ask(sandbox, "SELECT count(*) FROM t")
    each = (time.monotonic() - started) / 100
    print(f"start {start * 1000:.0f} ms, statement {each * 1000:.2f} ms")
    assert start < 1.0
    assert each < 0.03


def test_a_deep_temporary_folder_gives_way_to_a_short_one(
    provider: ProcessProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A socket's path holds 107 bytes: past that it lies in a private folder of /tmp, which a sweep looks through."""
    deep = tmp_path / ("d" * 90)
    deep.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(deep))
    adapter = SqliteAdapter()
    sandbox = provider.start(adapter, provider.prepare(adapter, [SNAPSHOT], print), Mode.READ, "run-1")
    home = sandbox.endpoint.socket.parents[1]
    assert (str(home), home.lstat().st_mode & 0o777) == (f"/tmp/sqlassay-{os.geteuid()}-short", 0o700)
    assert value(ask(sandbox, "SELECT count(*) FROM t")) == 10
    abandoned = home / ".new-abandon"
    abandoned.mkdir()
    os.utime(abandoned, (0, 0))
    assert provider.sweep() == (abandoned.name,)
    sandbox.destroy()
    assert not (home / sandbox.id).exists()


def test_a_link_in_place_of_the_folder_of_runs_is_refused(
    provider: ProcessProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where all may write, somebody may have put a link to another folder: nothing is made or swept behind it."""
    other, shared = tmp_path / "other", tmp_path / "shared"
    (other / ".new-abandon").mkdir(parents=True)
    os.utime(other / ".new-abandon", (0, 0))
    shared.mkdir()
    (shared / f"sqlassay-{os.geteuid()}").symlink_to(other)
    monkeypatch.setattr("tempfile.tempdir", str(shared))
    with pytest.raises(InfrastructureError, match="is a link"):
        runs_root()
    assert provider.sweep() == ()
    assert [path.name for path in other.iterdir()] == [".new-abandon"]
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
