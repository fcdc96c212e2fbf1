"""A statement made to grow without end when it is rewritten is refused, soon."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing

import pytest

from sqlassay.cases.formats.databases import Found, snapshots_of
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.dialect_adapters.transpile.rewrite import MOST_CHARACTERS, rewrite


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
    assert made.sql is None or len(made.sql) <= MOST_CHARACTERS


@pytest.mark.parametrize("target", ["postgres", "mysql", "mariadb", "duckdb"])
def test_a_date_moved_as_golds_do_stays_short(tmp_path, target):
    """The last day of a month and the days up to it: what is said is at most twelve times as long as the gold."""
    file = tmp_path / "t.sqlite"
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript("CREATE TABLE t (d TEXT); INSERT INTO t VALUES ('2024-01-01');")
    snapshot = snapshots_of([Found("t", (file,))])[0][0]
    last = "date(d, 'start of month', '+1 month', '-1 day')"
    days = f"julianday({last}) - julianday(date(d, 'start of month'))"
    sql = f"SELECT {days}, {last} FROM t WHERE date({last}, '+1 month') > d"
    made = rewrite(sql, snapshot, adapter("sqlite"), adapter(target))
    assert made.sql is not None
    assert len(made.sql) < 12 * len(sql)


@pytest.mark.parametrize("target", ["postgres", "mysql", "mariadb", "duckdb"])
@pytest.mark.parametrize(("count", "reason"), [(8, "characters"), (20, "too long")])
def test_a_date_moved_many_times_is_refused(tmp_path, target, count, reason):
    """A short gold whose date is moved step by step would be said thousands of times over: refused at once."""
    file = tmp_path / "t.sqlite"
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript("CREATE TABLE t (d TEXT); INSERT INTO t VALUES ('2024-01-01');")
    snapshot = snapshots_of([Found("t", (file,))])[0][0]
    moves = ", ".join(["'+1 month'"] * count)
    started = time.process_time()
    made = rewrite(f"SELECT date(d, {moves}) FROM t", snapshot, adapter("sqlite"), adapter(target))
    assert time.process_time() - started < 5
    assert made.sql is None
    assert reason in made.reason


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


@pytest.mark.parametrize("source", ["sqlite", "postgres"])
def test_a_limit_in_a_query_that_reads_around_it(tmp_path, source):
    """A derived table sees nothing of the query around it on MariaDB: said, not left to the server's error."""
    file = tmp_path / "t.sqlite"
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript("CREATE TABLE t (n INTEGER, m INTEGER); INSERT INTO t VALUES (1, 1);")
    snapshot = snapshots_of([Found("t", (file,), declared=True)])[0][0]
    around = "SELECT n FROM t AS o WHERE n IN (SELECT i.n FROM t AS i WHERE i.m = {} ORDER BY i.n LIMIT 1)"
    engines = adapter(source), adapter("mariadb")
    assert "around it" in rewrite(around.format("o.m"), snapshot, *engines).reason
    deep = "SELECT n FROM t AS o WHERE n IN (SELECT i.n FROM t AS i WHERE {} ORDER BY i.n LIMIT 1)"
    for reaching in ("EXISTS (SELECT 1 FROM t WHERE t.n = o.n)", "i.m IN (SELECT o.n FROM t)"):
        assert "around it" in rewrite(deep.format(reaching), snapshot, *engines).reason
    for alone in ("EXISTS (SELECT 1 FROM t AS o WHERE o.n = i.n)", "m IN (SELECT n FROM t WHERE n = i.n)"):
        assert rewrite(deep.format(alone), snapshot, *engines).sql is not None
    assert rewrite(around.format("i.n"), snapshot, *engines).sql is not None
    assert rewrite(around.format("o.m"), snapshot, adapter(source), adapter("mysql")).sql is not None
