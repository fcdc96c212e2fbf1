"""Jail a program by namespaces with the standard library alone, where bubblewrap is not installed.

Runs as `python3 launcher.py SETTINGS` (JSON) and imports nothing of the project. It waits for the program, which is
process 1 of its own namespace; when either dies, the kernel ends the other.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x00020000, 0x04000000, 0x08000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
KEPT_FLAGS = {2: 2, 4: 4, 8: 8, 1024: 1024, 2048: 2048, 4096: 1 << 21}
"""statvfs flags a user namespace may not drop on remount (nosuid, nodev, noexec, atime kinds), as mount flags."""

WRITABLE = MS_NOSUID | MS_NODEV | MS_NOEXEC
MNT_DETACH = 2
PR_SET_PDEATHSIG, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 1, 22, 38
SECCOMP_MODE_FILTER = 2
BASE = "/tmp"  # noqa: S108 - only covered by a private mount, never written to

_libc = ctypes.CDLL(None, use_errno=True)


def call(name: str, *arguments: Any) -> None:
    """Call one function of the C library.

    Raises:
        OSError: it failed.
    """
    if getattr(_libc, name)(*arguments) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    """Mount one thing."""
    call("mount", source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), options.encode())


def enter_namespaces(uid: int, *, user_namespace: bool) -> None:
    """Leave the host's mounts, network, processes, IPC and names; map ourselves to `uid` where not root."""
    flags = CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWPID | CLONE_NEWNET
    outer_uid, outer_gid = os.geteuid(), os.getegid()
    call("unshare", flags | (CLONE_NEWUSER if user_namespace else 0))
    if user_namespace:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{uid} {outer_uid} 1")
        Path("/proc/self/gid_map").write_text(f"{uid} {outer_gid} 1")


class FilterProgram(ctypes.Structure):
    """The kernel's `struct sock_fprog`: how many instructions, and where."""

    _fields_: ClassVar[Sequence[tuple[str, Any]]] = [("length", ctypes.c_ushort), ("code", ctypes.c_char_p)]


def filter_calls(program: bytes) -> None:
    """Have the kernel refuse what the filter refuses, to us and to all that come from us, for good."""
    value = FilterProgram(len(program) // 8, program)
    call("prctl", PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(value), 0, 0)


def build_view(settings: Mapping[str, Any]) -> None:
    """Make a root that holds the given paths read-only, room to write where told and nothing else; move into it."""
    mount("none", "/", "", MS_REC | MS_PRIVATE)
    paths = [*settings["paths"], *([device, device] for device in settings["devices"])]
    shown = [(os.open(host, os.O_PATH), host, inside) for host, inside in paths]
    shared = [(os.open(host, os.O_PATH), inside) for host, inside in settings["shared"]]
    layered = [(os.open(host, os.O_PATH), inside, size) for host, inside, size in settings["layered"]]
    mount("tmpfs", BASE, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=1m")
    for handle, host, inside in shown:
        show(handle, host, Path(BASE + inside))
    for folder in settings["hidden"]:
        mount("tmpfs", BASE + folder, "tmpfs", MS_NOSUID | MS_NODEV | MS_RDONLY, "mode=0755,size=4k")
    for folder, size in settings["writable"]:
        Path(BASE + folder).mkdir(parents=True, exist_ok=True)
        mount("tmpfs", BASE + folder, "tmpfs", WRITABLE, f"mode=0777,size={size}")
    for handle, inside in shared:
        share(handle, BASE + inside)
    for handle, inside, size in layered:
        layer(handle, BASE + inside, size)
    os.chdir(BASE)
    call("pivot_root", b".", b".")
    call("umount2", b".", MNT_DETACH)
    os.chdir("/")
    mount("none", "/", "", MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV)


def share(handle: int, target: str) -> None:
    """Bind a folder of the host so that it can be written, but holds no device and no program."""
    Path(target).mkdir(parents=True, exist_ok=True)
    mount(f"/proc/self/fd/{handle}", target, "", MS_BIND)
    present = os.statvfs(target).f_flag
    kept = sum(flag for bit, flag in KEPT_FLAGS.items() if present & bit)
    mount("none", target, "", MS_BIND | MS_REMOUNT | WRITABLE | kept)
    os.close(handle)


def layer(handle: int, target: str, size: int) -> None:
    """Show a folder of the host under a layer in memory that takes all that is written; its owner stays."""
    room = Path(f"{target}-room")
    for folder in (Path(target), room):
        folder.mkdir(parents=True, exist_ok=True)
    mount("tmpfs", str(room), "tmpfs", WRITABLE, f"mode=0755,size={size}")
    upper, work = room / "upper", room / "work"
    upper.mkdir()
    work.mkdir()
    status = os.fstat(handle)
    os.chown(upper, status.st_uid, status.st_gid)
    upper.chmod(status.st_mode & 0o777)
    # The names of our own folders hold nothing that the mount's options would read as more than a name.
    places = f"lowerdir=/proc/self/fd/{handle},upperdir={upper},workdir={work}"
    mount("overlay", target, "overlay", WRITABLE, f"{places},userxattr")
    os.close(handle)


def show(handle: int, host: str, target: Path) -> None:
    """Bind one file or folder of the host read-only."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if Path(f"/proc/self/fd/{handle}").is_dir():
        target.mkdir(exist_ok=True)
    else:
        target.touch()
    mount(f"/proc/self/fd/{handle}", str(target), "", MS_BIND)
    present = os.statvfs(target).f_flag
    kept = sum(flag for bit, flag in KEPT_FLAGS.items() if present & bit)
    try:
        mount("none", str(target), "", MS_BIND | MS_REMOUNT | MS_RDONLY | kept)
    except OSError as error:
        raise OSError(error.errno, f"cannot make {host} read-only: {error.strerror}") from error
    os.close(handle)


def become(uid: int, *, user_namespace: bool) -> None:
    """Give up root for good and die with the launcher."""
    if not user_namespace:
        os.setgroups([])
        os.setgid(uid)
        os.setuid(uid)
    call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    call("prctl", PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def reduce(settings: Mapping[str, Any]) -> None:
    """Become the program without a wall around it: as nobody where we were root, unable to gain rights or to call much.

    One that gives up root itself is not made nobody here.
    """
    become(settings["uid"], user_namespace=bool(settings["user_namespace"]))
    if settings["filter"]:
        filter_calls(bytes.fromhex(settings["filter"]))
    os.execve(settings["argv"][0], settings["argv"], settings["env"])  # noqa: S606 - the jailed program itself


def main(settings: Mapping[str, Any]) -> int:
    """Build the jail, run the program as its process 1 and return its exit code."""
    if settings["reduced"]:
        reduce(settings)
    user_namespace = bool(settings["user_namespace"])
    call("prctl", PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    enter_namespaces(settings["uid"], user_namespace=user_namespace)
    build_view(settings)
    pid = os.fork()
    if pid == 0:
        os.setsid()
        become(settings["uid"], user_namespace=user_namespace)
        if settings["filter"]:
            filter_calls(bytes.fromhex(settings["filter"]))
        os.execve(settings["argv"][0], settings["argv"], settings["env"])  # noqa: S606 - the jailed program itself
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status) & 0xFF


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
