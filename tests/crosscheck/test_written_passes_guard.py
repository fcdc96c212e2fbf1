"""What a rewrite writes for an engine passes that engine's guard: an agent's rewritten statement can be run."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import yaml

from cases.formats.databases import Found, snapshots_of
from dialect_adapters.registry import adapter
from dialect_adapters.transpile.rewrite import rewrite
from harness.guard import check
from harness.parse.parser import Parser

TESTS = Path(__file__).parents[1]
ROWS = yaml.safe_load((TESTS / "tables" / "rewrites.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("dialect", ["postgres", "mysql"])
def test_written_statements_pass(tmp_path, dialect):
    """Every row of the rewrites' table that is not refused."""
    file = tmp_path / "people.sqlite"
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript((TESTS / "conformance" / "rewrites.sql").read_text(encoding="utf-8"))
    snapshot = snapshots_of([Found("people", (file,))])[0][0]
    rules = adapter(dialect).rules
    refused = {}
    with Parser() as parser:
        for row in ROWS:
            made = rewrite(row["sql"], snapshot, adapter("sqlite"), adapter(dialect))
            if made.sql is None:
                continue
            parsed = parser.parse(
                made.sql,
                dialect,
                None,
                sqlglot_dialect=rules.sqlglot_dialect,
                cte_scope=rules.cte_scope,
                spellings=rules.spellings,
            )
            verdict = check(parsed, rules, None)
            if not verdict.allowed:
                refused[row["sql"]] = verdict.reason
    assert refused == {}
