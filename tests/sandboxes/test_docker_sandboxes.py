"""Real containers: baked once, jailed as promised, gone when they should be, whatever happens to the harness."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from sandbox_adapters import TinyPostgres

from sqlassay.cases.errors import EngineUnavailableError, InfrastructureError, SandboxLostError
from sqlassay.cases.snapshot import Snapshot
from sqlassay.dialect_adapters.contract import Mode, Pins, Role, ServerRecipe
from sqlassay.sandboxes.contract import SnapshotImage
from sqlassay.sandboxes.docker import container
from sqlassay.sandboxes.docker.client import Engine
from sqlassay.sandboxes.docker.provider import DockerProvider
from sqlassay.sandboxes.docker.sandbox import DockerSandbox

pytestmark = pytest.mark.docker
SNAPSHOT = Snapshot(id="s", database="shop", digest="one")


def _quiet(line: str) -> None:
    """Take a phase line and say nothing."""


@pytest.fixture(scope="module")
def reading(provider: DockerProvider, image: SnapshotImage) -> Iterator[DockerSandbox]:
    """A running Postgres in READ mode."""
    sandbox = provider.start(TinyPostgres(), image, Mode.READ, "tests")
    yield sandbox
    sandbox.destroy()


def _inside(engine: Engine, sandbox: DockerSandbox, script: str) -> str:
    """Run a shell script in a sandbox and return what it printed."""
    made = engine.api.exec_create(sandbox.id, ["/bin/sh", "-c", script])
    return str(engine.api.exec_start(made["Id"]).decode())


def test_a_server_starts_from_its_snapshot_with_the_data_there(reading: DockerSandbox, image: SnapshotImage) -> None:
    """What was loaded at bake time is served after."""
    with TinyPostgres().login(reading.endpoint, "shop") as connection:
        assert connection.execute("SELECT count(*), sum(n) FROM t").fetchone() == (1000, 500500)
    assert image.catalog("s").database == "shop"
    assert image.base.source in ("debian", "registry")
    assert image.base.version.startswith("17")


def test_the_report_names_the_isolation(reading: DockerSandbox) -> None:
    """Provider, method, network and limits are said, and what is off here."""
    isolation = reading.isolation
    assert (isolation.provider, isolation.network) == ("docker", "none")
    assert "memory 512 MB without swap" in isolation.limits
    assert isolation.missing == ()


def test_from_inside_there_is_no_network(engine: Engine, reading: DockerSandbox) -> None:
    """The loopback interface is the only one."""
    assert _inside(engine, reading, "while read a b; do echo $a; done < /proc/net/dev").split()[2:] == ["lo:"]


def test_from_inside_there_is_no_privilege(engine: Engine, reading: DockerSandbox) -> None:
    """Not root, no capability in any set, none to be gained, system calls filtered."""
    text = _inside(engine, reading, "while read a b c; do echo $a $b; done < /proc/1/status")
    status = dict(line.split(maxsplit=1) for line in text.splitlines() if " " in line)
    assert status["Uid:"] == "999"
    assert {int(status[name], 16) for name in ("CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:")} == {0}
    assert (status["NoNewPrivs:"], status["Seccomp:"]) == ("1", "2")


def test_from_inside_the_limits_hold(engine: Engine, reading: DockerSandbox) -> None:
    """Processes, open files and core files are capped where the kernel counts them."""
    limits = _inside(engine, reading, "while read a; do echo $a; done < /proc/1/limits")
    assert "Max open files 1024 1024" in " ".join(limits.split())
    assert "Max core file size 0 0" in " ".join(limits.split())
    config = engine.inspect(reading.id)["HostConfig"]
    assert (config["PidsLimit"], config["Memory"], config["MemorySwap"]) == (100, 512 << 20, 512 << 20)


def test_a_process_bomb_ends_at_the_limit(engine: Engine, provider: DockerProvider, image: SnapshotImage) -> None:
    """The hundredth sleeping shell is refused by the kernel; the harness and its machine feel nothing."""
    sandbox = provider.start(TinyPostgres(), image, Mode.READ, "tests")
    try:
        # Reading a terminal's end that nobody writes to waits for ever without using the processor.
        bomb = "i=0; while [ $i -lt 150 ]; do (read x < /dev/ptmx) & i=$((i+1)); done; echo survived"
        said = _inside(engine, sandbox, f"({bomb}) 2>&1")
        assert "survived" not in said
        assert "fork" in said.lower()
    finally:
        sandbox.destroy()


def test_memory_beyond_the_limit_is_seen(provider: DockerProvider, image: SnapshotImage) -> None:
    """The kernel kills the greedy backend, the session breaks, and the sandbox says why."""
    sandbox = provider.start(TinyPostgres(), image, Mode.READ, "tests")
    try:
        assert sandbox.died_of_memory() is False
        greedy = "SELECT array_length(array_agg(repeat('x', 1000) || n), 1) FROM generate_series(1, 900000) n"
        with TinyPostgres().login(sandbox.endpoint) as connection, pytest.raises(psycopg.OperationalError):
            connection.execute(greedy)
        assert sandbox.died_of_memory() is True
    finally:
        sandbox.destroy()


def test_a_killed_server_did_not_die_of_memory(provider: DockerProvider, image: SnapshotImage) -> None:
    """Our own kill is told apart from the kernel's, and the next login says that the server is gone."""
    sandbox = provider.start(TinyPostgres(), image, Mode.READ, "tests")
    try:
        sandbox.kill()
        sandbox.kill()
        assert sandbox.died_of_memory() is False
        with pytest.raises(SandboxLostError, match="its last lines: .*ready to accept connections"):
            sandbox.open("shop", Role.READER, Pins())
    finally:
        sandbox.destroy()


def test_a_server_that_somebody_else_killed_did_not_die_of_memory(
    provider: DockerProvider, image: SnapshotImage, engine: Engine
) -> None:
    """`docker kill` behind our back, with a statement under way: the statement is not to blame."""
    sandbox = provider.start(TinyPostgres(), image, Mode.READ, "tests")
    try:
        with TinyPostgres().login(sandbox.endpoint) as connection:
            killer = threading.Timer(0.3, engine.api.kill, (sandbox.id,))
            killer.start()
            with pytest.raises(psycopg.OperationalError):
                connection.execute("SELECT pg_sleep(30)")
            assert sandbox.died_of_memory() is False
            killer.join()
    finally:
        sandbox.destroy()


def test_a_read_server_refuses_to_write(reading: DockerSandbox) -> None:
    """By default nothing is written, even by the harness's own login."""
    with TinyPostgres().login(reading.endpoint, "shop") as connection, pytest.raises(psycopg.Error, match="read-only"):
        connection.execute("INSERT INTO t VALUES (1)")


def test_a_full_disk_is_the_statement_s_failure(engine: Engine, cache: Path, image: SnapshotImage) -> None:
    """A write that fills the sized copy fails with the engine's words; the server goes on and the host is untouched."""
    small = DockerProvider(cache=cache, write_room_mb=32)
    sandbox = small.start(TinyPostgres(), image, Mode.WRITE, "tests")
    try:
        with TinyPostgres().login(sandbox.endpoint, "shop") as connection:
            connection.execute("INSERT INTO t VALUES (-1)")
            with pytest.raises(psycopg.errors.DiskFull):
                connection.execute(
                    "CREATE TABLE big AS SELECT repeat(md5(n::text), 20) FROM generate_series(1, 400000) n"
                )
            assert connection.execute("SELECT min(n) FROM t").fetchone() == (-1,)
        assert "Read-only" in _inside(engine, sandbox, "echo x > /var/lib/sqlassay/x")
    finally:
        small.close()


def test_destroy_is_idempotent_and_leaves_nothing(
    engine: Engine, provider: DockerProvider, image: SnapshotImage
) -> None:
    """Twice, from two threads, and after somebody else removed the container."""
    sandbox = provider.start(TinyPostgres(), image, Mode.READ, "tests")
    folder = sandbox.endpoint.socket.parents[1] if sandbox.endpoint.socket else None
    threads = [threading.Thread(target=sandbox.destroy) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sandbox.destroy()
    assert folder is not None
    assert not folder.exists()
    assert sandbox.id not in _ids(engine)
    assert container.remove(engine, sandbox.id) is True


def _ids(engine: Engine) -> set[str]:
    """Return the ids of all containers."""
    return {str(found["Id"]) for found in engine.api.containers(all=True)}


def _ours(engine: Engine, cache: Path) -> set[str]:
    """Return the ids of the containers started under this cache: other runs come and go meanwhile."""
    found = engine.api.containers(all=True, filters={"label": "io.sqlassay.lock"})
    return {str(c["Id"]) for c in found if c["Labels"]["io.sqlassay.lock"].startswith(str(cache))}


def test_two_bakes_of_one_key_give_one_image(engine: Engine, cache: Path) -> None:
    """The second waits for the first and takes its image."""
    snapshot = Snapshot(id="s", database="twice", digest="two")
    adapters = [TinyPostgres(load_seconds=0.5), TinyPostgres(load_seconds=0.5)]
    providers = [DockerProvider(cache=cache), DockerProvider(cache=cache)]
    images: list[SnapshotImage] = []
    threads = [
        threading.Thread(target=lambda p=p, a=a: images.append(p.prepare(a, [snapshot], _quiet)))
        for p, a in zip(providers, adapters, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for made in providers:
        made.close()
    assert images[0] == images[1]
    assert sum(adapter.loads for adapter in adapters) == 1
    assert len(engine.api.images(filters={"label": f"io.sqlassay.snapshot={images[0].key}"})) == 1


def test_a_lost_image_or_catalogue_is_baked_again(engine: Engine, provider: DockerProvider, cache: Path) -> None:
    """Neither half is trusted without the other."""
    snapshot = Snapshot(id="s", database="lost", digest="three")
    tiny = TinyPostgres()
    first = provider.prepare(tiny, [snapshot], _quiet)
    (cache / "images" / first.key / "catalog.json").unlink()
    second = provider.prepare(tiny, [snapshot], _quiet)
    engine.api.remove_image(second.ref)
    third = provider.prepare(tiny, [snapshot], _quiet)
    assert tiny.loads == 3
    assert len({first.ref, second.ref, third.ref}) == 3
    assert [i["RepoTags"] for i in engine.api.images(filters={"label": f"io.sqlassay.snapshot={first.key}"})] == [
        [third.ref]
    ]


def test_a_server_that_does_not_come_up_says_why(
    engine: Engine, provider: DockerProvider, image: SnapshotImage, cache: Path
) -> None:
    """The error holds the server's own last lines, and no container stays."""
    before = _ours(engine, cache)

    class Broken(TinyPostgres):
        """Serves with a setting no server knows."""

        @property
        def recipe(self) -> ServerRecipe:
            recipe = super().recipe
            return replace(recipe, serve={Mode.READ: (*recipe.serve[Mode.READ], "-c", "no_such_setting=1")})

    with pytest.raises(InfrastructureError, match="no_such_setting"):
        provider.start(Broken(), image, Mode.READ, "tests")
    assert _ours(engine, cache) <= before


def test_nothing_starts_after_the_end(engine: Engine, cache: Path, image: SnapshotImage) -> None:
    """A worker thread that is late cannot leave a container behind a run that is over."""
    ended = DockerProvider(cache=cache)
    ended.close()
    before = _ours(engine, cache)
    with pytest.raises(InfrastructureError, match="over"):
        ended.start(TinyPostgres(), image, Mode.READ, "ended")
    assert _ours(engine, cache) <= before


VICTIM = """
import sys, time
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from sandbox_adapters import TinyPostgres
from sqlassay.cases.snapshot import Snapshot
from sqlassay.dialect_adapters.contract import Mode
from sqlassay.sandboxes.docker.provider import DockerProvider
provider = DockerProvider(cache=Path(sys.argv[2]))
image = provider.prepare(TinyPostgres(), [Snapshot(id="s", database="shop", digest="one")], print)
sandbox = provider.start(TinyPostgres(), image, Mode.READ, "victim")
print("started", sandbox.id, sandbox.endpoint.socket, flush=True)
time.sleep(120)
"""


def test_a_killed_harness_leaves_nothing_after_the_next_sweep(
    engine: Engine, provider: DockerProvider, image: SnapshotImage, cache: Path, reading: DockerSandbox
) -> None:
    """While it lives its sandbox is spared; after kill -9 the next run removes it, its folder and its lock."""
    argv = [sys.executable, "-c", VICTIM, str(Path(__file__).parent), str(cache)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as victim:
        assert victim.stdout is not None
        _, made, socket = next(line for line in victim.stdout if line.startswith("started")).split()
        assert "victim" not in provider.sweep()
        assert made in _ids(engine)
        os.kill(victim.pid, signal.SIGKILL)
    assert "victim" in provider.sweep()
    assert made not in _ids(engine)
    assert not Path(socket).parents[1].exists()
    assert not (cache / "runs" / "victim.lock").exists()
    assert reading.id in _ids(engine)


KILLED_BAKE = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from sandbox_adapters import TinyPostgres
from sqlassay.cases.snapshot import Snapshot
from sqlassay.sandboxes.docker.provider import DockerProvider
adapter = TinyPostgres(load_seconds=60)
adapter.on_load = lambda: print("loading", flush=True)
DockerProvider(cache=Path(sys.argv[2])).prepare(adapter, [Snapshot(id="s", database="shop", digest="killed")], len)
"""


def test_a_killed_bake_leaves_nothing_after_the_next_sweep(
    engine: Engine, provider: DockerProvider, image: SnapshotImage, cache: Path
) -> None:
    """A bake is a run of its own: its container goes like any dead run's, and its lock bars nobody."""
    before = _ours(engine, cache)
    argv = [sys.executable, "-c", KILLED_BAKE, str(Path(__file__).parent), str(cache)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as victim:
        assert victim.stdout is not None
        assert victim.stdout.readline() == "loading\n"
        assert len(_ours(engine, cache) - before) == 1
        victim.kill()
    assert [run for run in provider.sweep() if run.startswith("bake-")] != []
    assert _ours(engine, cache) <= before
    snapshot = Snapshot(id="s", database="shop", digest="killed")
    assert provider.prepare(TinyPostgres(), [snapshot], _quiet).catalog("s").database == "shop"


def test_a_port_serves_where_sockets_cannot(engine: Engine, cache: Path, image: SnapshotImage) -> None:
    """A bridge without a way out, one port on loopback, and the report says so; the network goes with the run."""
    remote = DockerProvider(cache=cache, transport="port")
    sandbox = remote.start(TinyPostgres(), image, Mode.READ, "tests-port")
    with TinyPostgres().login(sandbox.endpoint, "shop") as connection:
        assert connection.execute("SELECT count(*) FROM t").fetchone() == (1000,)
    ports = engine.inspect(sandbox.id)["NetworkSettings"]["Ports"]["5432/tcp"]
    assert {port["HostIp"] for port in ports} == {"127.0.0.1"}
    assert sandbox.isolation.network.startswith("bridge without a way out")
    remote.close()
    names = [network["Name"] for network in engine.api.networks(filters={"label": "io.sqlassay.run=tests-port"})]
    assert names == []


def test_another_runtime_is_used_by_name(cache: Path, image: SnapshotImage) -> None:
    """One that is not installed is an error, never a quiet fall back to the default; the report names the one used."""
    missing, named = DockerProvider(cache=cache, runtime="no-such"), DockerProvider(cache=cache, runtime="runc")
    with pytest.raises(InfrastructureError, match="no-such"):
        missing.start(TinyPostgres(), image, Mode.READ, "tests")
    assert named.start(TinyPostgres(), image, Mode.READ, "tests").isolation.method == "container (runc)"
    missing.close()
    named.close()


def test_a_mode_the_dialect_does_not_serve_is_refused(provider: DockerProvider, image: SnapshotImage) -> None:
    """The recipe says which modes there are; another is an error of ours, not a crash."""

    class ReadOnly(TinyPostgres):
        """Postgres without its WRITE server."""

        @property
        def recipe(self) -> ServerRecipe:
            return replace(super().recipe, serve={Mode.READ: super().recipe.serve[Mode.READ]})

    with pytest.raises(InfrastructureError, match="no server for write mode"):
        provider.start(ReadOnly(), image, Mode.WRITE, "tests")


def test_a_missing_engine_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """DOCKER_HOST pointing nowhere says so at once, with what to do."""
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:9")
    began = time.monotonic()
    with pytest.raises(EngineUnavailableError) as caught:
        DockerProvider(cache=tmp_path).prepare(TinyPostgres(), [SNAPSHOT], _quiet)
    assert str(caught.value).count("\n") == 0
    assert "tcp://127.0.0.1:9" in str(caught.value)
    assert time.monotonic() - began < 5
