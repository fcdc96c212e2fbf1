"""One value that says what a jailed process sees, and the two ways to make it so."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cases.errors import InfrastructureError

NOBODY = 65534
_PROBE_SECONDS = 20
_LAUNCHER = Path(__file__).with_name("launcher.py")


@dataclass(frozen=True, slots=True)
class JailSpec:
    """A program, its cleared environment, the read-only paths it sees (host, inside) and empty folders over them."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    paths: tuple[tuple[str, str], ...]
    hidden: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Jailer:
    """A way to jail that was seen to work here; `user_option` asks the worker itself to become nobody."""

    method: str
    as_root: bool
    user_option: tuple[str, ...] = ()

    @property
    def description(self) -> str:
        """Return the method as a report names it."""
        return self.method if self.as_root else f"{self.method} in a user namespace"

    def command(self, spec: JailSpec) -> list[str]:
        """Return the command that runs the program in its jail."""
        if self.method == "bubblewrap":
            return _bubblewrap(spec, as_root=self.as_root)
        settings = {
            "argv": [*spec.argv],
            "env": dict(spec.env),
            "paths": spec.paths,
            "hidden": spec.hidden,
            "user_namespace": not self.as_root,
            "uid": NOBODY,
        }
        return [sys.executable, "-I", "-S", "-B", str(_LAUNCHER), json.dumps(settings)]


def find_jailer(probe: JailSpec) -> Jailer:
    """Return the first way to jail in which `probe` runs: bubblewrap, else namespaces by the standard library.

    Raises:
        InfrastructureError: neither works here; nothing weaker is ever used.
    """
    root = os.geteuid() == 0
    drop = ("--user", str(NOBODY))
    candidates = [Jailer("namespaces", as_root=True)] if root else []
    candidates.append(Jailer("namespaces", as_root=False))
    if shutil.which("bwrap"):
        wrapped = [Jailer("bubblewrap", as_root=True, user_option=drop)] if root else []
        candidates = [*wrapped, Jailer("bubblewrap", as_root=False), *candidates]
    faults = []
    for jailer in candidates:
        fault = _try(tuple(jailer.command(probe)))
        if not fault:
            return jailer
        faults.append(f"{jailer.method}: {fault}")
    raise InfrastructureError(
        f"no jail works on this machine ({'; '.join(faults)})",
        remedy="Install bubblewrap (apt-get install bubblewrap) and allow user namespaces, or use `--sandbox docker`",
    )


@cache
def _try(command: tuple[str, ...]) -> str:
    """Return what went wrong when a jail ran its probe ("" = nothing)."""
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=_PROBE_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return type(error).__name__
    if done.returncode == 0:
        return ""
    return (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]


def _bubblewrap(spec: JailSpec, *, as_root: bool) -> list[str]:
    """Return the bubblewrap command: every namespace, no capability kept, nothing writable, gone with its parent.

    As root no user namespace is used: the program really becomes nobody, so that it owns none of the files it sees.
    """
    user = ["--unshare-user", "--uid", str(NOBODY), "--gid", str(NOBODY)]
    if as_root:
        user = ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    command = ["bwrap", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
    command += [*user, "--die-with-parent", "--new-session", "--clearenv"]
    for name, value in spec.env.items():
        command += ["--setenv", name, value]
    for host, inside in spec.paths:
        command += ["--ro-bind", host, inside]
    for folder in spec.hidden:
        command += ["--tmpfs", folder, "--remount-ro", folder]
    return [*command, "--remount-ro", "/", "--chdir", "/", "--", *spec.argv]
