"""Start a SQLite worker without a jail: the same program and limits, ready in milliseconds."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from sqlassay.dialect_adapters.contract import Endpoint
from sqlassay.dialect_adapters.sqlite.adapter import SqliteAdapter
from sqlassay.dialect_adapters.sqlite.recipe import PYTHON_FLAGS, WORKER_PACKAGE

SCHEMA = """
CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT NOT NULL, age INT);
INSERT INTO person VALUES (1, 'Ada', 36), (2, 'Bo', 9), (3, 'Cy', NULL);
CREATE VIEW grown AS SELECT * FROM person WHERE age > 17;
CREATE VIEW today AS SELECT date('now') AS day;
CREATE VIRTUAL TABLE notes USING fts5(note);
INSERT INTO notes VALUES ('hello world');
"""
WRITTEN_SCHEMA = (
    SCHEMA
    + """
CREATE TABLE ticket (id INTEGER PRIMARY KEY AUTOINCREMENT, what TEXT);
CREATE INDEX by_what ON ticket (what);
CREATE TABLE notes_of_mine (a INT);
CREATE TABLE audited (a INT, b INT AS (a + 1));
CREATE TRIGGER audit AFTER INSERT ON audited BEGIN INSERT INTO ticket (what) VALUES ('audit'); END;
"""
)


@contextmanager
def served(folder: Path, schema: str, *options: str) -> Iterator[Endpoint]:
    """Serve database `w`, built from a script, until the block ends."""
    with closing(sqlite3.connect(folder / "w.sqlite")) as db:
        db.executescript(schema)
    socket = folder / "s"
    command: list[str | Path] = [sys.executable, *PYTHON_FLAGS, "-m", WORKER_PACKAGE.name]
    command += ["--data", folder, "--socket", socket, *options]
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
