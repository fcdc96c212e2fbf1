"""A query of Postgres or MySQL retold for another engine gives its own rows, on real servers, or is refused."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from rows import rows_of

from sqlassay.cases.formats.databases import Found, snapshots_of
from sqlassay.cases.snapshot import Snapshot
from sqlassay.dialect_adapters.contract import Limits, Mode, Pins, Role, Session
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.dialect_adapters.transpile.rewrite import rewrite
from sqlassay.sandboxes.opening import open_provider

ROWS = rows_of("retold")
SCRIPT = (Path(__file__).parent / "retold.sql").read_text(encoding="utf-8")
ENGINES = ("postgres", "mysql", "sqlite")
LIMITS = Limits(timeout=20)
NAMES = [f"{row['from']}-{row['class']}-{number}" for number, row in enumerate(ROWS)]


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """Return a snapshot with dates, moments, truth and decimals in every engine that has them."""
    path = tmp_path_factory.mktemp("retold") / "staff.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(SCRIPT)
    return snapshots_of([Found("staff_db", (path,), declared=True)])[0][0]


@pytest.fixture(scope="module")
def servers(snapshot: Snapshot) -> Iterator[dict[str, Session]]:
    """Return a reader's session on each server."""
    opened: list[Any] = []
    sessions = {}
    try:
        for name in ("postgres", "mysql"):
            engine = adapter(name)
            provider = open_provider(engine.recipe, "docker", lambda _line: None, engine="auto", runtime="")
            opened.append(provider)
            image = provider.prepare(engine, (snapshot,), lambda _line: None)
            sandbox = provider.start(engine, image, Mode.READ, "retold")
            sessions[name] = sandbox.open(image.catalog(snapshot.id).database, Role.READER, Pins())
            opened.append(sessions[name])
        yield sessions
    finally:
        for one in reversed(opened):
            one.close()


def answer(name: str, sql: str, snapshot: Snapshot, servers: dict[str, Session]) -> list[tuple[Any, ...]]:
    """Return the rows of a statement on an engine, as every engine can have them."""
    if name == "sqlite":
        assert snapshot.sqlite_file is not None
        with closing(sqlite3.connect(snapshot.sqlite_file)) as connection:
            found = connection.execute(sql).fetchall()
    else:
        session = servers[name]
        session.begin_read(LIMITS)
        try:
            found = list(session.fetch(sql, LIMITS).rows)
        finally:
            session.rollback()
    return [tuple(plain(cell) for cell in row) for row in found]


def plain(value: object) -> object:
    """Return a cell as every engine can have it: truth a number, a number of six digits, a moment its text."""
    if isinstance(value, datetime):
        return str(value.replace(tzinfo=None))
    if isinstance(value, date):
        return str(value)
    return float(f"{float(value):.6g}") if isinstance(value, (bool, int, float, Decimal)) else value


def test_every_row_says_what_becomes_of_it(snapshot: Snapshot) -> None:
    """What is refused is refused for the reason the table names, and everything else is written."""
    for row in ROWS:
        for target in set(ENGINES) - {row["from"]}:
            made = rewrite(row["sql"], snapshot, adapter(row["from"]), adapter(target))
            reason = row.get("refused", {}).get(target)
            assert (made.sql is None) == (reason is not None), (row["sql"], target, made)
            assert reason is None or reason in made.reason, (row["sql"], target, made.reason)


@pytest.mark.docker
@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_retold(row: dict[str, Any], snapshot: Snapshot, servers: dict[str, Session]) -> None:
    """Each class of fault, on the servers."""
    targets = [name for name in ENGINES if name != row["from"] and name not in row.get("refused", {})]
    want = answer(row["from"], row["sql"], snapshot, servers) if targets else []
    assert want or not targets, "a row that gives nothing proves nothing"
    for target in targets:
        made = rewrite(row["sql"], snapshot, adapter(row["from"]), adapter(target)).sql
        assert made is not None
        got = answer(target, made, snapshot, servers)
        ordered = row["sql"].rpartition(")")[2].find("ORDER BY") >= 0
        assert got == want if ordered else Counter(got) == Counter(want), (target, made)
