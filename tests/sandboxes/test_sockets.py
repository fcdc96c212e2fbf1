"""A server's socket folder: open while it starts, closed afterwards; who listens is known before anybody can lie."""

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from sqlassay.dialect_adapters.conformance_data import ALPHA
from sqlassay.dialect_adapters.contract import Limits, Mode, Pins, Role, StatementError
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.sandboxes.registry import provider
from sqlassay.sandboxes.sockets import close_folder, end, in_container, is_socket, listener, open_folder

LISTENS = "import socket, sys, time\ns = socket.socket(socket.AF_UNIX)\ns.bind(sys.argv[1])\ns.listen()\ntime.sleep(60)"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[Path, subprocess.Popen[bytes]]]:
    """A process of ours that listens on a socket."""
    path = tmp_path / "s"
    process = subprocess.Popen([sys.executable, "-c", LISTENS, str(path)])
    try:
        deadline = time.monotonic() + 30
        while not is_socket(path) and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.1)
        yield path, process
    finally:
        process.kill()
        process.wait()


def test_the_listener_is_known_by_its_own_process(server: tuple[Path, subprocess.Popen[bytes]]) -> None:
    """The handle of the process that the socket's peer names ends that process."""
    path, process = server
    handle = listener(path, lambda pid: pid == process.pid)
    assert handle is not None
    end(handle)
    assert process.wait(timeout=10) == -signal.SIGKILL
    end(handle)  # nobody is left: nothing happens
    os.close(handle)


def test_a_stranger_that_listens_is_let_live(server: tuple[Path, subprocess.Popen[bytes]]) -> None:
    """A process of this machine that is not the sandbox's own is never held, whatever socket it listens on."""
    path, process = server
    assert listener(path, lambda pid: in_container(pid, "0" * 64)) is None
    assert process.poll() is None


def test_no_link_is_followed_to_a_listener(server: tuple[Path, subprocess.Popen[bytes]], tmp_path: Path) -> None:
    """A server may lay a link to a socket of the host in its place; nothing is asked behind it."""
    (tmp_path / "link").symlink_to(server[0])
    assert is_socket(tmp_path / "link") is False
    assert listener(tmp_path / "link", lambda pid: True) is None


def test_a_container_is_told_by_its_control_groups(tmp_path: Path) -> None:
    """Of both versions, and of none where the process is gone."""
    for number, line in enumerate(("12:memory:/docker/abc", "0::/system.slice/docker-abc.scope")):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "cgroup").write_text(line + "\n")
        assert in_container(number, "abc", tmp_path) is True
        assert in_container(number, "abd", tmp_path) is False
    assert in_container(7, "abc", tmp_path) is False


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_closed_folder_holds_the_socket_and_our_own_files(tmp_path: Path) -> None:
    """What the server left besides is gone, so that it has no file here to fill; a next start may write again."""
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(tmp_path / "s"))
        for name in ("s.lock", "clock"):
            (tmp_path / name).write_text("x")
        for name in ("s", "s.lock"):
            os.chown(tmp_path / name, 999, 999)
        close_folder(tmp_path)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["clock", "s"]
        assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755
        open_folder(tmp_path)
        assert [path.name for path in tmp_path.iterdir()] == ["clock"]
        assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o777


@pytest.mark.parametrize(
    "name", [pytest.param("docker", marks=pytest.mark.docker), pytest.param("process", marks=pytest.mark.jail)]
)
@pytest.mark.skipif(os.geteuid() != 0, reason="a server that runs as this user is not kept out by a mode")
def test_a_superuser_of_the_server_writes_nothing_on_the_host(name: str) -> None:
    """The socket's folder takes no file, no large object and no link, and its lock file is gone; questions go on."""
    makes = provider(name)
    try:
        image = makes.prepare(adapter("postgres"), (ALPHA,), lambda line: None)
        sandbox = makes.start(adapter("postgres"), image, Mode.READ, f"sockets-{uuid4().hex[:8]}")
        database = image.catalogs[0].database
        for target in ("fill", ".s.PGSQL.5432.lock", "clock"):
            session = sandbox.open(database, Role.HARNESS, Pins())
            with pytest.raises(StatementError, match="Permission denied"):
                session.fetch(f"COPY (SELECT repeat('x', 1000000)) TO '/run/sqlassay/{target}'", Limits())
            session.close()
        assert sandbox.endpoint.socket is not None
        assert [path.name for path in sandbox.endpoint.socket.parent.iterdir()] == [sandbox.endpoint.socket.name]
        session = sandbox.open(database, Role.READER, Pins())
        assert session.fetch("SELECT 1", Limits()).rows == ((1,),)
        session.close()
    finally:
        makes.close()
