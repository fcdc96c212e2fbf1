"""What the host's Python needs to run inside a jail: the program, its standard library and its shared objects."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sqlassay.cases.errors import InfrastructureError

_LOADER = re.compile(rb"/[\x21-\x7e]*/ld-[\x21-\x7e]+\.so\.\d+")
_PROBE = """
import argparse, base64, contextlib, dataclasses, gc, hashlib, json, os, pathlib, re, resource, select, signal
import socket, sqlite3, struct, sys, sysconfig, time
with contextlib.suppress(ImportError):  # the clock is pinned with it where it is there
    import ctypes
objects = sorted({line.split(None, 5)[5].strip() for line in open("/proc/self/maps") if ".so" in line})
found = {"stdlib": sysconfig.get_path("stdlib"), "objects": objects, "sqlite": sqlite3.sqlite_version}
print(json.dumps(found | {"python": ".".join(map(str, sys.version_info[:3]))}))
"""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python program and the host paths it reads; `hidden` are folders inside them that are not its own."""

    program: Path
    python_version: str
    sqlite_version: str
    paths: tuple[tuple[str, str], ...]
    hidden: tuple[str, ...]


@cache
def host_interpreter() -> Interpreter:
    """Return this machine's interpreter, the one below a virtual environment, with every file it maps.

    Raises:
        InfrastructureError: it does not run, or has no sqlite3 module.
    """
    program = Path(os.path.realpath(getattr(sys, "_base_executable", sys.executable)))
    probe = subprocess.run(
        [program, "-I", "-S", "-B", "-c", _PROBE], capture_output=True, text=True, check=False, timeout=60
    )
    if probe.returncode:
        last = (probe.stderr.strip().splitlines() or ["it printed nothing"])[-1]
        raise InfrastructureError(
            f"the Python below this environment cannot run a SQLite worker: {last}",
            remedy="Use a Python with its sqlite3 module (Debian: apt-get install python3)",
        )
    found = json.loads(probe.stdout)
    stdlib = str(found["stdlib"])
    objects = [Path(name) for name in found["objects"] if Path(name).is_file()]
    paths = {stdlib: stdlib, str(program): str(program)}
    for shared in objects:
        if not shared.is_relative_to(stdlib):
            paths |= {alias: str(shared) for alias in aliases(shared)}
    paths |= {
        name: os.path.realpath(name)
        for name in (dynamic_loader(program), "/etc/ld.so.cache")
        if name and Path(name).exists()
    }
    hidden = tuple(str(path) for path in (Path(stdlib) / "site-packages", Path(stdlib) / "test") if path.is_dir())
    shown = tuple((host, inside) for inside, host in paths.items())
    return Interpreter(program, found["python"], found["sqlite"], shown, hidden)


def aliases(shared: Path) -> list[str]:
    """Return a shared object's path and the links beside it: the loader asks for a name, maps show the file."""
    stem = shared.name.split(".so")[0]
    links = [path for path in shared.parent.glob(f"{stem}*.so*") if path.is_symlink() and path.resolve() == shared]
    return [str(shared), *map(str, links)]


def dynamic_loader(program: Path) -> str | None:
    """Return the path of the dynamic loader that a program names in its header, None where it names none."""
    with program.open("rb") as stream:
        match = _LOADER.search(stream.read(8192))
    return match.group().decode() if match else None
