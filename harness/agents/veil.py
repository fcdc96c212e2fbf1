"""The program that starts an agent's child behind a veil: the rest of the machine as it is, the gold out of sight.

Runs as `python veil.py SETTINGS PROGRAM…` (settings as JSON). Three processes: the outer one masks paths in a mount
namespace of its own and watches the lifeline; the inner one is process 1 of a process namespace, so that no process
of the harness can be named; the agent runs below both in a user namespace, from where the masks cannot be
lifted even by root.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import stat
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from sqlassay.cases.paths import asks
from sqlassay.harness.agents.mounts import Mount, aliases, read_mounts
from sqlassay.sandboxes.process.launcher import (
    CLONE_NEWNS,
    CLONE_NEWPID,
    CLONE_NEWUSER,
    KEPT_FLAGS,
    MS_BIND,
    MS_NODEV,
    MS_NOSUID,
    MS_PRIVATE,
    MS_RDONLY,
    MS_REC,
    MS_REMOUNT,
    PR_SET_NO_NEW_PRIVS,
    PR_SET_PDEATHSIG,
    call,
    mount,
)

MS_NOEXEC = 8
_RAW_DEVICES = ("sg", "ng", "bsg")
"""Character devices that read a disk as block devices do."""

_PROC_KNOBS = ("/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs")


def main(settings: Mapping[str, Any], program: Sequence[str]) -> int:
    """Build the veil, run the program behind it, and end as it ended."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _enter()
    mount("none", "/", "", MS_REC | MS_PRIVATE)
    _cover(settings["hidden"], settings["frozen"])
    ended, tell = os.pipe()
    inner = os.fork()
    if inner == 0:
        _guarded(lambda: _inner(program, tell))
    os.close(tell)
    if ended not in select.select([ended, *settings["lifelines"]], [], [])[0]:
        os.kill(inner, signal.SIGKILL)
    status = os.read(ended, 16)
    os.waitpid(inner, 0)
    return _end_as(int(status or b"9"))


def _enter() -> None:
    """Leave the host's mounts and, for children, its processes; who is not root needs a user namespace for that."""
    flags = CLONE_NEWNS | CLONE_NEWPID
    if os.geteuid() == 0:
        call("unshare", flags)
        return
    uid, gid = os.geteuid(), os.getegid()
    call("unshare", flags | CLONE_NEWUSER)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")


def _cover(hidden: Sequence[str], frozen: Sequence[str]) -> None:
    """Mask what is hidden, wherever it is mounted, and what leads around the masks; freeze what we run ourselves."""
    for path in frozen:
        mount(path, path, "", MS_BIND | MS_REC)
        _read_only(path)
    mounts = read_mounts()
    for path in {name for one in hidden for name in aliases(one, mounts)}:
        _mask(path)
    for path in _raw_disks("/dev"):
        mount("/dev/null", path, "", MS_BIND)
    for path in _foreign_proc(mounts):
        _mask(path)
    if os.geteuid() == 0 and _owns_machine():
        # Root may write to files of the kernel that run programs or trace processes outside every namespace.
        for place in sorted({m.point for m in mounts if m.point == "/sys" or m.point.startswith("/sys/")}):
            _read_only(place)


def _mask(path: str) -> None:
    """Put an empty folder or an empty file over a path."""
    if asks(Path(path).is_dir):
        mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY, "mode=0755,size=4k")
    elif asks(Path(path).exists):
        mount("/dev/null", path, "", MS_BIND)


def _read_only(path: str) -> None:
    """Make a mount read-only; flags that a user namespace may not drop are kept."""
    present = os.statvfs(path).f_flag
    kept = sum(flag for bit, flag in KEPT_FLAGS.items() if present & bit)
    mount("none", path, "", MS_BIND | MS_REMOUNT | MS_RDONLY | kept)


def _raw_disks(folder: str) -> Iterator[str]:
    """Yield every device below a folder through which a disk is read past its file system."""
    for place, _, names in os.walk(folder):
        for path in (f"{place}/{name}" for name in names):
            mode = os.lstat(path).st_mode
            if stat.S_ISBLK(mode) or (stat.S_ISCHR(mode) and os.path.relpath(path, folder).startswith(_RAW_DEVICES)):
                yield path


def _foreign_proc(mounts: Sequence[Mount]) -> Iterator[str]:
    """Yield every place outside /proc where the processes of the host are mounted once more."""
    for one in mounts:
        if one.kind == "proc" and one.point != "/proc" and not one.point.startswith("/proc/"):
            yield one.point


def _owns_machine() -> bool:
    """Return whether our root is the machine's root, not that of a user namespace."""
    return Path("/proc/self/uid_map").read_text().split() == ["0", "0", "4294967295"]


def _guarded(work: Callable[[], int]) -> None:
    """Run one forked process's part and leave without ever returning into the parent's code."""
    code = 1
    try:
        code = work()
    except BaseException as error:  # noqa: BLE001 (the fork must not unwind into its parent's frames)
        os.write(2, f"{type(error).__name__}: {error}\n".encode())
    finally:
        os._exit(code)


def _inner(program: Sequence[str], tell: int) -> int:
    """Be process 1: give the agent its own /proc and user namespace, reap every orphan, say how the agent ended."""
    call("prctl", PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    for path in _PROC_KNOBS:
        if os.geteuid() == 0 and asks(Path(path).exists):
            mount(path, path, "", MS_BIND | MS_REC)
            _read_only(path)
    ready, say_ready = os.pipe()
    mapped, say_mapped = os.pipe()
    agent = os.fork()
    if agent == 0:
        os.close(ready)
        os.close(say_mapped)
        _guarded(lambda: _agent(program, say_ready, mapped))
    os.close(say_ready)
    os.close(mapped)
    if os.read(ready, 1):
        for kind in ("uid_map", "gid_map"):
            Path(f"/proc/{agent}/{kind}").write_text(_same_map(Path(f"/proc/self/{kind}").read_text()))
        os.write(say_mapped, b"1")
    while True:
        ended, status = os.wait()
        if ended == agent:
            os.write(tell, str(status).encode())
            return 0


def _same_map(ours: str) -> str:
    """Return a map that gives every id we know to itself."""
    lines = [line.split() for line in ours.splitlines()]
    return "".join(f"{inside} {inside} {count}\n" for inside, _, count in lines)


def _agent(program: Sequence[str], say_ready: int, mapped: int) -> NoReturn:
    """Enter a user namespace without rights over the mounts, and become the program."""
    call("unshare", CLONE_NEWUSER)
    os.write(say_ready, b"1")
    if not os.read(mapped, 1):
        raise OSError("the user namespace got no map")
    call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    os.execv(program[0], list(program))  # noqa: S606 - the agent itself


def _end_as(status: int) -> int:
    """Return the agent's exit code, or die of the signal it died of."""
    if os.WIFSIGNALED(status):
        os.kill(os.getpid(), os.WTERMSIG(status))
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1]), sys.argv[2:]))
