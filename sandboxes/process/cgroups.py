"""Limits over all processes of one jail together, where this process may make control groups: as root, as a rule."""

from __future__ import annotations

import contextlib
import re
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from uuid import uuid4

ROOT = Path("/sys/fs/cgroup")
_OWN = Path("/proc/self/cgroup")
_PREFIX = "sqlassay-"
_HOME = "sqlassay"
_CONTROLLERS = ("memory", "pids", "cpu")
_PERIOD = 100_000
_PLAIN = re.compile(r"[\w./:@+-]+")
"""Names that a shell reads as they are."""

_JOIN = 'for place in $PLACES; do echo $$ > "$place" || exit 125; done; unset PLACES; exec "$@"'
_LOOK_SECONDS = 0.01
_EMPTY_SECONDS = 5.0
_JOINED_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Group:
    """The folders of one group, one a hierarchy; whoever joins them is under their limits, children included."""

    folders: tuple[Path, ...]

    def joining(self, command: Sequence[str]) -> tuple[str, ...]:
        """Return the command that joins the group before it becomes the given one."""
        places = " ".join(str(folder / "cgroup.procs") for folder in self.folders)
        return ("/bin/sh", "-c", f"PLACES='{places}'; {_JOIN}", "sh", *command)

    def killed(self) -> bool:
        """Return True where the kernel killed one of its processes for memory."""
        return any(_count(folder / name) for folder in self.folders for name in ("memory.events", "memory.oom_control"))

    def remove(self) -> None:
        """Remove the group once its last process is gone; a process that lingers is waited for shortly."""
        remove(self.folders)


def remove(folders: Sequence[Path]) -> None:
    """Remove group folders of ours, and nothing that does not bear our name."""
    until = time.monotonic() + _EMPTY_SECONDS
    for folder in folders:
        while folder.name.startswith(_PREFIX):
            try:
                folder.rmdir()
            except FileNotFoundError:
                break
            except OSError:
                if time.monotonic() > until:
                    break
                time.sleep(_LOOK_SECONDS)


def remove_forgotten(*, root: Path = ROOT, own: Path = _OWN) -> None:
    """Remove groups of ours that nothing runs in: whoever made one died before it was written down.

    The kernel removes no group that has a process, and none is made here that nobody joins within a minute.
    """
    with contextlib.suppress(OSError, LookupError, ValueError):
        for home in _homes(root, own):
            for folder in home.glob(f"{_PREFIX}*"):
                if time.time() - folder.stat().st_ctime > _JOINED_SECONDS:
                    with contextlib.suppress(OSError):
                        folder.rmdir()


@dataclass(frozen=True, slots=True)
class Caps:
    """What all processes of a jail may use together."""

    memory_bytes: int
    processes: int
    cpus: int = 1

    @property
    def described(self) -> tuple[str, ...]:
        """Return the caps in words, for the report."""
        memory = self.memory_bytes // (1024 * 1024)
        return f"memory {memory} MiB over all processes", f"{self.processes} processes", f"{self.cpus} cpu"


def make_group(caps: Caps, *, root: Path = ROOT, own: Path = _OWN) -> Group | None:
    """Return a group with these caps, None where one of them cannot be set here: half a group is none."""
    name = f"{_PREFIX}{uuid4().hex[:12]}"
    made: list[Path] = []
    try:
        homes = tuple(_homes(root, own))
        if not all(_PLAIN.fullmatch(str(home)) for home in homes):
            return None
        for home in homes:
            (home / name).mkdir()
            made.append(home / name)
        _limit(made, caps)
    except (OSError, LookupError, ValueError):
        remove(made)
        return None
    return Group(tuple(made))


def _homes(root: Path, own: Path) -> Iterator[Path]:
    """Yield the folders in which groups are made.

    With a hierarchy a controller, below our own group, so that no limit we are under is left. With one for all, beside
    it: a group that has processes hands on no controllers. Those handed on there already are taken, none is switched on
    but in a folder of ours.
    """
    if (root / "cgroup.controllers").is_file():
        home = root / _HOME
        home.mkdir(exist_ok=True)
        (home / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in _CONTROLLERS), "ascii")
        yield home
        return
    lines = (line.split(":", 2) for line in own.read_text("utf-8").splitlines())
    paths = {name: path for _, names, path in lines for name in names.split(",")}
    for controller in _CONTROLLERS:
        yield root / controller / paths[controller].lstrip("/")


def _limit(folders: Sequence[Path], caps: Caps) -> None:
    """Write the limits; memory is not swapped out instead.

    Raises:
        OSError: one cannot be set.
    """
    if len(folders) == 1:
        (folder,) = folders
        _write(folder / "memory.max", caps.memory_bytes)
        with contextlib.suppress(FileNotFoundError):  # a kernel without swap accounting
            _write(folder / "memory.swap.max", 0)
        _write(folder / "pids.max", caps.processes)
        _write(folder / "cpu.max", f"{caps.cpus * _PERIOD} {_PERIOD}")
        return
    memory, pids, cpu = folders
    _write(memory / "memory.limit_in_bytes", caps.memory_bytes)
    with contextlib.suppress(FileNotFoundError):
        _write(memory / "memory.memsw.limit_in_bytes", caps.memory_bytes)
    _write(pids / "pids.max", caps.processes)
    _write(cpu / "cpu.cfs_period_us", _PERIOD)
    _write(cpu / "cpu.cfs_quota_us", caps.cpus * _PERIOD)


def _write(path: Path, value: object) -> None:
    """Write one limit into a file that the kernel made; anything else is not a control group."""
    with path.open("r+", encoding="ascii") as stream:
        stream.write(str(value))


def _count(path: Path) -> int:
    """Return how many processes a group's counter says were killed, 0 where it has none."""
    try:
        lines = path.read_text("ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)


@cache
def groups_work() -> bool:
    """Return whether a process of ours can be put under all limits here: seen by doing it once."""
    group = make_group(Caps(64 * 1024 * 1024, 8))
    if group is None:
        return False
    try:
        done = subprocess.run(
            group.joining(("/bin/sh", "-c", "exit 0")), stdin=subprocess.DEVNULL, capture_output=True, check=False,
            timeout=10,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return False
    finally:
        group.remove()
    return done.returncode == 0
