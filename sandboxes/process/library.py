"""The Python package that is a worker's engine, and every shared object that it maps outside the standard library."""

from __future__ import annotations

import importlib.util
import json
import subprocess
from dataclasses import dataclass
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from sqlassay.cases.errors import InfrastructureError, InputError
from sqlassay.cases.extras import install_line
from sqlassay.dialect_adapters.contract import HostLibrary
from sqlassay.sandboxes.process.interpreter import aliases, host_interpreter

_PROBE = """
import importlib, json, sys
sys.path.append(sys.argv[1])
for name in sys.argv[2:]:
    importlib.import_module(name)
print(json.dumps(sorted({line.split(None, 5)[5].strip() for line in open("/proc/self/maps") if ".so" in line})))
"""
_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Library:
    """An engine's package: its version, and the paths (host, inside) that a jail must hold for it."""

    version: str
    paths: tuple[tuple[str, str], ...]


@cache
def host_library(wanted: HostLibrary) -> Library:
    """Return this environment's package.

    Raises:
        InputError: it is not installed.
        InfrastructureError: the interpreter that runs workers cannot import it.
    """
    places = [_place(name) for name in wanted.modules]
    try:
        found = distribution(wanted.distribution)
    except PackageNotFoundError:
        raise missing(wanted) from None
    own = [place for place in places if place is not None]
    if len(own) < len(places):
        raise missing(wanted)
    shown = [*own, *_metadata(found)]  # a package may ask for its own version
    paths = {f"{wanted.inside}/{place.name}": str(place) for place in shown}
    for shared in _mapped(wanted, own[0].parent):
        if shared.is_file() and not any(shared.is_relative_to(place) for place in own):
            paths |= {alias: str(shared) for alias in aliases(shared)}
    return Library(found.version, tuple((host, inside) for inside, host in paths.items()))


def missing(wanted: HostLibrary) -> InputError:
    """Return the refusal to run an engine whose package is not installed."""
    return InputError(
        f"the Python package {wanted.distribution} is not installed",
        field="--dialect",
        remedy=f"Install it by {install_line(wanted.extra)}",
    )


def _place(module: str) -> Path | None:
    """Return a top-level module's file, or its folder where it is a package."""
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        return None
    file = Path(spec.origin)
    return file.parent if spec.submodule_search_locations else file


def _metadata(found: Distribution) -> list[Path]:
    """Return the folder that says what is installed."""
    named = (file for file in found.files or () if file.name == "METADATA")
    return [Path(str(found.locate_file(file))).parent for file in named][:1]


def _mapped(wanted: HostLibrary, folder: Path) -> list[Path]:
    """Return every shared object that the workers' interpreter maps once it has imported the package."""
    names = (*wanted.modules, *wanted.needs)
    command = [str(host_interpreter().program), "-I", "-S", "-B", "-c", _PROBE, str(folder), *names]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_SECONDS)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it printed nothing"])[-1]
        raise InfrastructureError(
            f"the Python below this environment cannot import {wanted.distribution}: {last}",
            remedy=f"Install it again by {install_line(wanted.extra)}",
        )
    return [Path(name) for name in json.loads(done.stdout)]
