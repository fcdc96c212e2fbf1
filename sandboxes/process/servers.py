"""How a server of this machine is jailed: its programs, a private view of the data, limits on each of its processes."""

from __future__ import annotations

import json
import os
import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlassay.cases.errors import InfrastructureError
from sqlassay.dialect_adapters.contract import Adapter, Mode, ServerRecipe
from sqlassay.sandboxes.contract import Isolation, SnapshotImage
from sqlassay.sandboxes.process.cgroups import Caps, groups_work
from sqlassay.sandboxes.process.images import image_data, image_secret
from sqlassay.sandboxes.process.interpreter import host_interpreter
from sqlassay.sandboxes.process.jail import NOBODY, Jailer, JailSpec, find_jailer
from sqlassay.sandboxes.process.plan import FILTER, MEMORY, MIB, Plan
from sqlassay.sandboxes.process.programs import Programs, host_programs

BUILT = "built"
"""The file beside the socket that says the jail stands: from then on it may be killed."""

PASSWORD = "password"  # noqa: S105 - a file's name
OPEN_FILES = 1024
_ENTRY = Path(__file__).with_name("entry.py")
_ENTRY_INSIDE = "/opt/sqlassay/entry.py"
_DEVICES = ("/dev/null", "/dev/urandom")
_SCRATCH_MB = 256
_SPARE_MB = 256
_BUILD_MEMORY_MB = 2048
_CPU = "one cpu (cgroup)"
_CPU_AND_COUNT = "one cpu, and a count of processes of its own (cgroup)"


@dataclass(frozen=True, slots=True)
class Ground:
    """A way to jail a server here, and whether it shows data under a layer in memory or has to copy it."""

    jailer: Jailer
    layered: bool

    @property
    def description(self) -> str:
        """Return the way as a report names it."""
        return f"{self.jailer.description}, {'data layered' if self.layered else 'data copied'}"

    @property
    def owner(self) -> int:
        """Return who owns the files of an image on this machine, so that they are nobody's inside."""
        return NOBODY if self.jailer.as_root else os.geteuid()


def find_ground() -> Ground:
    """Return the way taken here: a layer over the data where the kernel gives one, else a copy.

    Raises:
        InfrastructureError: no jail works on this machine.
    """
    python = host_interpreter()
    argv = (str(python.program), "-I", "-S", "-c", "import resource")
    probe = JailSpec(argv, {}, python.paths, python.hidden, devices=_DEVICES)
    source = python.hidden[0] if python.hidden else str(Path(__file__).parent)
    try:
        return Ground(find_jailer(replace(probe, layered=((source, "/data", MIB),))), layered=True)
    except InfrastructureError:
        return Ground(find_jailer(replace(probe, writable=(("/data", MIB),))), layered=False)


def server_plan(adapter: Adapter, image: SnapshotImage, mode: Mode, *, room_mb: int) -> Plan:
    """Return how a server of this image is started; what it writes lies in memory and is gone with it.

    Raises:
        InfrastructureError: no such mode, no programs or no jail here.
    """
    recipe = adapter.recipe
    if mode not in recipe.serve or mode is Mode.BUILD:
        raise InfrastructureError(
            f"the process sandbox serves no '{mode.value}' mode for {adapter.name}", remedy="Use `--sandbox docker`"
        )
    programs, ground, data = host_programs(recipe), find_ground(), image_data(image)
    size = _size(data)
    room = size + (size + room_mb * MIB if mode is Mode.WRITE else _SCRATCH_MB * MIB)
    settings = {
        "copy": None if ground.layered else [_baked(recipe), recipe.data_dir],
        "argv": server_argv(recipe, mode, programs),
        "env": _environment(recipe, programs),
        "limits": _limits(recipe, ground, recipe.memory_mb + _SPARE_MB, room),
    }
    spec = _spec(recipe, programs.paths, ground, settings)
    if ground.layered:
        spec = replace(spec, layered=((str(data), recipe.data_dir, room),))
    else:
        baked = (str(data), _baked(recipe))
        spec = replace(spec, paths=(*spec.paths, baked), writable=((posixpath.dirname(recipe.data_dir), room),))
    serves, socket = posixpath.split(recipe.socket)
    caps = Caps(recipe.memory_mb * MIB + room, recipe.pids) if groups_work() else None
    said = _isolation(recipe, mode, ground, programs, room, caps)
    return Plan(spec, ground.jailer, said, serves, socket, image_secret(image), caps)


def build_plan(recipe: ServerRecipe, programs: Programs, ground: Ground, data: Path, password: str) -> Plan:
    """Return how the server that fills an empty data folder is started: it alone writes through to the disk."""
    serves, socket = posixpath.split(recipe.socket)
    words = _words(recipe, programs) | {"{password_file}": posixpath.join(serves, PASSWORD)}
    settings = {
        "steps": [_filled(step, words) for step in recipe.init],
        "argv": server_argv(recipe, Mode.BUILD, programs),
        "env": _environment(recipe, programs),
        "limits": _limits(recipe, ground, _BUILD_MEMORY_MB, None),
        "stop": recipe.stop_signal,
    }
    spec = _spec(recipe, (*programs.paths, *programs.shell), ground, settings)
    spec = replace(spec, shared=((str(data), recipe.data_dir),))
    isolation = _isolation(recipe, Mode.BUILD, ground, programs, 0, None)
    return Plan(spec, ground.jailer, isolation, serves, socket, password)


def server_argv(recipe: ServerRecipe, mode: Mode, programs: Programs) -> list[str]:
    """Return the server's command for a mode, with what its version is told more."""
    return [*_filled(recipe.serve[mode], _words(recipe, programs)), *programs.options]


def _words(recipe: ServerRecipe, programs: Programs) -> dict[str, str]:
    """Return what the placeholders of a recipe stand for."""
    return {"{bin}": programs.bin_dir, "{data}": recipe.data_dir, "{socket}": recipe.socket}


def _filled(argv: Sequence[str], words: Mapping[str, str]) -> list[str]:
    """Return an argv with its placeholders replaced."""
    filled = []
    for part in argv:
        for name, value in words.items():
            part = part.replace(name, value)  # noqa: PLW2901 - each placeholder in turn
        filled.append(part)
    return filled


def _environment(recipe: ServerRecipe, programs: Programs) -> dict[str, str]:
    """Return the server's environment; what is not here is not preloaded, or the loader would complain."""
    told = {"LD_LIBRARY_PATH": ":".join(programs.libraries)} if programs.libraries else {}
    return told | {name: value for name, value in recipe.env.items() if programs.preload or name != "LD_PRELOAD"}


def _limits(recipe: ServerRecipe, ground: Ground, memory_mb: int, file_bytes: int | None) -> dict[str, int]:
    """Return the limits of each process; a user's processes are counted apart in a user namespace alone."""
    found = {"AS": memory_mb * MIB, "NOFILE": OPEN_FILES, "CORE": 0}
    if file_bytes is not None:
        found["FSIZE"] = file_bytes
        if not ground.jailer.as_root:
            found["NPROC"] = recipe.pids
    return found


def _spec(
    recipe: ServerRecipe, programs: Sequence[tuple[str, str]], ground: Ground, settings: Mapping[str, Any]
) -> JailSpec:
    """Return what every jail of a server holds: interpreter, entry, programs, a user list and two devices."""
    python = host_interpreter()
    built = posixpath.join(posixpath.dirname(recipe.socket), BUILT)
    user = NOBODY if ground.jailer.user_option else None
    whole = {"user": user, "built": built, "copy": None, "steps": [], "stop": "", **settings}
    argv = (str(python.program), "-I", "-S", "-B", _ENTRY_INSIDE, json.dumps(whole))
    # By path inside: libraries of interpreter and server overlap.
    shown = {inside: host for host, inside in (*python.paths, *programs, (str(_ENTRY), _ENTRY_INSIDE))}
    paths = tuple((host, inside) for inside, host in shown.items())
    return JailSpec(argv, {"TZ": "UTC"}, paths, python.hidden, devices=_DEVICES)


def _baked(recipe: ServerRecipe) -> str:
    """Return where the data lies that is copied: beside the folder that is written, not in it."""
    return f"{posixpath.dirname(recipe.data_dir)}-baked"


def _size(data: Path) -> int:
    """Return the bytes of a data folder."""
    return sum(path.lstat().st_size for path in data.rglob("*") if path.is_file())


def _isolation(
    recipe: ServerRecipe, mode: Mode, ground: Ground, programs: Programs, room: int, caps: Caps | None
) -> Isolation:
    """Say how a server is isolated, and which limits are off here."""
    alone = not ground.jailer.as_root
    limits = (
        f"{recipe.dialect} {programs.version} ({programs.source})",
        *(caps.described if caps else (f"{recipe.pids} processes",) if alone else ()),
        f"address space {recipe.memory_mb + _SPARE_MB} MiB a process",
        f"{OPEN_FILES} open files",
        "no shell",
        "read-only view of interpreter and server",
        "user nobody",
        "engine without write privilege" if mode is Mode.READ else "",
        f"{'what it writes' if ground.layered else 'a copy of the data'} in memory, {room // MIB} MiB at most",
        FILTER if ground.jailer.filtered else "",
    )
    missing = (
        "" if ground.jailer.filtered else FILTER,
        *(() if caps else (MEMORY, _CPU if alone else _CPU_AND_COUNT)),
        "" if programs.preload else "a clock that can be pinned (libfaketime)",
    )
    return Isolation("process", ground.description, "none", tuple(filter(None, limits)), tuple(filter(None, missing)))
