"""Makes a Python on Linux lack what macOS's lacks: loaded by each process whose PYTHONPATH names this folder."""

from __future__ import annotations

import builtins
import ctypes
import io
import os
import resource
import signal
import socket
import sys
import sysconfig
import types
from collections.abc import Callable
from typing import Any

os.environ["_PYTHON_SYSCONFIGDATA_NAME"] = sysconfig._get_sysconfigdata_name()  # type: ignore[attr-defined]
sys.platform = "darwin"

_LACKS: tuple[tuple[types.ModuleType, tuple[str, ...]], ...] = (
    (os, ("memfd_create", "pidfd_open", "sched_getaffinity", "sched_setaffinity", "unshare", "setns", "eventfd")),
    (signal, ("pidfd_send_signal",)),
    (socket, ("SO_PEERCRED",)),
)
for _module, _names in _LACKS:
    for _name in _names:
        if hasattr(_module, _name):
            delattr(_module, _name)

_CALLS = ("prctl", "unshare", "mount", "umount2", "pivot_root", "setns", "syscall")
_set_limit = resource.setrlimit


def _setrlimit(kind: int, limits: tuple[int, int]) -> None:
    """Refuse a limit of the address space, as macOS does where it is less than what is mapped."""
    if kind == resource.RLIMIT_AS:
        raise ValueError("current limit exceeds maximum limit")
    _set_limit(kind, limits)


resource.setrlimit = _setrlimit


class _Library(ctypes.CDLL):
    """A library without Linux's own system calls."""

    def __getattr__(self, name: str) -> Any:
        if name in _CALLS:
            raise AttributeError(f"dlsym(RTLD_DEFAULT, {name}): symbol not found")
        return super().__getattr__(name)


ctypes.CDLL = _Library  # type: ignore[misc]


def _without(call: Callable[..., Any]) -> Callable[..., Any]:
    """Return a call for which no path of Linux's own file systems is there."""

    def asked(path: Any, *args: Any, **named: Any) -> Any:
        if isinstance(path, (str, bytes, os.PathLike)) and os.fsdecode(path).startswith(("/proc", "/sys/")):
            raise FileNotFoundError(2, "No such file or directory", os.fsdecode(path))
        return call(path, *args, **named)

    return asked


for _owner, _call in (
    (builtins, "open"),
    (io, "open"),
    (os, "readlink"),
    (os, "open"),
    (os, "stat"),
    (os, "lstat"),
    (os, "listdir"),
    (os, "scandir"),
):
    setattr(_owner, _call, _without(getattr(_owner, _call)))

_proxies = types.ModuleType("_scproxy")
_proxies._get_proxies = dict  # type: ignore[attr-defined]
_proxies._get_proxy_settings = lambda: {"exclude_simple": False, "exceptions": ()}  # type: ignore[attr-defined]
sys.modules["_scproxy"] = _proxies
