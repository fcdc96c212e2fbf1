"""A pack's DuckDB script runs in a process of its own: it can neither crash the harness nor keep it for ever."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path

import pytest
from duckdb_servers import installed

from sqlassay.cases.errors import InputError
from sqlassay.cases.snapshot import Snapshot
from sqlassay.dialect_adapters import confined_scripts

pytestmark = installed

CRASH = "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n"


def _write(folder: Path, text: str) -> Path:
    """Write a snapshot of one script and return the database file."""
    from sqlassay.dialect_adapters.duckdb.load import write_database

    script = folder / "s.sql"
    script.write_text(text, encoding="utf-8")
    write_database(Snapshot("s", "s", "digest", scripts={"duckdb": (script,)}), folder / "d.duckdb")
    return folder / "d.duckdb"


def test_a_script_makes_what_it_says(tmp_path: Path) -> None:
    """Tables, rows and views of a script are in the file, its characters as written."""
    import duckdb

    path = _write(tmp_path, "CREATE TABLE t (a VARCHAR);\nINSERT INTO t VALUES ('é;x');\nCREATE VIEW v AS FROM t;\n")
    with closing(duckdb.connect(str(path), read_only=True)) as db:
        assert db.execute("SELECT a FROM v").fetchall() == [("é;x",)]


def test_a_failing_statement_is_named_by_its_line(tmp_path: Path) -> None:
    """Line and words are the engine's."""
    with pytest.raises(InputError, match=r":3: the script failed: .*nope"):
        _write(tmp_path, "SELECT 1;\n\nSELECT nope;\n")


def test_an_endless_script_ends_at_the_deadline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pack is told, and no process stays."""
    monkeypatch.setattr(confined_scripts, "SCRIPT_SECONDS", 2)
    started = time.monotonic()
    with pytest.raises(InputError, match=r"the script (did not end within 2 s|ran 2 s of processor time)"):
        _write(tmp_path, "SELECT sum(random()) FROM range(1000000000000);\n")
    assert time.monotonic() - started < 30


def test_a_script_that_crashes_its_process_is_an_input_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the engine does wrong, the harness lives and names the script."""
    from sqlassay.dialect_adapters.duckdb import load

    broken = tmp_path / "broken.py"
    broken.write_text(CRASH)
    monkeypatch.setattr(load.script_runner, "__file__", str(broken))
    with pytest.raises(InputError, match=r"ended the process that ran it \(signal 11\)"):
        _write(tmp_path, "SELECT 1;")
