"""What a rewrite writes for an engine passes that engine's guard: an agent's rewritten statement can be run."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from rows import rows_of

from sqlassay.cases.formats.databases import Found, snapshots_of
from sqlassay.cases.snapshot import Snapshot
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.dialect_adapters.transpile.rewrite import rewrite
from sqlassay.harness.guard import check
from sqlassay.harness.parse.parser import Parser

TESTS = Path(__file__).parents[1]
RETOLD = rows_of("retold")
ROWS = rows_of("rewrites")


def refusals(written: dict[str, str], dialect: str) -> dict[str, str]:
    """Return which statements the guard of a dialect refuses, and why."""
    rules = adapter(dialect).rules
    refused = {}
    with Parser() as parser:
        for said, sql in written.items():
            parsed = parser.parse(
                sql,
                dialect,
                None,
                sqlglot_dialect=rules.sqlglot_dialect,
                cte_scope=rules.cte_scope,
                spellings=rules.spellings,
            )
            verdict = check(parsed, rules, None)
            if not verdict.allowed:
                refused[said] = verdict.reason
    return refused


def snapshot_of(folder: Path, script: str, *, declared: bool) -> Snapshot:
    """Return a snapshot of what a script makes."""
    file = folder / "made.sqlite"
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript((TESTS / "conformance" / script).read_text(encoding="utf-8"))
    return snapshots_of([Found("staff_db", (file,), declared=declared)])[0][0]


@pytest.mark.parametrize("dialect", ["postgres", "mysql"])
def test_written_statements_pass(tmp_path, dialect):
    """Every row of the rewrites' table that is not refused."""
    snapshot = snapshot_of(tmp_path, "rewrites.sql", declared=False)
    made = {row["sql"]: rewrite(row["sql"], snapshot, adapter("sqlite"), adapter(dialect)).sql for row in ROWS}
    assert refusals({said: sql for said, sql in made.items() if sql is not None}, dialect) == {}


@pytest.mark.parametrize("dialect", ["postgres", "mysql", "sqlite"])
def test_retold_statements_pass(tmp_path, dialect):
    """Every row of the table of what is retold that is not refused."""
    snapshot = snapshot_of(tmp_path, "retold.sql", declared=True)
    rows = [row for row in RETOLD if row["from"] != dialect]
    made = {row["sql"]: rewrite(row["sql"], snapshot, adapter(row["from"]), adapter(dialect)).sql for row in rows}
    assert refusals({said: sql for said, sql in made.items() if sql is not None}, dialect) == {}
