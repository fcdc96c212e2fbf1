"""A damaged SQLite file is refused where the engine itself reads on; what its owner let in is data."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from sqlassay.cases.errors import InputError
from sqlassay.cases.sources import sqlite_bounds
from sqlassay.cases.sources.sqlite_file import sqlite_content
from sqlassay.dialect_adapters.sqlite.load import copy_database
from sqlassay.harness.cli.main import _run

COUNT = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 2000)"
FILLED = f"CREATE TABLE t (a INT, s TEXT); {COUNT} INSERT INTO t SELECT n, replace(hex(zeroblob(50)), '0', 'x') FROM c;"
MORE = f"CREATE TABLE u (z INT); {COUNT} INSERT INTO u SELECT n FROM c;"
REWRITTEN = "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql ="


def _file(folder: Path, script: str) -> Path:
    """Return a SQLite file that a script has made where a collation and a function of its owner's were known."""
    path = folder / "s.sqlite"
    with closing(sqlite3.connect(path)) as db:
        db.create_collation("mine", lambda one, other: (one > other) - (one < other))
        db.create_function("own", 1, lambda value: value, deterministic=True)
        db.executescript(script)
    return path


def _zeroed(path: Path, start: int = 10 * 4096 + 500) -> Path:
    """Return the file with 20 of its bytes lost."""
    content = bytearray(path.read_bytes())
    content[start : start + 20] = bytes(20)
    path.write_bytes(content)
    return path


def test_lost_bytes_in_a_page_are_refused(tmp_path: Path) -> None:
    """The engine reads the page without a word; the harness names the file, what SQLite finds, and a way out."""
    path = _zeroed(_file(tmp_path, FILLED + MORE))
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT count(*) FROM t").fetchone() == (2000,)
    for read in (lambda: sqlite_content(path), lambda: copy_database(path, tmp_path / "copy.sqlite")):
        with pytest.raises(InputError, match=r"s\.sqlite: it is damaged: .*page 11.* \.recover"):
            read()


def test_a_pack_of_a_damaged_file_ends_with_exit_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A pack is not made of such a file: whoever brings it is told before any prediction is judged."""
    path = _zeroed(_file(tmp_path, FILLED + MORE))
    assert _run(["init", str(tmp_path / "pack"), "--from", str(path)]) == 2
    assert "it is damaged" in capsys.readouterr().err


def test_a_table_beside_a_definition_that_cannot_be_followed_is_checked(tmp_path: Path) -> None:
    """A collation that is not here keeps no damage of another table from being found."""
    other = "CREATE TABLE x (a TEXT COLLATE mine); CREATE INDEX i ON x (a);"
    with pytest.raises(InputError, match="it is damaged: .*page 11"):
        copy_database(_zeroed(_file(tmp_path, FILLED + MORE + other)), tmp_path / "copy.sqlite")


def test_an_index_that_lacks_rows_is_refused_before_it_is_baked(tmp_path: Path) -> None:
    """A query that reads the index would get fewer rows than the table has; engines fed from the table get all."""
    path = _file(
        tmp_path, "CREATE TABLE t (a INT, b INT); INSERT INTO t VALUES (1, 1), (2, 2); CREATE INDEX i ON t (a)"
    )
    with closing(sqlite3.connect(path)) as db:
        (root,) = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'i'").fetchone()
    content = bytearray(path.read_bytes())
    page = (root - 1) * 4096
    content[page + 3 : page + 5] = (1).to_bytes(2, "big")  # one cell of two
    path.write_bytes(content)
    with pytest.raises(InputError, match="it is damaged"):
        copy_database(path, tmp_path / "copy.sqlite")


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(f"{REWRITTEN} 'CREATE TABLE t (a INT NOT NULL CHECK (a > 5), s TEXT)'", id="constraints"),
        pytest.param(
            f"INSERT INTO t VALUES ('word', 1); {REWRITTEN} 'CREATE TABLE t (a INT, s INT) STRICT'", id="types"
        ),
        pytest.param(
            f"INSERT INTO t VALUES (1, ''); CREATE INDEX i ON t (a); {REWRITTEN} 'CREATE UNIQUE INDEX i ON t (a)' "
            "WHERE name = 'i'",
            id="uniqueness",
        ),
        pytest.param("CREATE TABLE x (a TEXT); CREATE INDEX i ON x (a COLLATE mine)", id="collation"),
        pytest.param("CREATE TABLE x (a INT); INSERT INTO x VALUES (1); CREATE INDEX i ON x (own(a))", id="function"),
        pytest.param("CREATE VIRTUAL TABLE f USING fts5(a); DELETE FROM f_data WHERE id > 10", id="full text"),
        pytest.param(
            "PRAGMA writable_schema = ON; INSERT INTO sqlite_schema VALUES "
            "('table', 'z', 'z', 0, 'CREATE VIRTUAL TABLE z USING not_here(a)')",
            id="module",
        ),
        pytest.param("DELETE FROM t WHERE a > 5", id="free pages"),
        pytest.param("PRAGMA journal_mode = WAL", id="log"),
    ],
)
def test_what_is_no_damage_is_let_pass(tmp_path: Path, script: str) -> None:
    """Rows past their constraints, and definitions that only their owner's program can follow, can be judged on."""
    path = _file(tmp_path, f"{FILLED} INSERT INTO t VALUES (NULL, NULL); {script}")
    assert "t" in {table.name for table in sqlite_content(path).tables}
    copy_database(path, tmp_path / "copy.sqlite")
    with closing(sqlite3.connect(tmp_path / "copy.sqlite")) as db:
        assert db.execute("SELECT count(*) > 0 FROM t").fetchone() == (1,)


def test_indexes_too_large_to_look_through_are_let_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A deadline that passes while indexes are checked is no damage."""
    path = _file(tmp_path, f"{FILLED} CREATE INDEX i ON t (s)")
    monkeypatch.setattr(sqlite_bounds, "READ_SECONDS", -1)
    monkeypatch.setattr(sqlite_bounds, "_STEPS", 1)
    copy_database(path, tmp_path / "copy.sqlite")
    assert (tmp_path / "copy.sqlite").read_bytes() == path.read_bytes()
