"""Every flag a container runs under, how it is reached, and how the kernel's own counters are read."""

from __future__ import annotations

from pathlib import Path

import docker
import pytest

from sqlassay.dialect_adapters.contract import Mode
from sqlassay.dialect_adapters.mysql.recipe import RECIPE as MYSQL
from sqlassay.dialect_adapters.postgres.recipe import RECIPE as POSTGRES
from sqlassay.dialect_adapters.sqlite.recipe import RECIPE as SQLITE
from sqlassay.sandboxes.contract import BaseImage
from sqlassay.sandboxes.docker import limits
from sqlassay.sandboxes.docker.channel import Channel, socket_channel
from sqlassay.sandboxes.docker.container import fill
from sqlassay.sandboxes.docker.sandbox import killed_processes

API = docker.APIClient(base_url="tcp://127.0.0.1:9", version="1.41")
SPACE = limits.Space("/data", "/data-live", 300)


def test_a_read_server_may_do_nothing_but_serve() -> None:
    """No network, no capability, no new privilege, and every resource has its limit."""
    channel = {"network_mode": "none", "binds": {"/tmp/x": {"bind": "/run/sqlassay", "mode": "rw"}}}
    config = limits.host_config(API, POSTGRES, Mode.READ, channel, None)
    assert config["NetworkMode"] == "none"
    assert config["CapDrop"] == ["ALL"]
    assert config["SecurityOpt"] == ["no-new-privileges:true"]
    assert config["PidsLimit"] == 100
    assert config["Memory"] == config["MemorySwap"] == 512 * 1024 * 1024
    assert config["NanoCpus"] == 1_000_000_000
    assert config["IpcMode"] == "private"
    assert {(u["Name"], u["Hard"]) for u in config["Ulimits"]} == {("nofile", 1024), ("core", 0)}
    assert config["LogConfig"]["Type"] == "local"
    assert "Privileged" not in config


def test_a_write_server_has_its_data_in_memory_under_a_read_only_root() -> None:
    """What it may fill is sized, and its memory limit has room for exactly that."""
    config = limits.host_config(API, MYSQL, Mode.WRITE, {"network_mode": "none", "binds": {}}, SPACE)
    assert config["ReadonlyRootfs"] is True
    assert config["Tmpfs"]["/data-live"] == "rw,nosuid,nodev,noexec,size=300m,uid=999,gid=999,mode=0700"
    assert config["Memory"] == (768 + 300) * 1024 * 1024


def test_a_file_worker_has_a_read_only_root_in_read_mode() -> None:
    """A worker writes nothing, so nothing is writable; a server writes beside its data."""
    assert limits.has_read_only_root(SQLITE, Mode.READ) is True
    assert limits.has_read_only_root(POSTGRES, Mode.READ) is False


@pytest.mark.parametrize(
    ("facts", "off"),
    [
        (
            {
                "MemoryLimit": True,
                "SwapLimit": True,
                "CpuCfsQuota": True,
                "PidsLimit": True,
                "SecurityOptions": ["name=seccomp"],
            },
            (),
        ),
        ({"MemoryLimit": True, "SwapLimit": False, "SecurityOptions": ["name=seccomp,profile=default"]}, ("swap",)),
        ({"PidsLimit": False, "SecurityOptions": []}, ("processes", "seccomp")),
    ],
)
def test_limits_the_engine_cannot_enforce_are_named(facts: dict[str, object], off: tuple[str, ...]) -> None:
    """No silent downgrade: the report says which limit is off."""
    assert limits.missing(facts) == off


def test_a_socket_lies_behind_a_private_folder() -> None:
    """Only this user can enter; the path fits a socket address."""
    channel = socket_channel(POSTGRES)
    try:
        assert channel.folder is not None
        assert channel.folder.stat().st_mode & 0o777 == 0o700
        assert len(f"{channel.folder}/s/.s.PGSQL.5432") < 108
        assert channel.settings()["network_mode"] == "none"
    finally:
        channel.remove()
    assert not channel.folder.exists()


def test_a_long_temporary_folder_is_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A unix socket's address holds 107 bytes, so a deep TMPDIR gives way to a short one."""
    deep = tmp_path / ("x" * 90)
    deep.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(deep))
    channel = socket_channel(POSTGRES)
    channel.remove()
    assert channel.folder is not None
    assert not channel.folder.is_relative_to(deep)


@pytest.mark.parametrize(("host", "address"), [("localhost", "127.0.0.1"), ("10.1.2.3", "")])
def test_a_port_is_published_on_loopback_where_the_engine_is_near(host: str, address: str) -> None:
    """A remote engine's loopback could not be reached from here."""
    channel = Channel(POSTGRES, None, "net", host)
    assert channel.settings()["port_bindings"] == {5432: (address, None)}
    assert channel.options() == ("-c", "listen_addresses=*")


def test_placeholders_are_filled() -> None:
    """A recipe never knows where an image keeps its programs or a mode its data."""
    base = BaseImage("x:1", "sha256:x", "/opt/pg/bin", 999, "17.2", "debian")
    argv = fill(("{bin}/postgres", "-D", "{data}", "{socket}"), POSTGRES, base, "/live")
    assert argv == ("/opt/pg/bin/postgres", "-D", "/live", "/run/sqlassay/.s.PGSQL.5432")


@pytest.mark.parametrize(
    ("membership", "counter", "text"),
    [
        (
            "9:memory:/docker/abc\n4:pids:/docker/abc\n",
            "memory/docker/abc/memory.oom_control",
            "under_oom 0\noom_kill 2\n",
        ),
        ("0::/system.slice/abc.scope\n", "system.slice/abc.scope/memory.events", "low 0\noom 5\noom_kill 2\n"),
    ],
)
def test_the_kernel_s_count_of_killed_processes_is_read(
    tmp_path: Path, membership: str, counter: str, text: str
) -> None:
    """Both cgroup versions tell of a killed backend, even where the container goes on."""
    proc, cgroups = tmp_path / "proc", tmp_path / "cgroup"
    (proc / "42").mkdir(parents=True)
    (proc / "42" / "cgroup").write_text(membership)
    (cgroups / counter).parent.mkdir(parents=True)
    (cgroups / counter).write_text(text)
    assert killed_processes(42, proc, cgroups) == 2
    assert killed_processes(43, proc, cgroups) == 0
    assert killed_processes(0, proc, cgroups) == 0
