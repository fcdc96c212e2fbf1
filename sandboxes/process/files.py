"""How a worker that reads database files itself is jailed: the interpreter, its own files, and the data read-only."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sqlassay.cases.errors import InfrastructureError
from sqlassay.dialect_adapters.contract import Adapter, Mode, ServerRecipe
from sqlassay.sandboxes.contract import Isolation, SnapshotImage
from sqlassay.sandboxes.process.cgroups import Caps, groups_work
from sqlassay.sandboxes.process.images import image_data
from sqlassay.sandboxes.process.interpreter import Interpreter, host_interpreter
from sqlassay.sandboxes.process.jail import Jailer, JailSpec, find_jailer
from sqlassay.sandboxes.process.library import host_library
from sqlassay.sandboxes.process.plan import FILTER, MEMORY, MIB, Plan

_LIMITS = (
    "a process a session, killed past its deadline",
    "address space 768 MiB a session",
    "CPU seconds",
    "no further process",
    "read-only view of interpreter and data",
    "user nobody",
)


def files_plan(adapter: Adapter, image: SnapshotImage, mode: Mode, *, room_mb: int) -> Plan:
    """Return how a worker for this image is started; in WRITE mode it serves a copy with so much room to grow.

    Raises:
        InfrastructureError: no such mode, or no jail works here.
    """
    if mode not in adapter.recipe.serve:
        raise InfrastructureError(
            f"the process sandbox serves no '{mode.value}' mode for {adapter.name}", remedy="Use `--sandbox docker`"
        )
    space = _space(image) + room_mb * MIB if mode is Mode.WRITE else 0
    spec = _spec(adapter.recipe, mode, host_interpreter(), image_data(image), space)
    jailer = find_jailer(_probe(spec))
    caps = Caps(adapter.recipe.memory_mb * MIB + space, adapter.recipe.pids) if groups_work() else None
    # The worker itself gives up root where the way to jail leaves that to it.
    spec = replace(spec, argv=(*spec.argv, *jailer.user_option))
    return Plan(spec, jailer, isolation(jailer, space, caps), caps=caps)


def files_jailer(recipe: ServerRecipe) -> Jailer:
    """Return the way a worker of this recipe is jailed here.

    Raises:
        InputError: its engine's package is not installed.
        InfrastructureError: no jail works here.
    """
    return find_jailer(_probe(_spec(recipe, Mode.READ, host_interpreter(), Path(recipe.data_dir), 0)))


def _spec(recipe: ServerRecipe, mode: Mode, interpreter: Interpreter, data: Path, space: int) -> JailSpec:
    """Return what the jail holds: interpreter, standard library, engine, the recipe's own files, data, room to write.

    Where there is room to write, the worker serves a copy of the data in it.
    """
    own = tuple((str(host), inside) for host, inside in recipe.extra_files)
    engine = host_library(recipe.library).paths if recipe.library else ()
    shown = {inside: host for host, inside in (*engine, *interpreter.paths, *own)}
    served = f"{recipe.data_dir}-live" if space else recipe.data_dir
    copied = ("--copy-from", recipe.data_dir) if space else ()
    arguments = (part.replace("{data}", served) for part in recipe.serve[mode][1:])
    return JailSpec(
        argv=(str(interpreter.program), *arguments, *copied),
        env=recipe.env,
        paths=(*((host, inside) for inside, host in shown.items()), (str(data), recipe.data_dir)),
        hidden=interpreter.hidden,
        writable=((served, space),) if space else (),
    )


def _probe(spec: JailSpec) -> JailSpec:
    """Return the same jail around next to nothing, without data: one answer serves every image."""
    writable = tuple((folder, MIB) for folder, _ in spec.writable)
    return replace(spec, argv=(spec.argv[0], "-c", "import sqlite3"), paths=spec.paths[:-1], writable=writable)


def _space(image: SnapshotImage) -> int:
    """Return the bytes that a copy of an image's data takes, journals of a change to all of it included."""
    return sum(path.stat().st_size for path in image_data(image).iterdir()) * 2


def isolation(jailer: Jailer, space: int, caps: Caps | None = None) -> Isolation:
    """Say how a worker is isolated, and which limits are off here."""
    writing = f"a copy of the data in memory, {space // MIB} MiB at most" if space else "no file may be written"
    limits = (*_LIMITS, writing, *((FILTER,) if jailer.filtered else ()), *(caps.described if caps else ()))
    missing = (*(() if jailer.filtered else (FILTER,)), *(() if caps else (MEMORY,)))
    return Isolation("process", jailer.description, "none", limits, missing)
