"""Each limit of a SQLite worker's process stops its attack, and the attack succeeds once that limit alone is gone."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = """
import os, resource, socket, sqlite3, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from sqlassay.dialect_adapters.sqlite.worker import child
off, folder, attack = sys.argv[2], Path(sys.argv[3]), sys.argv[4]
real = resource.setrlimit
names = {value: name for name, value in vars(resource).items() if name.startswith("RLIMIT_") and name != "RLIMIT_OFILE"}
child.resource.setrlimit = lambda limit, value: None if names[limit] == off else real(limit, value)
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
heap = 0 if off in {"hard_heap_limit", "RLIMIT_AS"} else 16 << 20
memory = resource.RLIM_INFINITY if attack.startswith("SELECT") else 256 << 20  # the heap's own limit is in question
db, _ = child.open_database(folder / "w.sqlite", role="reader", shared=False, clock=None, heap=heap)
db.set_authorizer(None)
child.limit_process(memory, 0)
try:
    if attack.startswith("SELECT"):
        db.execute(attack).fetchall()
    else:
        exec(attack)
except (MemoryError, OSError, sqlite3.Error) as error:
    sys.exit(f"refused: {type(error).__name__}: {error}")
print("succeeded")
"""
HUNGRY = (
    "SELECT sum(length(v)) FROM (SELECT DISTINCT hex(randomblob(1000)) || i AS v FROM "
    "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000) SELECT i FROM n))"
)
ATTACKS = {
    "hard_heap_limit": HUNGRY,
    "RLIMIT_AS": "bytearray(400 << 20)",
    "RLIMIT_FSIZE": "sqlite3.connect(folder / 'new.sqlite').execute('CREATE TABLE t(a)')",
    "RLIMIT_NOFILE": "[os.dup(0) for _ in range(200)]",
    "RLIMIT_NPROC": "os._exit(0) if os.fork() == 0 else os.wait()",
}


def _tried(folder: Path, attack: str, *, off: str) -> str:
    """Return what a process of its own says that tries the attack with one limit taken away."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(ROOT), off, str(folder), attack],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return (done.stdout + done.stderr).strip()


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that nobody in particular may use, with a database in it; pytest's own are closed to others."""
    with tempfile.TemporaryDirectory() as made:
        path = Path(made)
        path.chmod(0o777)
        with closing(sqlite3.connect(path / "w.sqlite")) as database:
            database.execute("CREATE TABLE t(a)")
        (path / "w.sqlite").chmod(0o666)
        yield path


@pytest.mark.parametrize("limit", ATTACKS)
def test_each_limit_stops_its_attack(limit: str, folder: Path) -> None:
    """With all limits it is refused, without the one it succeeds."""
    assert _tried(folder, ATTACKS[limit], off="none").startswith("refused: ")
    assert _tried(folder, ATTACKS[limit], off=limit) == "succeeded"
