"""What works on this machine, as facts: `sqlassay doctor` prints them with the line that fixes what does not."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlassay.cases.errors import EngineUnavailableError, InfrastructureError, InputError
from sqlassay.dialect_adapters.contract import HostLibrary, ServerRecipe
from sqlassay.dialect_adapters.registry import adapter, names
from sqlassay.sandboxes import apt
from sqlassay.sandboxes.cache import cache_dir

if TYPE_CHECKING:
    from sqlassay.sandboxes.contract import BaseImage
    from sqlassay.sandboxes.docker.client import Engine

_NEEDED_FREE_MB = 2048
_MB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Finding:
    """One fact: what was found, whether it is as it should be, the line that fixes it, whether a dialect needs it."""

    name: str
    ok: bool
    found: str
    fix: str = ""
    decides: bool = False


def examine() -> tuple[Finding, ...]:
    """Return every fact about this machine, for every installed dialect."""
    recipes = tuple(adapter(name).recipe for name in names())
    contained = tuple(recipe for recipe in recipes if recipe.library is None)
    return (*machine_findings(), *process_findings(recipes), *container_findings(contained))


def process_findings(recipes: Sequence[ServerRecipe]) -> tuple[Finding, ...]:
    """Return whether file-based engines and this machine's own servers can run in a jail here, and by which method."""
    from sqlassay.sandboxes.process.interpreter import host_interpreter
    from sqlassay.sandboxes.process.jail import JailSpec, find_jailer, refuse_elsewhere

    try:
        refuse_elsewhere()
    except InfrastructureError as fault:
        return (Finding("jailed process", False, fault.message, fault.remedy, decides=True),)
    try:
        here = host_interpreter()
        jailer = find_jailer(JailSpec((str(here.program), "-c", "import sqlite3"), {}, here.paths, here.hidden))
    except InfrastructureError as fault:
        return (Finding("jailed process", False, fault.message, fault.remedy, decides=True), *_reduced())
    files = Finding("jailed process", True, f"{jailer.description}, SQLite {here.sqlite_version}", decides=True)
    servers = (_jailed_server(recipe) for recipe in recipes if recipe.host is not None)
    return (files, *servers, *(_library(recipe.library) for recipe in recipes if recipe.library is not None))


def _reduced() -> tuple[Finding, ...]:
    """Return whether at least the weaker jail works, which is taken by name alone."""
    from sqlassay.sandboxes.process.interpreter import host_interpreter
    from sqlassay.sandboxes.process.reduced import find_reduced, isolation

    try:
        found = isolation(find_reduced(host_interpreter()), writes=False)
    except InfrastructureError as fault:
        return (Finding("reduced jail", False, fault.message, fault.remedy),)
    return (Finding("reduced jail", True, f"`--sandbox reduced`, weaker; off: {'; '.join(found.missing)}"),)


def _library(wanted: HostLibrary) -> Finding:
    """Return whether an engine that is a Python package is installed; only those who name it need it."""
    from sqlassay.sandboxes.process.library import host_library

    name = f"package {wanted.distribution}"
    try:
        return Finding(name, True, f"{wanted.distribution} {host_library(wanted).version}, for jailed workers")
    except InputError as fault:
        return Finding(name, False, fault.message, fault.remedy)


def _jailed_server(recipe: ServerRecipe) -> Finding:
    """Return whether a server of this machine's own can be jailed here, from which programs and with which gaps."""
    from sqlassay.sandboxes.process.programs import host_programs
    from sqlassay.sandboxes.process.servers import find_ground

    name = f"jailed {recipe.dialect}"
    try:
        programs, ground = host_programs(recipe), find_ground()
    except InfrastructureError as fault:
        return Finding(name, False, fault.message, fault.remedy, decides=True)
    how = f"{recipe.dialect} {programs.version} ({programs.source}), {ground.description}"
    clock = "" if programs.preload else "; its clock cannot be pinned without libfaketime"
    return Finding(name, True, f"{how}{clock}", decides=True)


def container_findings(recipes: Sequence[ServerRecipe]) -> tuple[Finding, ...]:
    """Return the facts about the container engine, its limits and the base images of these recipes."""
    # Imported here: the client library costs 0.4 s, which nobody else should pay.
    from sqlassay.sandboxes.docker.client import connect

    try:
        engine = connect(timeout=10)
    except EngineUnavailableError as fault:
        return (Finding("container engine", False, fault.message, fault.remedy, decides=True),)
    try:
        return (*_engine(engine), *_runtimes(engine, recipes), *(_base(engine, recipe) for recipe in recipes))
    finally:
        engine.api.close()


def _engine(engine: Engine) -> tuple[Finding, ...]:
    """Return whether the engine answers, shares sockets and enforces every limit."""
    from sqlassay.sandboxes.docker import runtimes
    from sqlassay.sandboxes.docker.limits import missing

    facts = engine.facts
    found = f"{facts.get('ServerVersion', 'unknown')} at {engine.address}, cgroup v{facts.get('CgroupVersion', '1')}"
    rootless = runtimes.is_rootless(facts)
    off = missing(facts)
    channel = "unix sockets, no network" if engine.shares_sockets else "ports published on the engine's host"
    fix = _limits_remedy(rootless=rootless) if off else ""
    return (
        Finding("container engine", True, found + (", rootless" if rootless else ""), decides=True),
        Finding("container channel", True, channel),
        Finding("container runtimes", True, runtimes.described(facts)),
        Finding("container limits", not off, f"off: {', '.join(off)}" if off else "all enforced", fix),
    )


def _runtimes(engine: Engine, recipes: Sequence[ServerRecipe]) -> list[Finding]:
    """Return whether each runtime that was added starts a container, and can be met at a socket where we use those."""
    from sqlassay.sandboxes.docker import runtimes, trial

    found = []
    added = runtimes.added(engine.facts)
    image = _any_image(engine, recipes) if added else ""
    for runtime in added:
        name = f"container runtime {runtime}"
        if not image:
            found.append(Finding(name, True, "not tried: there is no base image here yet"))
        elif refusal := trial.refusal(engine, runtime, image):
            found.append(Finding(name, False, refusal, "Correct its entry in the engine's configuration, or leave it"))
        elif engine.shares_sockets and (remedy := runtimes.socket_remedy(runtime, engine.facts)):
            found.append(Finding(name, False, "starts containers whose sockets nobody outside can reach", remedy))
        else:
            found.append(Finding(name, True, "starts containers"))
    return found


def _any_image(engine: Engine, recipes: Sequence[ServerRecipe]) -> str:
    """Return an image that a container can be started from, empty where the engine has none of ours."""
    for recipe in recipes:
        with contextlib.suppress(InputError):  # said of that image in a line of its own
            if base := _local(engine, recipe):
                return base.ref
    return ""


def _local(engine: Engine, recipe: ServerRecipe) -> BaseImage | None:
    """Return the dialect's base image where the engine has one.

    Raises:
        InputError: the file that locks images is damaged.
    """
    from sqlassay.sandboxes.contract import BaseImage
    from sqlassay.sandboxes.images.local import LocalSource
    from sqlassay.sandboxes.images.lock import ImagesLock

    cache = cache_dir()
    found = LocalSource(engine.api, ImagesLock(cache / "images.lock", cache / "locks")).find(recipe, _silent)
    return found if isinstance(found, BaseImage) else None


def _limits_remedy(*, rootless: bool) -> str:
    """Return the line that brings missing limits back."""
    if rootless:
        return "Delegate the controllers: systemctl edit user@.service, [Service] Delegate=cpu cpuset memory pids"
    return "Boot the kernel with cgroup_enable=memory swapaccount=1, and the engine with its default seccomp profile"


def _base(engine: Engine, recipe: ServerRecipe) -> Finding:
    """Return where a dialect's base image is, or will be had from."""
    name = f"base image for {recipe.dialect}"
    try:
        local = _local(engine, recipe)
    except InputError as fault:
        return Finding(name, False, fault.message, fault.remedy)
    if local:
        return Finding(name, True, f"{local.ref} ({local.version or 'version unknown'})")
    buildable = bool(apt.mirrors()) and (shutil.which("mmdebstrap") is not None or apt.can_install())
    if buildable:
        return Finding(name, True, "is built from Debian packages on first use, about 30 s")
    return Finding(name, False, "not here yet", f"docker pull {recipe.registry_image}")


def _silent(line: str) -> None:
    """Take a phase line and say nothing: looking is no phase."""


def machine_findings() -> tuple[Finding, ...]:
    """Return the facts that need no sandbox: Python, cache folder, free disk."""
    python = Finding("python", True, ".".join(map(str, sys.version_info[:3])))
    try:
        cache = cache_dir()
    except InfrastructureError as fault:
        return python, Finding("cache folder", False, fault.message, fault.remedy)
    free = shutil.disk_usage(cache).free // _MB
    roomy = free >= _NEEDED_FREE_MB
    writable = os.access(cache, os.W_OK)
    return (
        python,
        Finding("cache folder", writable, str(cache), "" if writable else f"chmod u+rwx {cache}"),
        Finding("free disk", roomy, f"{free} MB", "" if roomy else f"Free {_NEEDED_FREE_MB} MB in {cache}"),
    )
