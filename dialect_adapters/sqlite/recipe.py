"""How a SQLite worker is built and served, as data: Python with its sqlite3 module, the worker's files, no server."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType

from sqlassay.dialect_adapters.contract import DebianSource, Mode, ServerRecipe

WORKER_PACKAGE = Path(__file__).with_name("worker")
WORKER_HOME = "/opt/sqlassay"
PYTHON_FLAGS = ("-s", "-S", "-B")


def worker_files() -> tuple[Path, ...]:
    """Return every file of the worker; they run alone, with nothing but the standard library."""
    return tuple(sorted(WORKER_PACKAGE.glob("*.py")))


_SERVE = ("{bin}/python3", *PYTHON_FLAGS, "-m", "worker", "--data", "{data}", "--socket", "/run/sqlassay/sqlite.sock")

RECIPE = ServerRecipe(
    dialect="sqlite",
    kind="files",
    registry_image="python:3.12-slim",
    registry_bin_dir="/usr/local/bin",
    debian=DebianSource(
        suite="trixie",
        packages=("python3-minimal", "libpython3-stdlib", "libsqlite3-0", "libffi8"),
        bin_dir="/usr/bin",
        programs=("python3",),
        keep=("/usr/lib/python3*", "/usr/lib/*/libsqlite3.so*", "/usr/lib/*/libffi.so*"),
    ),
    data_dir="/data",
    init=(),
    serve=MappingProxyType({Mode.READ: _SERVE, Mode.WRITE: (*_SERVE, "--writable")}),
    socket="/run/sqlassay/sqlite.sock",
    port=7464,
    tcp_options=("--port", "7464"),
    memory_mb=1024,
    env=MappingProxyType({"PYTHONPATH": WORKER_HOME, "TZ": "UTC", "LANG": "C.UTF-8"}),
    extra_files=tuple((path, f"{WORKER_HOME}/worker/{path.name}") for path in worker_files()),
)
