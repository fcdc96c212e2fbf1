"""A weaker jail, for machines that allow no namespaces, as a container by default: a user, limits and a filter alone.

Nobody gets it who did not name it: what it leaves open is in every report.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from sqlassay.cases.errors import InfrastructureError, InputError
from sqlassay.dialect_adapters.contract import Adapter, Mode, ServerRecipe
from sqlassay.sandboxes.contract import Isolation, SnapshotImage
from sqlassay.sandboxes.process.cgroups import Caps, groups_work
from sqlassay.sandboxes.process.images import image_data
from sqlassay.sandboxes.process.interpreter import Interpreter, host_interpreter
from sqlassay.sandboxes.process.jail import NOBODY, REDUCED, Jailer, JailSpec, first_that_works
from sqlassay.sandboxes.process.library import host_library
from sqlassay.sandboxes.process.plan import FILTER, MEMORY, MIB, Plan
from sqlassay.sandboxes.scratch import Scratch

_LIMITS = (
    "a process a session, killed past its deadline",
    "address space 768 MiB a session",
    "CPU seconds",
    "no further process",
    "no new privileges",
)
_OPEN = "namespaces: a session that escapes its engine reads what its user may read on this machine"


def reduced_plan(adapter: Adapter, image: SnapshotImage, mode: Mode, *, room_mb: int) -> Plan:
    """Return how a worker for this image is started without namespaces; in WRITE mode it serves a copy on disk.

    Raises:
        InputError: the engine is a server, which a user and limits do not hold.
        InfrastructureError: no such mode, or not even this works here.
    """
    recipe = adapter.recipe
    if recipe.kind != "files":
        raise no_server(recipe)
    if mode not in recipe.serve:
        raise InfrastructureError(
            f"the reduced jail serves no '{mode.value}' mode for {adapter.name}", remedy="Use `--sandbox docker`"
        )
    interpreter = host_interpreter()
    jailer = find_reduced(interpreter)
    data = image_data(image)
    size = sum(path.stat().st_size for path in data.iterdir())
    space = size * 2 + room_mb * MIB if mode is Mode.WRITE else 0
    scratch = Scratch(REDUCED)
    try:
        spec = _laid_out(recipe, mode, interpreter, data, scratch)
    except BaseException:  # whatever ends it, the copy goes; raised again
        scratch.close()
        raise
    spec = replace(spec, argv=(*spec.argv, *jailer.user_option))
    caps = Caps(recipe.memory_mb * MIB + space, recipe.pids) if groups_work() else None
    return Plan(spec, jailer, isolation(jailer, writes=mode is Mode.WRITE, caps=caps), caps=caps, scratch=scratch)


def no_server(recipe: ServerRecipe) -> InputError:
    """Return the refusal to run a server, which a user and limits do not hold."""
    remedy = f"Use `--sandbox docker` or `--sandbox process`; {REDUCED} runs engines that are files, as sqlite is"
    return InputError(f"the reduced jail runs no server such as {recipe.dialect}", field="--sandbox", remedy=remedy)


def find_reduced(interpreter: Interpreter) -> Jailer:
    """Return the strongest reduced jail in which a program runs here: filtered before not, nobody from the start on.

    Raises:
        InfrastructureError: none does.
    """
    root = os.geteuid() == 0
    drop = f"import os, sqlite3; os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})"
    ways = [(Jailer(REDUCED, as_root=root), "import sqlite3")]
    if root:  # a Python below root's own home cannot be started by nobody: the worker gives up root itself
        ways.append((Jailer(REDUCED, as_root=False, user_option=("--user", str(NOBODY))), drop))
    program = str(interpreter.program)
    probes = [(way, JailSpec((program, "-I", "-S", "-c", code), {}, (), ())) for way, code in ways]
    return first_that_works(probes, "Use `--sandbox docker`")


def isolation(jailer: Jailer, *, writes: bool, caps: Caps | None = None) -> Isolation:
    """Say how a worker is held, and first of all what is not."""
    user = "user nobody" if os.geteuid() == 0 else "the user who runs sqlassay"
    writing = "a copy of the data on disk" if writes else "no file may grow"
    limits = (*_LIMITS, user, writing, *((FILTER,) if jailer.filtered else ()), *(caps.described if caps else ()))
    missing = (_OPEN, *(() if jailer.filtered else (FILTER,)), *(() if caps else (MEMORY,)))
    network = "no socket can be made" if jailer.filtered else "this machine's own"
    return Isolation(REDUCED, "reduced jail: a user, limits and a filter, NO namespaces", network, limits, missing)


def _laid_out(recipe: ServerRecipe, mode: Mode, interpreter: Interpreter, data: Path, scratch: Scratch) -> JailSpec:
    """Lay out the worker's files, and the data where its user could not read ours, and return what runs there."""
    root = os.geteuid() == 0
    for host, inside in recipe.extra_files:
        place = scratch.path / inside.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(host, place)
    read = scratch.path / "data" if root else data
    if root:
        shutil.copytree(data, read)
    served = scratch.path / "live" if mode is Mode.WRITE else read
    if mode is Mode.WRITE:
        served.mkdir()
    copied = ("--copy-from", str(read)) if mode is Mode.WRITE else ()
    if root:
        # Others may pass through the outer folder, and none but nobody may look into the inner one.
        scratch.folder.chmod(0o711)
        for path in (scratch.path, *scratch.path.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
            path.chmod(0o700 if path.is_dir() else 0o400)
    arguments = (part.replace("{data}", str(served)) for part in recipe.serve[mode][1:])
    env = {**recipe.env, "PYTHONPATH": _search_path(recipe, scratch.path)}
    return JailSpec((str(interpreter.program), *arguments, *copied), env, (), ())


def _search_path(recipe: ServerRecipe, laid: Path) -> str:
    """Return where the worker finds its own modules and its engine's."""
    where: Mapping[str, str] = {}
    if recipe.library is not None:
        inside = f"{recipe.library.inside}/"
        shown = [host for host, place in host_library(recipe.library).paths if place.startswith(inside)]
        where = {recipe.library.inside: str(Path(shown[0]).parent)}
    parts = recipe.env.get("PYTHONPATH", "").split(":")
    return ":".join(where.get(part, str(laid / part.lstrip("/"))) for part in parts if part)
