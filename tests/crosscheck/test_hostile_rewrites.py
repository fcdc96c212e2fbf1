"""A statement made to grow without end when it is rewritten is refused, soon."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing

import pytest

from cases.formats.databases import Found, snapshots_of
from dialect_adapters.registry import adapter
from dialect_adapters.transpile.rewrite import rewrite


def nested(before: str, after: str, inner: str = "s", depth: int = 25) -> str:
    """Return an expression nested this deep."""
    return before * depth + inner + after * depth


@pytest.mark.parametrize("dialect", ["postgres", "mysql"])
@pytest.mark.parametrize(
    "expression",
    [
        nested("lower(", ")"),
        nested("(1.5 / ", ")", "n"),
        nested("substr(", ", -2)"),
        nested("(", " + 's')"),
        nested("CAST(", " AS TEXT)", "r"),
        nested("round(", ", 1)", "r"),
        nested("strftime('%Y', ", ")"),
        nested("(", " % 3)", "r"),
        nested("(s > ", ")", "n"),
        nested("coalesce(n, ", ")"),
        nested("(", " LIKE 'a')"),
        nested("(SELECT max(", ") FROM t)"),
    ],
)
def test_growth_has_an_end(tmp_path, dialect, expression):
    """Written or refused, each within seconds, and never longer than the bound."""
    file = tmp_path / "t.sqlite"
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript("CREATE TABLE t (n INTEGER, s TEXT, r REAL); INSERT INTO t VALUES (1, '2', 3.5);")
    snapshot = snapshots_of([Found("t", (file,))])[0][0]
    started = time.process_time()
    made = rewrite(
        f"SELECT {expression} FROM t WHERE {expression} ORDER BY {expression}",
        snapshot,
        adapter("sqlite"),
        adapter(dialect),
    )
    assert time.process_time() - started < 10
    assert made.sql is None or len(made.sql) < 4_000_000


@pytest.mark.parametrize(
    "expression",
    [
        f"GREATEST({', '.join(['n'] * 60)})",
        nested("DATE_ADD(", ", INTERVAL 1 MONTH)", "d"),
        nested("TIMESTAMPDIFF(MONTH, ", ", d)", "d"),
        nested("CONCAT(", ", s)"),
        nested("(", " <=> n)", "n"),
        nested("LEFT(", ", 2)"),
        nested("(", " / n)", "n"),
        "(" * 3000 + "n" + ")" * 3000,
    ],
)
def test_what_is_retold_has_an_end(tmp_path, expression):
    """Statements of a server, some of whose parts are said several times: written or refused within seconds."""
    file = tmp_path / "t.sqlite"
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(
            "CREATE TABLE t (n INTEGER, s TEXT, d DATE); INSERT INTO t VALUES (1, '2', '2024-01-01');"
        )
    snapshot = snapshots_of([Found("t", (file,), declared=True)])[0][0]
    for target in ("sqlite", "postgres"):
        started = time.process_time()
        made = rewrite(f"SELECT {expression} FROM t", snapshot, adapter("mysql"), adapter(target))
        assert time.process_time() - started < 10
        assert made.sql is None or len(made.sql) < 5_000_000
