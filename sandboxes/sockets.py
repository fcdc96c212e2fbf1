"""The folder in which a server makes its socket: on this machine's disk, so it is closed once the socket is there."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import stat
import struct
from collections.abc import Callable
from pathlib import Path

_PROBE_SECONDS = 1.0


def is_socket(path: Path) -> bool:
    """Return whether a socket lies at a path itself; a link that a server laid there is followed nowhere."""
    try:
        return stat.S_ISSOCK(path.lstat().st_mode)
    except OSError:
        return False


def open_folder(folder: Path) -> None:
    """Let a server that is about to start make its socket in a folder that is ours, without what an earlier one left.

    It lies in a folder that nobody else can enter.
    """
    for path in _foreign(folder):
        path.unlink(missing_ok=True)
    folder.chmod(0o777)


def close_folder(folder: Path) -> None:
    """Leave a started server no file and no room here but its socket: what it writes would lie on this machine's disk.

    A server that runs as ourselves cannot be kept out by a mode; its files are taken away all the same.
    """
    folder.chmod(0o755)
    for path in _foreign(folder):
        if not is_socket(path):
            path.unlink(missing_ok=True)


def _foreign(folder: Path) -> list[Path]:
    """Return what others than ourselves made in a folder."""
    return [path for path in folder.iterdir() if path.lstat().st_uid != os.geteuid()]


def listener(path: Path, belongs: Callable[[int], bool]) -> int | None:
    """Return a handle of the process that listens on a socket, None where it is not the one it should be.

    `belongs` says whether a process id is that of the sandbox. The handle stays that process's own: an id can be given
    to another process.
    """
    if not is_socket(path):
        return None
    with socket.socket(socket.AF_UNIX) as probe, contextlib.suppress(OSError):
        probe.settimeout(_PROBE_SECONDS)
        probe.connect(str(path))
        pid, _, _ = struct.unpack("3i", probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        if pid <= 1:
            return None
        handle = os.pidfd_open(pid)
        if belongs(pid):  # asked once the handle is held, so that the answer is about its process
            return handle
        os.close(handle)
    return None


def end(handle: int) -> None:
    """Kill the process of a handle, where it still lives and this user may."""
    with contextlib.suppress(OSError):
        signal.pidfd_send_signal(handle, signal.SIGKILL)


def in_container(pid: int, container: str, proc: Path = Path("/proc")) -> bool:
    """Return whether a process of this machine runs in a container, by the control groups that hold it."""
    try:
        return container in (proc / str(pid) / "cgroup").read_text("utf-8")
    except OSError:
        return False
