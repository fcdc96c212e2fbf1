"""What an agent's child must not see, what it needs to start at all, and the command that puts a veil between."""

from __future__ import annotations

import json
import os
import site
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlassay.cases.paths import asks
from sqlassay.harness.agents import veil

_PROBE_SECONDS = 20
_PACKAGE = Path(__file__).parents[2]
_ROOMS = ("harness", "sandboxes", "dialect_adapters", "cases")
# Whoever may speak to these starts processes outside the veil; the folders hold the disks of our own containers.
_STARTERS = (
    "/run/docker.sock",
    "/run/docker",
    "/run/containerd",
    "/run/podman",
    "/run/systemd/private",
    "/run/dbus/system_bus_socket",
    "/var/lib/docker",
    "/var/lib/containerd",
    "/var/lib/containers",
)
_HISTORIES = (".git", ".hg", ".svn", ".jj")
_USER_STARTERS = ("docker.sock", "podman", "bus", "systemd", "containerd")


@dataclass(frozen=True, slots=True)
class Veil:
    """Paths that are masked and paths that are read-only for a child."""

    hidden: tuple[str, ...]
    frozen: tuple[str, ...]

    def command(self, program: Sequence[str], *lifelines: int) -> list[str]:
        """Return the command that runs a program behind this veil, for as long as no lifeline's other end closes."""
        settings = {"hidden": self.hidden, "frozen": self.frozen, "lifelines": lifelines}
        return [sys.executable, "-P", veil.__file__, json.dumps(settings), *program]


def veil_for(
    place: str, folder: Path, hide: Sequence[Path], *, engine: str = ""
) -> tuple[Veil | None, tuple[str, ...]]:
    """Return the veil for an agent's module or file, None where this machine allows none, and what stays visible.

    A folder in which the agent itself lives cannot be masked whole; the paths inside it that are named are. `engine`
    is the address of the container engine in use, which could start a process that sees everything.
    """
    needed = _needed(place, folder)
    named = sorted({path.resolve() for path in (*hide, *_histories(hide))})
    masked = [path for path in named if not any(one.is_relative_to(path) for one in needed)]
    open_folders = [path for path in named if path not in masked]
    seen = [path for path in open_folders if not any(one.is_relative_to(path) for one in masked)]
    linked = [path for path in masked if path.is_file() and path.stat().st_nlink > 1]
    problems = (
        *(f"the agent can read {path}: it lives there itself" for path in seen),
        *(f"the agent can read {path} under another name: the file has hard links" for path in linked),
    )
    # A mask over a folder hides what is in it: the hundreds of earlier runs in one folder need one mask.
    outer = [path for path in masked if not any(one in path.parents for one in masked)]
    made = Veil(tuple(str(path) for path in (*outer, *_starters(engine))), _frozen())
    fault = _fault(made)
    if fault:
        reason = f"the agent's process could read the gold: no namespaces for it on this machine ({fault})"
        return None, (reason, *problems)
    return made, problems


def _histories(paths: Sequence[Path]) -> Iterator[Path]:
    """Yield the version control folders that keep what is hidden, as an agent could ask for the committed file."""
    for parent in {parent for path in paths for parent in path.resolve().parents}:
        for name in _HISTORIES:
            place = parent / name
            if asks(place.is_file):
                yield from _common_folder(place)
            elif asks(place.is_dir):
                yield place


def _common_folder(pointer: Path) -> Iterator[Path]:
    """Yield the repository that the `.git` file of a linked working tree points to."""
    folder = pointer.parent / pointer.read_text(errors="replace").removeprefix("gitdir:").strip()
    common = folder / "commondir"
    yield folder / common.read_text(errors="replace").strip() if common.is_file() else folder


def _needed(place: str, folder: Path) -> tuple[Path, ...]:
    """Return the folders a child must be able to read: those of Python and those of the agent."""
    if place.endswith(".py"):
        own = [(folder / place).resolve().parent]
    else:
        module = folder.joinpath(*place.split("."))
        own = [folder, *(path.resolve().parent for path in (module, module.with_suffix(".py")) if path.exists())]
    python = [Path(path) for path in (sys.prefix, sys.base_prefix, *sys.path) if path and Path(path).exists()]
    return tuple(path.resolve() for path in (*own, *python))


def _starters(engine: str) -> tuple[Path, ...]:
    """Return what would start a process outside the veil and can be reached here."""
    user = Path(f"/run/user/{os.getuid()}")
    paths = [*map(Path, _STARTERS), *(user / name for name in _USER_STARTERS)]
    if engine.startswith("unix://"):
        paths.append(Path(engine.removeprefix("unix://")))
    return tuple(path.resolve() for path in paths if asks(path.exists))


def _frozen() -> tuple[str, ...]:
    """Return what the harness itself will still import or run: an agent that rewrites it would run as the harness."""
    paths = [
        Path(sys.prefix),
        Path(sys.base_prefix),
        Path(site.getusersitepackages()),
        _PACKAGE,
        *(_PACKAGE / name for name in _ROOMS),  # in a checkout these are links
    ]
    return tuple(dict.fromkeys(str(path.resolve()) for path in paths if path.exists()))


def _fault(made: Veil) -> str:
    """Return why nothing can be run behind a veil here ("" = it can)."""
    command = made.command([sys.executable, "-I", "-S", "-c", "pass"])
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=_PROBE_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return type(error).__name__
    if done.returncode == 0:
        return ""
    return (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]
