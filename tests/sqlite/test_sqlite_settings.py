"""Every setting of a SQLite reader stops its attack alone, and with none of them the attack succeeds."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from rows import rows_of

from sqlassay.dialect_adapters.sqlite.worker import child

ROWS = rows_of("hardening_sqlite")
TEXTS = {
    "nested": "+".join(["1"] * 300),
    "unions": " UNION ALL SELECT 1" * 60,
    "columns": ", ".join(["1"] * 600),
    "long": "x" * 1_500_000,
}
LIMITS = {
    "attached": (sqlite3.SQLITE_LIMIT_ATTACHED, 10),
    "expr_depth": (sqlite3.SQLITE_LIMIT_EXPR_DEPTH, 1000),
    "compound": (sqlite3.SQLITE_LIMIT_COMPOUND_SELECT, 500),
    "column": (sqlite3.SQLITE_LIMIT_COLUMN, 2000),
    "length": (sqlite3.SQLITE_LIMIT_LENGTH, 1_000_000_000),
    "sql_length": (sqlite3.SQLITE_LIMIT_SQL_LENGTH, 1_000_000_000),
}
SETTINGS = {"authorizer", "query_only", "immutable", *LIMITS}


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A file with a table to attack."""
    path = tmp_path / "w.sqlite"
    with sqlite3.connect(path) as made:
        made.execute("CREATE TABLE orders(id INTEGER PRIMARY KEY, amount)")
        made.execute("INSERT INTO orders VALUES (1, 10), (2, 20)")
    made.close()
    return path


def _succeeds(path: Path, sql: str, off: set[str], monkeypatch: pytest.MonkeyPatch) -> bool:
    """Return whether an attack runs on a reader's connection with some of its settings taken away."""
    if "immutable" in off:
        real = child.connect
        monkeypatch.setattr(child, "connect", lambda file, access: real(file, "rw"))
    db, policy = child.open_database(path, role="reader", shared=False, clock=None, heap=256 * 1024 * 1024)
    monkeypatch.undo()
    db.set_authorizer(None)
    if "query_only" in off:
        db.execute("PRAGMA query_only = OFF")
    for name in off & LIMITS.keys():
        db.setlimit(*LIMITS[name])
    db.set_authorizer(None if "authorizer" in off else policy)
    try:
        db.execute(sql).fetchall()
    except (sqlite3.Error, MemoryError):
        return False
    finally:
        db.close()
    return True


@pytest.mark.parametrize("row", ROWS, ids=[row["attack"] for row in ROWS])
def test_each_setting_stops_it_alone(
    database: Path, tmp_path: Path, row: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All settings but one taken away: the one still stops the attack; that one gone too, it succeeds."""
    sql = row["attack"].replace("{tmp}", str(tmp_path))
    for name, text in TEXTS.items():
        sql = sql.replace("{" + name + "}", text)
    stoppers = set(row["stopped_by"])
    assert _succeeds(database, sql, set(), monkeypatch) is False
    for last in stoppers:
        assert _succeeds(database, sql, SETTINGS - {last}, monkeypatch) is False, last
    assert _succeeds(database, sql, stoppers, monkeypatch) is True
