"""One value that says what a jailed process sees, and the two ways to make it so."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from sqlassay.cases.errors import InfrastructureError
from sqlassay.sandboxes.process.syscalls import filter_program

NOBODY = 65534
REDUCED = "reduced"
"""The method that makes no namespace: the program becomes nobody, gains nothing and calls little."""

FILTER_FD = "{filter}"
"""Stands in a command for the descriptor that `opened_filter` gives."""

_PROBE_SECONDS = 20
_LAUNCHER = Path(__file__).with_name("launcher.py")


@dataclass(frozen=True, slots=True)
class JailSpec:
    """A program, its cleared environment, the read-only paths it sees (host, inside) and empty folders over them.

    `writable` are folders in memory (path inside, bytes) that anyone in the jail may write; `devices` are of the host;
    `shared` are folders of the host (host, inside) that are written through. `layered` are folders (host, inside,
    bytes) that can be written inside while the host's stays as it is: what changes lies in memory. Namespaces alone do
    that, as bubblewrap cannot bound the memory.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    paths: tuple[tuple[str, str], ...]
    hidden: tuple[str, ...]
    writable: tuple[tuple[str, int], ...] = ()
    devices: tuple[str, ...] = ()
    shared: tuple[tuple[str, str], ...] = ()
    layered: tuple[tuple[str, str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Jailer:
    """A way to jail that was seen to work here; `user_option` asks the worker itself to become nobody.

    `filtered` says that the kernel refuses the program every system call it has no use for.
    """

    method: str
    as_root: bool
    user_option: tuple[str, ...] = ()
    filtered: bool = False

    @property
    def description(self) -> str:
        """Return the method as a report names it."""
        return self.method if self.as_root else f"{self.method} in a user namespace"

    def command(self, spec: JailSpec) -> tuple[str, ...]:
        """Return the command that runs the program in its jail; FILTER_FD in it is filled in by `opened_filter`."""
        if self.method == "bubblewrap":
            return tuple(_bubblewrap(spec, as_root=self.as_root, filtered=self.filtered))
        reduced = self.method == REDUCED
        settings = {
            "argv": [*spec.argv],
            "env": dict(spec.env),
            "paths": spec.paths,
            "hidden": spec.hidden,
            "writable": spec.writable,
            "devices": spec.devices,
            "shared": spec.shared,
            "layered": spec.layered,
            "filter": (filter_program(platform.machine(), sockets=not reduced) or b"").hex() if self.filtered else "",
            "reduced": reduced,
            "user_namespace": not self.as_root,
            "uid": NOBODY,
        }
        return (sys.executable, "-I", "-S", "-B", str(_LAUNCHER), json.dumps(settings))

    @contextmanager
    def opened_filter(self, command: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], tuple[int, ...]]]:
        """Give the command with its filter's descriptor filled in, and the descriptors to pass on."""
        if FILTER_FD not in command:
            yield command, ()
            return
        fd = os.memfd_create("filter")
        try:
            os.write(fd, filter_program(platform.machine()) or b"")
            os.lseek(fd, 0, os.SEEK_SET)
            yield tuple(str(fd) if part == FILTER_FD else part for part in command), (fd,)
        finally:
            os.close(fd)


def refuse_elsewhere(*, contained: bool = True) -> None:
    """Raise an InfrastructureError where the kernel is not Linux's, whose namespaces and limits make every jail.

    `contained` says that a container can serve in a jail's place.
    """
    if sys.platform != "linux":
        system = {"darwin": "macOS"}.get(sys.platform, sys.platform)
        raise InfrastructureError(
            f"every jail is made by Linux's kernel, and this is {system}",
            remedy="Use an engine that runs Linux containers: `--sandbox docker`"
            if contained
            else "Run sqlassay in a Linux container or virtual machine",
        )


def find_jailer(probe: JailSpec) -> Jailer:
    """Return the first way to jail in which `probe` runs: bubblewrap, else namespaces by the standard library.

    A way without the system call filter comes after all that have it, and its description to the user says so.

    Raises:
        InfrastructureError: neither works here; nothing weaker is ever used.
    """
    root = os.geteuid() == 0
    drop = ("--user", str(NOBODY))
    candidates = [Jailer("namespaces", as_root=True)] if root else []
    candidates.append(Jailer("namespaces", as_root=False))
    if shutil.which("bwrap") and not probe.layered:
        wrapped = [Jailer("bubblewrap", as_root=True, user_option=drop)] if root else []
        candidates = [*wrapped, Jailer("bubblewrap", as_root=False), *candidates]
    return first_that_works([(jailer, probe) for jailer in candidates], _remedy())


def first_that_works(ways: Sequence[tuple[Jailer, JailSpec]], remedy: str) -> Jailer:
    """Return the first way in which its probe runs; one with the system call filter is tried before all without.

    Raises:
        InfrastructureError: none works.
    """
    if filter_program(platform.machine()) is not None:
        ways = [*((replace(jailer, filtered=True), probe) for jailer, probe in ways), *ways]
    faults = []
    for jailer, probe in ways:
        fault = _try(jailer, jailer.command(probe))
        if not fault:
            return jailer
        faults.append(f"{jailer.method}: {fault}")
    raise InfrastructureError(f"no jail works on this machine ({'; '.join(dict.fromkeys(faults))})", remedy=remedy)


def _remedy() -> str:
    """Return what helps where no namespace can be made: inside a container, only what it was started with does."""
    weaker = f"or take the weaker jail that needs no namespaces, `--sandbox {REDUCED}`"
    if Path("/.dockerenv").exists() or Path("/run/.containerenv").exists():
        return (
            "In a container: start it with `--security-opt seccomp=unconfined --security-opt apparmor=unconfined "
            f"--security-opt systempaths=unconfined --cap-add SYS_ADMIN`, {weaker}"
        )
    wrapped = "" if shutil.which("bwrap") else "Install bubblewrap (apt-get install bubblewrap) and a"
    return f"{wrapped or 'A'}llow user namespaces, use `--sandbox docker`, {weaker}"


@cache
def _try(jailer: Jailer, command: tuple[str, ...]) -> str:
    """Return what went wrong when a jail ran its probe ("" = nothing)."""
    try:
        with jailer.opened_filter(command) as (filled, fds):
            done = subprocess.run(
                filled,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
                timeout=_PROBE_SECONDS,
                pass_fds=fds,
            )
    except (OSError, subprocess.TimeoutExpired) as error:
        return type(error).__name__
    if done.returncode == 0:
        return ""
    return (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]


def _bubblewrap(spec: JailSpec, *, as_root: bool, filtered: bool) -> list[str]:
    """Return the bubblewrap command: every namespace, no capability kept, gone with its parent, nothing writable
    but what the spec says.

    As root no user namespace is used: the program really becomes nobody, so that it owns none of the files it sees.
    """
    user = ["--unshare-user", "--uid", str(NOBODY), "--gid", str(NOBODY)]
    if as_root:
        user = ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    command = ["bwrap", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
    command += [*user, "--die-with-parent", "--new-session", "--clearenv"]
    command += ["--seccomp", FILTER_FD] if filtered else []
    for name, value in spec.env.items():
        command += ["--setenv", name, value]
    for folder in _parents(spec):
        command += ["--perms", "0755", "--dir", folder]
    for host, inside in spec.paths:
        command += ["--ro-bind", host, inside]
    for host, inside in spec.shared:
        command += ["--bind", host, inside]
    for device in spec.devices:
        command += ["--dev-bind", device, device]
    for folder in spec.hidden:
        command += ["--tmpfs", folder, "--remount-ro", folder]
    for folder, size in spec.writable:
        command += ["--perms", "0777", "--size", str(size), "--tmpfs", folder]
    return [*command, "--remount-ro", "/", "--chdir", "/", "--", *spec.argv]


def _parents(spec: JailSpec) -> list[str]:
    """Return the folders above what is shown, outermost first: those bubblewrap makes itself, root alone may enter."""
    shown = [inside for _, inside in (*spec.paths, *spec.shared)]
    above = {str(parent) for inside in (*shown, *spec.devices) for parent in Path(inside).parents}
    return sorted(above - {"/"})
