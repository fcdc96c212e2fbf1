"""The programs of a server that this machine has, from a Python package or installed, with every file they read."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sqlassay.cases.errors import InfrastructureError, InputError
from sqlassay.cases.extras import install_line
from sqlassay.dialect_adapters.contract import HostServer, ServerRecipe
from sqlassay.sandboxes.process.interpreter import dynamic_loader

_INSIDE = "/opt/server"
_VERSION = re.compile(r"(\d+)(?:\.\d+)*")
_LISTED = re.compile(r"=>\s+(/\S+)\s+\(")
_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Programs:
    """A server's programs: where they lie inside a jail, and the paths (host, inside) that a jail must hold.

    `libraries` are folders inside that the loader is told of: a package finds its own by their place beside it, which
    takes /proc. `shell` are the paths that only the making of an image needs besides, `options` what this version is
    told more, and `preload` says whether the library that the recipe's environment preloads is here.
    """

    bin_dir: str
    version: str
    digest: str
    source: str
    paths: tuple[tuple[str, str], ...]
    libraries: tuple[str, ...]
    shell: tuple[tuple[str, str], ...]
    options: tuple[str, ...]
    preload: bool


def host_programs(recipe: ServerRecipe) -> Programs:
    """Return the programs that suit a recipe best: of the image's own major version where there is a choice.

    Raises:
        InputError: this engine runs in containers alone.
        InfrastructureError: nothing that suits is installed.
    """
    host = recipe.host
    if host is None:
        raise InputError(
            f"the process sandbox cannot run {recipe.dialect}: {recipe.dialect} is a server that it runs in a "
            "container alone",
            field="--sandbox",
            remedy="Use `--sandbox docker`",
        )
    found = tuple(_candidates(host))
    fitting = [(version, folder) for version, folder in found if host.least <= _major(version) <= host.most]
    if not fitting:
        wanted = f"{recipe.dialect} {host.least} to {host.most}"
        seen = ", ".join(sorted({version for version, _ in found})) or "none"
        raise InfrastructureError(
            f"no {wanted} is installed on this machine for the process sandbox (found: {seen})",
            remedy=f"Install it by {install_line(host.extra)}, or use `--sandbox docker`",
        )
    fitting.sort(key=lambda one: (_major(one[0]) != host.prefer, -_major(one[0])))
    version, folder = fitting[0]
    return _described(host, folder, version)


def _major(version: str) -> int:
    """Return the first number of a version."""
    return int(version.split(".")[0])


def _candidates(host: HostServer) -> Iterator[tuple[str, Path]]:
    """Yield (version, folder) of every complete set of programs, the package's last."""
    folders = [found for place in host.places for found in _matching(place)]
    package = _package(host)
    for folder in (*folders, *((package / host.package_bin,) if package else ())):
        if all((folder / program).is_file() for program in (*host.programs, host.config)):
            version = _version(folder / host.programs[0])
            if version:
                yield version, folder


def _matching(pattern: str) -> list[Path]:
    """Return the paths of this machine that match an absolute pattern."""
    return sorted(Path("/").glob(pattern.lstrip("/")))


def _package(host: HostServer) -> Path | None:
    """Return the folder of the Python package that brings the programs, without importing it."""
    spec = importlib.util.find_spec(host.package)
    return Path(spec.origin).parent if spec is not None and spec.origin else None


@cache
def _version(program: Path) -> str:
    """Return the version a program says it has, or nothing where it does not run here."""
    match = _VERSION.search(_asked(program, "--version"))
    return match.group() if match else ""


def _asked(program: Path, question: str) -> str:
    """Return the one line a program answers, empty where it fails."""
    try:
        done = subprocess.run(
            [program, question], capture_output=True, text=True, check=False, timeout=_SECONDS, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


@cache
def _digest(program: Path) -> str:
    """Return the digest of a program's bytes."""
    with program.open("rb") as stream:
        return f"sha256:{hashlib.file_digest(stream, 'sha256').hexdigest()}"


def _described(host: HostServer, folder: Path, version: str) -> Programs:
    """Return everything about the programs of one folder."""
    package = _package(host)
    own = package is not None and folder.is_relative_to(package)
    root = package.parent if package is not None and own else None
    shared = [Path(_asked(folder / host.config, question)) for question in host.asked]
    programs = [folder / program for program in host.programs]
    libraries = [shared[-1] / name for name in host.loaded]
    preload = next((found for place in host.preload for found in _matching(place)), None)
    files = [*programs, *shared, *(path for path in map(Path, host.read) if path.exists())]
    files += [preload] if preload else []
    loaded = [path for file in (*programs, *libraries, *([preload] if preload else [])) for path in _libraries(file)]
    own_folders = {_inside(path.parent, root) for path in loaded if root is not None and path.is_relative_to(root)}
    files += loaded
    shell = shutil.which(Path(host.shell).name) or host.shell
    shell_paths = {host.shell: os.path.realpath(shell)} | {str(path): str(path) for path in _libraries(Path(shell))}
    return Programs(
        bin_dir=_inside(folder, root),
        version=version,
        digest=_digest(programs[0].resolve()),
        source="package" if own else "installed",
        paths=tuple({_inside(path, root): (os.path.realpath(path), _inside(path, root)) for path in files}.values()),
        libraries=tuple(sorted(own_folders)),
        shell=tuple((path, inside) for inside, path in shell_paths.items()),
        options=tuple(part for least, parts in host.options.items() if _major(version) >= least for part in parts),
        preload=preload is not None,
    )


def _inside(path: Path, root: Path | None) -> str:
    """Return where a path lies inside a jail: a package's own files at one place, whatever the environment's."""
    if root is not None and path.is_relative_to(root):
        return f"{_INSIDE}/{path.relative_to(root)}"
    return str(path)


@cache
def _libraries(program: Path) -> tuple[Path, ...]:
    """Return the shared libraries a program or library loads, by the paths the loader finds them at.

    Raises:
        InfrastructureError: the loader cannot say.
    """
    loader = dynamic_loader(program)
    if loader is None:
        loader = dynamic_loader(Path(os.path.realpath("/proc/self/exe")))
    if loader is None:
        return ()
    try:
        done = subprocess.run(
            [loader, "--list", program], capture_output=True, text=True, check=False, timeout=_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InfrastructureError(f"the libraries of {program.name} cannot be listed: {error}") from error
    if "not found" in done.stdout or done.returncode:
        missing = next(
            (line.split()[0] for line in done.stdout.splitlines() if "not found" in line), done.stderr.strip()
        )
        raise InfrastructureError(f"{program.name} does not run here: {missing} is missing", remedy="Install it again")
    return (Path(loader), *(Path(os.path.normpath(found)) for found in _LISTED.findall(done.stdout)))
