"""A pack's SQLite script runs in a process of its own: it can neither crash the harness nor keep it for ever."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from contextlib import closing
from pathlib import Path

import pytest

from sqlassay.cases.errors import InputError
from sqlassay.cases.snapshot import Snapshot
from sqlassay.dialect_adapters import confined_scripts
from sqlassay.dialect_adapters.sqlite import load
from sqlassay.dialect_adapters.sqlite.load import write_database

ENDLESS = "CREATE TABLE t (a);\nWITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT max(n) FROM c;\n"


def _snapshot(folder: Path, text: str) -> Snapshot:
    script = folder / "s.sql"
    script.write_text(text, encoding="utf-8")
    return Snapshot("s", "s", "digest", scripts={"sqlite": (script,)})


def test_a_script_makes_what_it_says(tmp_path: Path) -> None:
    """Tables, rows, triggers and open transactions of a script are in the file, its characters as written."""
    text = "CREATE TABLE t (a);\nBEGIN;\nINSERT INTO t VALUES ('é;x'), (unistr('\\0041'));\n"
    write_database(_snapshot(tmp_path, text), tmp_path / "d.sqlite")
    with closing(sqlite3.connect(tmp_path / "d.sqlite")) as db:
        assert db.execute("SELECT a FROM t").fetchall() == [("é;x",), ("A",)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT 1;\n\nSELECT nope;", r":3: the script failed: no such column: nope"),
        ("SELECT fts3_tokenizer('x', x'4141414141414141');", r":1: the script failed: not authorized"),
        ("SELECT load_extension('x');", r":1: the script failed: not authorized"),
        ("ATTACH 'other.db' AS o;", r":1: the script failed: not authorized"),
    ],
)
def test_what_a_script_may_not_is_an_input_error(tmp_path: Path, text: str, message: str) -> None:
    """A failing statement is named by its line; native code, extensions and other files are refused."""
    with pytest.raises(InputError, match=message):
        write_database(_snapshot(tmp_path, text), tmp_path / "d.sqlite")


def test_an_endless_script_ends_at_the_deadline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pack is told, and no process stays."""
    monkeypatch.setattr(confined_scripts, "SCRIPT_SECONDS", 1)
    started = time.monotonic()
    with pytest.raises(InputError, match=r"the script (did not end within 1 s|ran 1 s of processor time)"):
        write_database(_snapshot(tmp_path, ENDLESS), tmp_path / "d.sqlite")
    assert time.monotonic() - started < 30


def test_a_script_that_crashes_its_process_is_an_input_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a library does wrong, the harness lives and names the script."""
    broken = tmp_path / "broken.py"
    broken.write_text("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n")
    monkeypatch.setattr(load.script_runner, "__file__", str(broken))
    with pytest.raises(InputError, match=r"ended the process that ran it \(signal 11\)"):
        write_database(_snapshot(tmp_path, "SELECT 1;"), tmp_path / "d.sqlite")


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_endless_script_heeds_an_interrupt(tmp_path: Path, sent: signal.Signals) -> None:
    """A command that bakes such a pack ends within seconds of Ctrl-C, and so does the script's process."""
    pack = tmp_path / "pack"
    pack.mkdir()
    (pack / "s.sql").write_text(ENDLESS)
    (pack / "pack.yaml").write_text(
        textwrap.dedent("""
            format: 1
            name: endless
            snapshots: {s: {scripts: {sqlite: [s.sql]}}}
            cases: [{id: one, question: q, gold: {sqlite: SELECT 1}}]
        """)
    )
    command = [sys.executable, "-m", "sqlassay.harness.cli", "snapshot", "build", str(pack)]
    environment = {
        **os.environ,
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    process = subprocess.Popen(command, env=environment, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        until = time.monotonic() + 60
        while not _runners(tmp_path) and time.monotonic() < until:
            time.sleep(0.1)
        assert _runners(tmp_path) != []
        process.send_signal(sent)
        assert process.wait(timeout=30) == 130
        assert _runners(tmp_path) == []
    finally:
        process.kill()
        process.communicate()


def _runners(place: Path) -> list[int]:
    """Return the living processes that run a script and hold a file below a folder open."""
    found = []
    for one in Path("/proc").glob("[0-9]*"):
        try:
            if b"script_runner.py" in (one / "cmdline").read_bytes():
                names = [str(fd.readlink()) for fd in (one / "fd").iterdir()]
                found += [int(one.name)] if any(name.startswith(str(place)) for name in names) else []
        except OSError:
            continue
    return found
