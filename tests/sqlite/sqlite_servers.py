"""Start a SQLite worker without a jail: the same program and limits, ready in milliseconds."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from dialect_adapters.contract import Endpoint
from dialect_adapters.sqlite.adapter import SqliteAdapter
from dialect_adapters.sqlite.recipe import PYTHON_FLAGS, WORKER_PACKAGE


@contextmanager
def served(folder: Path, schema: str) -> Iterator[Endpoint]:
    """Serve database `w`, built from a script, until the block ends."""
    with closing(sqlite3.connect(folder / "w.sqlite")) as db:
        db.executescript(schema)
    socket = folder / "s"
    command = [sys.executable, *PYTHON_FLAGS, "-m", WORKER_PACKAGE.name, "--data", folder, "--socket", socket]
    with subprocess.Popen(command, cwd=WORKER_PACKAGE.parent) as worker:
        try:
            yield await_answer(Endpoint(socket=socket))
        finally:
            worker.terminate()


def await_answer(endpoint: Endpoint) -> Endpoint:
    """Return the endpoint once a worker answers there."""
    until = time.monotonic() + 10
    while not SqliteAdapter().ping(endpoint):
        assert time.monotonic() < until, "the worker did not start"
        time.sleep(0.01)
    return endpoint
