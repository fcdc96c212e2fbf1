"""How a DuckDB worker is built and served, as data: this machine's Python with its duckdb package, no server."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType

from sqlassay.dialect_adapters.contract import DebianSource, HostLibrary, Mode, ServerRecipe

WORKER_PACKAGE = Path(__file__).with_name("worker")
WORKER_HOME = "/opt/sqlassay"
LIBRARY_HOME = "/opt/library"
PYTHON_FLAGS = ("-s", "-S", "-B")


def worker_files() -> tuple[Path, ...]:
    """Return every file of the worker; they run with the standard library and the duckdb package alone."""
    return tuple(sorted(WORKER_PACKAGE.glob("*.py")))


_SERVE = ("{bin}/python3", *PYTHON_FLAGS, "-m", "worker", "--data", "{data}", "--socket", "/run/sqlassay/duckdb.sock")

RECIPE = ServerRecipe(
    dialect="duckdb",
    kind="files",
    registry_image="",
    debian=DebianSource(suite="", packages=(), bin_dir=""),
    data_dir="/data",
    init=(),
    serve=MappingProxyType({Mode.READ: _SERVE, Mode.WRITE: (*_SERVE, "--writable")}),
    socket="/run/sqlassay/duckdb.sock",
    port=0,
    memory_mb=1024,
    env=MappingProxyType({"PYTHONPATH": f"{WORKER_HOME}:{LIBRARY_HOME}", "TZ": "UTC", "LANG": "C.UTF-8"}),
    extra_files=tuple((path, f"{WORKER_HOME}/worker/{path.name}") for path in worker_files()),
    library=HostLibrary(
        distribution="duckdb",
        modules=("duckdb", "_duckdb"),
        extra="duckdb",
        inside=LIBRARY_HOME,
        needs=("ctypes", "datetime", "decimal", "uuid"),
    ),
)
