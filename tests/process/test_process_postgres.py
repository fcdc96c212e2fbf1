"""A Postgres of this machine in a jail: a private view of the data, limits, and nothing left, however it is jailed."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
from test_process_provider import SNAPSHOT

from sqlassay.cases.errors import SqlassayError
from sqlassay.cases.outcome import Failure
from sqlassay.cases.relation import Row
from sqlassay.cases.verdicts import FailureKind
from sqlassay.dialect_adapters.contract import Limits, Mode, Pins, Role, StatementError
from sqlassay.dialect_adapters.execute import Change, Workshop, execute, execute_change
from sqlassay.dialect_adapters.postgres.adapter import PostgresAdapter
from sqlassay.dialect_adapters.postgres.recipe import RECIPE
from sqlassay.sandboxes.contract import Sandbox
from sqlassay.sandboxes.inventory import images
from sqlassay.sandboxes.process import clusters, servers
from sqlassay.sandboxes.process.cgroups import groups_work
from sqlassay.sandboxes.process.images import image_data
from sqlassay.sandboxes.process.jail import NOBODY, Jailer
from sqlassay.sandboxes.process.programs import host_programs
from sqlassay.sandboxes.process.provider import ProcessProvider
from sqlassay.sandboxes.process.sandbox import WORKER, runs_root
from sqlassay.sandboxes.process.servers import Ground
from sqlassay.sandboxes.process.syscalls import filter_program


def unavailable() -> str:
    """Return why no Postgres of this machine can be jailed, or nothing."""
    try:
        host_programs(RECIPE)
    except SqlassayError as error:
        return error.message
    return ""


pytestmark = [pytest.mark.jail, pytest.mark.skipif(bool(unavailable()), reason=unavailable())]
LIMITS = Limits(timeout=20.0)
FILL = "INSERT INTO t SELECT n FROM generate_series(1, 20000000) n"


def grounds() -> list[Ground]:
    """Return every way to jail a server that this machine could have."""
    filtered = filter_program(platform.machine()) is not None
    user = Jailer("namespaces", as_root=False, filtered=filtered)
    found = [Ground(user, layered=True), Ground(user, layered=False)]
    if shutil.which("bwrap"):
        found.append(Ground(Jailer("bubblewrap", as_root=False, filtered=filtered), layered=False))
    if os.geteuid() == 0:
        found.append(Ground(Jailer("namespaces", as_root=True, filtered=filtered), layered=True))
        found.append(Ground(Jailer("namespaces", as_root=True, filtered=filtered), layered=False))
    if os.geteuid() == 0 and shutil.which("bwrap"):
        dropping = ("--user", str(NOBODY))
        found.append(Ground(Jailer("bubblewrap", True, dropping, filtered), layered=False))
    return found


def named(ground: Ground) -> str:
    """Return a way's name for the report of tests."""
    return f"{ground.jailer.description}, {'layered' if ground.layered else 'copied'}"


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for all tests here: making an image takes seconds."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """Give a folder on a path short enough for a server's socket, which the suite's own may not be."""
    folder = Path(tempfile.mkdtemp(prefix="jail-", dir="/tmp"))  # noqa: S108 (made private, and short)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(autouse=True)
def own_folders(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Keep images and run folders apart from the machine's; nothing is left at the end."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    yield
    assert list(runs_root().iterdir()) == []
    assert holders(tmp_path) == []


@pytest.fixture(params=grounds(), ids=named)
def ground(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Ground:
    """One way to jail, taken whatever this machine prefers."""
    taken: Ground = request.param
    for module in (servers, clusters):
        monkeypatch.setattr(module, "find_ground", lambda: taken)
    return taken


@pytest.fixture
def provider() -> Iterator[ProcessProvider]:
    """A provider with little room to write, closed at the end."""
    provider = ProcessProvider(write_room_mb=16)
    yield provider
    provider.close()


def holders(root: Path) -> list[int]:
    """Return every process whose output goes to a log below a folder."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            if str((entry / "fd" / "1").readlink()).startswith(f"{root}/sqlassay-"):
                found.append(int(entry.name))
    return found


def started(provider: ProcessProvider, mode: Mode = Mode.READ) -> Sandbox:
    """Return a running server."""
    adapter = PostgresAdapter()
    return provider.start(adapter, provider.prepare(adapter, [SNAPSHOT], print), mode, "run-1")


def run(sandbox: Sandbox, sql: str, role: Role = Role.READER, pins: Pins = Pins()) -> tuple[Row, ...]:  # noqa: B008
    """Run one statement; what a writer or owner does is kept."""
    with closing(sandbox.open("w", role, pins)) as session:
        writes = role in (Role.WRITER, Role.OWNER)
        session.begin_write(LIMITS) if writes else session.begin_read(LIMITS)
        rows = session.fetch(sql, LIMITS).rows
        if writes:
            session.commit()
        return rows


def refused(sandbox: Sandbox, sql: str, role: Role) -> StatementError:
    """Return the error of a statement that must fail."""
    with pytest.raises(StatementError) as caught:
        run(sandbox, sql, role)
    return caught.value


def bytes_of(folder: Path) -> dict[str, str]:
    """Return the digest of every file below a folder."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_it_answers_and_says_how(ground: Ground, provider: ProcessProvider) -> None:
    """A reader gets its rows, and the report names the way, the version and what is off here."""
    sandbox = started(provider)
    assert run(sandbox, "SELECT sum(n) FROM t") == ((45,),)
    said = sandbox.isolation
    assert (said.provider, said.network) == ("process", "none")
    assert said.method == f"{ground.jailer.description}, data {'layered' if ground.layered else 'copied'}"
    assert {"user nobody", "no shell", "1024 open files"} <= set(said.limits)
    assert any(limit.startswith("postgres 1") for limit in said.limits)
    capped = any(limit.startswith("memory ") for limit in said.limits)
    assert capped is groups_work()
    assert ("one memory cap over all sessions (cgroup)" in said.missing) is not capped


def test_a_change_is_seen_in_its_own_sandbox_alone(ground: Ground, provider: ProcessProvider) -> None:
    """Every sandbox has data of its own, and the image stays byte for byte what it was."""
    adapter = PostgresAdapter()
    image = provider.prepare(adapter, [SNAPSHOT], print)
    before = bytes_of(image_data(image))
    first, second = (provider.start(adapter, image, Mode.WRITE, "run-1") for _ in range(2))
    run(first, "DELETE FROM t", Role.WRITER)
    run(first, "CREATE TABLE made AS SELECT 1 AS one", Role.OWNER)
    assert run(first, "SELECT count(*) FROM t", Role.HARNESS) == ((0,),)
    assert run(second, "SELECT count(*) FROM t", Role.HARNESS) == ((10,),)
    first.destroy()
    third = provider.start(adapter, image, Mode.READ, "run-1")
    assert run(third, "SELECT count(*) FROM t", Role.HARNESS) == ((10,),)
    assert bytes_of(image_data(image)) == before


def test_a_full_disk_is_the_statements_failure(ground: Ground, provider: ProcessProvider) -> None:
    """What is written is bounded: a statement past that fails by a limit, even where its log takes the server down."""
    sandbox = started(provider, Mode.WRITE)
    shop = Workshop(
        PostgresAdapter(),
        sandbox.endpoint,
        "w",
        lambda role: sandbox.open("w", role, Pins()),
        sandbox.kill,
        sandbox.died_of_memory,
    )
    outcome = execute_change(shop, Change(FILL, "dml"), LIMITS)
    assert isinstance(outcome, Failure)
    assert outcome.kind is FailureKind.RESOURCE_LIMIT


def test_memory_is_bounded(ground: Ground, provider: ProcessProvider) -> None:
    """A statement that wants more memory than a process may have fails alone, and the next one is answered."""
    sandbox = started(provider)
    greedy = "SELECT length(string_agg(repeat('x', 100000000), '')) FROM generate_series(1, 20)"
    assert refused(sandbox, greedy, Role.HARNESS).kind is FailureKind.RESOURCE_LIMIT
    assert run(sandbox, "SELECT count(*) FROM t") == ((10,),)


def test_even_the_administrator_reaches_nothing(ground: Ground, provider: ProcessProvider) -> None:
    """With every right inside, there is no shell to run, no file of the host to read or write and no way out."""
    sandbox = started(provider, Mode.WRITE)
    for sql in (
        "COPY t FROM PROGRAM 'id'",
        "SELECT pg_read_file('/etc/shadow')",
        "SELECT pg_read_file('/etc/hostname')",
        "COPY t TO '/opt/written'",
        "COPY t TO '/usr/written'",
        "SELECT pg_ls_dir('/home')",
    ):
        refused(sandbox, sql, Role.HARNESS)
    shown = {str(name) for (name,) in run(sandbox, "SELECT pg_ls_dir('/')", Role.HARNESS)}
    assert shown.isdisjoint({"proc", "home", "boot", "sys", "mnt", "srv"})
    assert run(sandbox, "SELECT current_setting('data_directory')", Role.HARNESS) == (("/var/lib/sqlassay/data",),)


def test_a_clock_is_pinned_where_it_can_be(ground: Ground, provider: ProcessProvider) -> None:
    """With libfaketime the server says the wanted moment; without it the report lists that as missing."""
    sandbox = started(provider)
    if not host_programs(RECIPE).preload:
        assert "a clock that can be pinned (libfaketime)" in sandbox.isolation.missing
        return
    pins = Pins(clock=datetime(2020, 2, 29, 12, 30, tzinfo=UTC))
    ((moment,),) = run(sandbox, "SELECT now()", Role.READER, pins)
    assert str(moment).startswith("2020-02-29 12:30:00")


def test_processes_are_counted(ground: Ground, provider: ProcessProvider) -> None:
    """A group counts a server's processes, else a user namespace does; where there is neither the report says so."""
    said = started(provider).isolation
    counted = f"{RECIPE.pids} processes" in said.limits
    assert counted is (groups_work() or not ground.jailer.as_root)
    assert any("a count of processes" in line for line in said.missing) is not counted


@pytest.mark.skipif(not groups_work(), reason="no control groups can be made here")
def test_a_servers_memory_is_capped(ground: Ground, provider: ProcessProvider) -> None:
    """Many sessions together meet one cap: the kernel ends the greedy one, which is called a limit and no fault."""
    sandbox = started(provider, Mode.WRITE)
    group = getattr(sandbox, "group", None)
    assert group is not None
    assert sandbox.died_of_memory() is False
    names = ("memory.current", "memory.max"), ("memory.usage_in_bytes", "memory.limit_in_bytes")
    used, limit = next(
        (group.folders[0] / a, group.folders[0] / b) for a, b in names if (group.folders[0] / b).exists()
    )
    limit.write_text(str(int(used.read_text()) + 32 * 1024 * 1024))
    executed = execute(
        lambda: sandbox.open("w", Role.HARNESS, Pins()),
        "SELECT length(string_agg(repeat('x', 10000000), '')) FROM generate_series(1, 20)",
        LIMITS,
        kill=sandbox.kill,
        died_of_memory=sandbox.died_of_memory,
    )
    assert isinstance(executed.outcome, Failure)
    assert executed.outcome.kind is FailureKind.RESOURCE_LIMIT
    sandbox.destroy()
    assert not any(folder.exists() for folder in group.folders)


def test_nothing_runs_after_close(ground: Ground, provider: ProcessProvider, tmp_path: Path) -> None:
    """The moment close returns, jail, server and the process of a running statement are gone."""
    sandbox = started(provider)
    session = sandbox.open("w", Role.HARNESS, Pins())
    session.begin_read(LIMITS)

    def wait() -> None:
        """Run until the end of the server."""
        with suppress(Exception):  # whatever the break gives
            session.fetch("SELECT pg_sleep(30)", LIMITS)

    thread = threading.Thread(target=wait)
    thread.start()
    time.sleep(0.2)
    assert len(holders(tmp_path)) >= 3
    provider.close()
    time.sleep(0.02)
    assert holders(tmp_path) == []
    thread.join()
    session.close()


@pytest.mark.parametrize("delay", [0.0, 0.02, 0.05, 0.1, 0.2])
def test_close_meets_start(ground: Ground, provider: ProcessProvider, tmp_path: Path, delay: float) -> None:
    """A close while a server comes up leaves no process of it, whichever step it was at."""
    adapter = PostgresAdapter()
    image = provider.prepare(adapter, [SNAPSHOT], print)

    def start() -> None:
        """Start until refused."""
        with suppress(SqlassayError):
            while True:
                provider.start(adapter, image, Mode.READ, "run-1")

    thread = threading.Thread(target=start)
    thread.start()
    time.sleep(delay)
    began = time.monotonic()
    provider.close()
    thread.join(20)
    time.sleep(0.02)
    assert holders(tmp_path) == []
    assert time.monotonic() - began < 3.0


def test_an_interrupted_bake_leaves_nothing(
    provider: ProcessProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C while snapshots are loaded ends the server and removes the draft; the next one makes the image."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "fresh"))
    adapter = PostgresAdapter()

    def interrupted(*_: object) -> None:
        """Stand for the signal."""
        raise KeyboardInterrupt

    monkeypatch.setattr(PostgresAdapter, "load", interrupted)
    with pytest.raises(KeyboardInterrupt):
        provider.prepare(adapter, [SNAPSHOT], print)
    time.sleep(0.02)
    assert holders(tmp_path) == []
    assert [path.name for path in (tmp_path / "fresh/sqlassay/process").iterdir() if path.is_dir()] == []


def test_an_image_names_no_path(provider: ProcessProvider) -> None:
    """What a report prints of an image is the same on any machine with the same programs, and it is found again."""
    image = provider.prepare(PostgresAdapter(), [SNAPSHOT], print)
    programs = host_programs(RECIPE)
    assert image.ref == f"process/postgres:{image.key}"
    assert (image.base.ref, image.base.digest) == (f"host/postgres:{programs.version}", programs.digest)
    assert image.catalog("numbers").engine_version.startswith(programs.version)
    assert image.ref in {line.ref for line in images()}
    assert provider.prepare(PostgresAdapter(), [SNAPSHOT], print) == image
    adapter = PostgresAdapter()
    sandbox = provider.start(adapter, image, Mode.READ, "run-1")
    assert adapter.state_digest(sandbox.endpoint, "w") == image.catalog("numbers").state_digest


HARNESS = """
import sys, time, tempfile
tempfile.tempdir = sys.argv[1]
from test_process_postgres import *
provider = ProcessProvider()
print(started(provider).id, flush=True)
time.sleep(60)
"""


def test_a_killed_harness_leaves_no_server(provider: ProcessProvider, cache: Path, tmp_path: Path) -> None:
    """The kernel ends the jail with the harness, and the next run's sweep removes the folder that is left."""
    environment = os.environ | {"PYTHONPATH": f"{Path(__file__).parent}", "XDG_CACHE_HOME": str(cache)}
    command = [sys.executable, "-c", HARNESS, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as harness:
        assert harness.stdout is not None
        lines = iter(harness.stdout.readline, "")
        sandbox_id = next(line.strip() for line in lines if line.startswith("run-1"))
        assert len(holders(tmp_path)) >= 3
        harness.send_signal(signal.SIGKILL)
        groups = json.loads((runs_root() / sandbox_id / WORKER).read_text(encoding="utf-8"))["groups"]
    assert bool(groups) is groups_work()
    wait_until(lambda: holders(tmp_path) == [])
    assert provider.sweep() == (sandbox_id,)
    assert not any(Path(folder).exists() for folder in groups)


def wait_until(holds: Callable[[], bool]) -> None:
    """Return once something holds; it must within seconds."""
    until = time.monotonic() + 5
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.02)
