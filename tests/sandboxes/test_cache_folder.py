"""A cache folder or an engine's socket that cannot be used is one line with its path and the remedy, never a crash."""

from __future__ import annotations

import gc
import os
import socket
import stat
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from sqlassay.cases.errors import EngineUnavailableError, InfrastructureError
from sqlassay.sandboxes.cache import cache_dir, private_folder, write_private
from sqlassay.sandboxes.checks import machine_findings
from sqlassay.sandboxes.docker.client import EngineForbiddenError, connect
from sqlassay.sandboxes.engine import _refuse_unless_allowed
from sqlassay.sandboxes.locks import RunLock, exclusive

SET = r"Set XDG_CACHE_HOME to a folder you can write in"


def test_cache_is_where_the_environment_says(tmp_path: Path) -> None:
    """XDG_CACHE_HOME wins over HOME, and the folder is the owner's alone."""
    found = cache_dir({"XDG_CACHE_HOME": str(tmp_path / "x"), "HOME": str(tmp_path / "h")})
    assert found == tmp_path / "x" / "sqlassay"
    assert stat.S_IMODE(found.stat().st_mode) == 0o700
    assert cache_dir({"HOME": str(tmp_path / "h")}) == tmp_path / "h" / ".cache" / "sqlassay"


@pytest.mark.parametrize("name", ["HOME", "XDG_CACHE_HOME"])
def test_folder_that_cannot_be_made_is_named_with_the_remedy(tmp_path: Path, name: str) -> None:
    """A home under a file or in a folder of the kernel's is our fault, with exit code 3."""
    (tmp_path / "file").touch()
    for place in (tmp_path / "file", Path("/proc/none")):
        with pytest.raises(InfrastructureError, match=rf"'{place}.*' cannot be written \(.+\)\. {SET}"):
            cache_dir({name: str(place)})


def test_user_without_a_home_is_told_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """No HOME and no entry in the list of users leaves nowhere to go."""
    monkeypatch.delenv("HOME")
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    with pytest.raises(InfrastructureError, match=rf"no home folder.*\. {SET}"):
        cache_dir({})


@pytest.mark.parametrize(
    "write",
    [
        lambda folder: write_private(folder / "f", "x"),
        lambda folder: RunLock(folder, "f"),
        lambda folder: exclusive(folder, "f").__enter__(),
        lambda folder: private_folder(folder / "f.lock"),
    ],
)
def test_what_cannot_be_written_in_the_cache_is_named(tmp_path: Path, write: Callable[[Path], object]) -> None:
    """Files where folders are needed and folders where files are: each writer names its path."""
    (tmp_path / "f").mkdir()
    (tmp_path / "f.lock").symlink_to("/proc/none/x")
    with pytest.raises(InfrastructureError, match=rf"'{tmp_path}/f.*' cannot be written"):
        write(tmp_path)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_full_disk_is_named_and_leaves_no_half_file(tmp_path: Path) -> None:
    """The kernel's own full device stands for the disk."""
    (tmp_path / f".f.{os.getpid()}").symlink_to("/dev/full")
    with pytest.raises(InfrastructureError, match=r"No space left on device\)\. Free space there"):
        write_private(tmp_path / "f", "x" * 100_000)
    assert list(tmp_path.iterdir()) == []


def test_doctor_survives_a_machine_without_a_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says what is wrong and how to fix it, as it does for everything else."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(InfrastructureError):
        cache_dir()
    python, cache = machine_findings()
    assert (python.ok, cache.ok, cache.name) == (True, False, "cache folder")
    assert "XDG_CACHE_HOME" in cache.fix


def _as_somebody_else(question: Callable[[], bool]) -> bool:
    """Ask in a process without root's rights, which open every socket."""
    if os.geteuid() != 0:
        return question()
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setuid(65534)
        os._exit(0 if question() else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_socket_that_this_user_may_not_open_is_told_from_one_that_is_silent(tmp_path: Path) -> None:
    """The remedy is the docker group or root, and nothing is started in its place."""
    path = tmp_path / "docker.sock"

    def forbidden() -> bool:
        """Return True where the fault says that the right is missing, and no policy starts an engine."""
        os.environ["DOCKER_HOST"] = f"unix://{path}"
        try:
            connect(timeout=2)
        except EngineForbiddenError as fault:
            said = "this user may not open it. Join the docker group" in str(fault) and str(path) in str(fault)
            try:
                _refuse_unless_allowed("auto", fault)
            except EngineForbiddenError:
                return said
        except EngineUnavailableError:
            return False
        return False

    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        path.chmod(0)
        assert _as_somebody_else(forbidden) is True


@pytest.mark.parametrize("silent", ["none.sock", "left.sock", None])
def test_socket_that_is_not_there_is_no_matter_of_rights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, silent: str | None
) -> None:
    """Nothing listens: the remedy is to start an engine, and no socket of ours stays open."""
    address = f"unix://{tmp_path}/{silent}" if silent else "tcp://127.0.0.1:1"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(tmp_path / "left.sock"))
    monkeypatch.setenv("DOCKER_HOST", address)
    gc.collect()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with pytest.raises(EngineUnavailableError) as raised:
            connect(timeout=2)
        fault = raised.value
        assert isinstance(fault, EngineForbiddenError) is False
        assert (fault.message, "make engine" in str(fault)) == (f"no container engine answers at {address}", True)
        del raised, fault
        gc.collect()
    assert [str(one.message) for one in told if one.category is ResourceWarning] == []
