"""Databases carried by their declared types: defog's own Postgres and MySQL gold runs, and no value is lost."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from handed_data import SHARED, needs_shared, read_jsonl
from test_rewrites_handed import LIMITS, decided, golds, native, same, sessions

from sqlassay.cases.formats.databases import Found, snapshots_of
from sqlassay.cases.relation import Kind
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.dialect_adapters.transpile.rewrite import rewrite

__all__ = ["sessions"]

pytestmark = [needs_shared, pytest.mark.docker]
DATABASES = ("defog_broker", "defog_car_dealership")


def carried():
    """Return the two databases that have dates, by the names of their folders, called as the vendor calls them."""
    files = {name: SHARED / "databases" / name / f"{name}.sqlite" for name in DATABASES}
    found = [Found(name.removeprefix("defog_"), (file,), declared=True) for name, file in files.items()]
    return {one.id: one for one in snapshots_of(found)[0]}


def answers(login, sql):
    """Return the rows of one statement."""
    login.begin_read(LIMITS)
    try:
        return [tuple(row) for row in login.fetch(sql, LIMITS).rows]
    finally:
        login.rollback()


@pytest.mark.parametrize("dialect", ["postgres", "mysql"])
def test_gold_that_counts_days_runs(sessions, dialect):
    """Every gold of these databases runs on its engine; SQLite's, rewritten for it, gives SQLite's rows; no value is
    another than the file's.
    """
    held = carried()
    logins = sessions(dialect, held)
    ran = 0
    for case in read_jsonl(SHARED / "cases" / "defog.jsonl"):
        name = case["db"].removeprefix("defog_")
        if name in held:
            for sql in case["gold"].get(dialect, []):
                answers(logins[name], sql)
                ran += 1
    assert ran >= 70
    wrong = []
    for gold in golds("defog"):
        name = gold.database.removeprefix("defog_")
        snapshot = held.get(name)
        if snapshot is None:
            continue
        made = rewrite(gold.sql, snapshot, adapter("sqlite"), adapter(dialect))
        assert made.sql is not None, (gold, made.reason)
        got = answers(logins[name], made.sql)
        if not same(got, native(snapshot, gold.sql), loose=False) and decided(gold, snapshot):
            wrong.append((gold.case, made.sql))
    assert wrong == []
    for name, snapshot in held.items():
        with closing(sqlite3.connect(snapshot.sqlite_file)) as file:
            for table in snapshot.tables:
                names = [column.name for column in table.columns if column.kind in (Kind.DATE, Kind.TIMESTAMP)]
                if not names:
                    continue
                question = f"SELECT {', '.join(names)} FROM {table.name}"
                there = [tuple(map(spelled, row)) for row in answers(logins[name], question)]
                assert sorted(there, key=str) == sorted(file.execute(question), key=str)


def spelled(value):
    """Return a moment as the file has it."""
    return None if value is None else str(value)
