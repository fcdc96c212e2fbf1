"""A SQLite query written for another engine gives the rows SQLite gives, on the real server, or is refused."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import written_calls
from rows import rows_of

from sqlassay.cases.formats.databases import Found, snapshots_of
from sqlassay.cases.snapshot import Snapshot
from sqlassay.dialect_adapters.contract import Limits, Mode, Pins, Role, StatementError
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.dialect_adapters.transpile.rewrite import rewrite
from sqlassay.sandboxes.contract import Sandbox
from sqlassay.sandboxes.opening import open_provider

ROWS = rows_of("rewrites")
SCRIPT = (Path(__file__).parent / "rewrites.sql").read_text()
LIMITS = Limits(timeout=20)

pytestmark = pytest.mark.docker


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """Return a snapshot of the rows the table is about."""
    path = tmp_path_factory.mktemp("rewrites") / "people.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(SCRIPT)
    return snapshots_of([Found("people", (path,))])[0][0]


@pytest.fixture(scope="module", params=["postgres", "mysql", "mariadb", "duckdb"])
def target(request: pytest.FixtureRequest, snapshot: Snapshot) -> Iterator[tuple[str, Sandbox, str]]:
    """Return an engine with the snapshot: its name, a running sandbox and the database."""
    engine = adapter(request.param)
    provider = open_provider(engine.recipe, "auto", lambda _line: None, engine="auto", runtime="")
    try:
        image = provider.prepare(engine, (snapshot,), lambda _line: None)
        sandbox = provider.start(engine, image, Mode.READ, "rewrites")
        yield request.param, sandbox, image.catalog(snapshot.id).database
    finally:
        provider.close()


def native(snapshot: Snapshot, sql: str) -> list[tuple[Any, ...]]:
    """Return what SQLite gives."""
    assert snapshot.sqlite_file is not None
    with closing(sqlite3.connect(snapshot.sqlite_file)) as connection:
        return connection.execute(sql).fetchall()


def plain(value: object, *, loose: bool = False) -> object:
    """Return a cell as both engines can have it: truth is a number, a number has nine digits.

    Where numbers and texts meet in one column, it is text elsewhere: a numeral then counts as its number (`loose`).
    """
    if loose and isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return value
    if isinstance(value, (bool, int, float, Decimal)):
        return float(f"{float(value):.9g}")
    return value


@pytest.mark.parametrize("row", ROWS, ids=[f"{row['class']}-{number}" for number, row in enumerate(ROWS)])
def test_rewrite(row: dict[str, Any], snapshot: Snapshot, target: tuple[str, Sandbox, str]) -> None:
    """Each class of fault, on the server."""
    name, sandbox, database = target
    made = rewrite(row["sql"], snapshot, adapter("sqlite"), adapter(name))
    refused = row.get("refused", {})
    reason = refused.get(name) or refused.get(getattr(adapter(name), "kin", ""))
    if reason is not None:
        assert made.sql is None
        assert reason in made.reason
        return
    assert made.sql is not None, made.reason
    loose = bool(row.get("loose"))
    session = sandbox.open(database, Role.READER, Pins())
    try:
        session.begin_read(LIMITS)
        got = [tuple(plain(cell, loose=loose) for cell in cells) for cells in session.fetch(made.sql, LIMITS).rows]
    finally:
        session.close()
    want = [tuple(plain(cell, loose=loose) for cell in cells) for cells in native(snapshot, row["sql"])]
    ordered = "ORDER BY" in row["sql"] and "OVER" not in row["sql"] and "DISTINCT" not in row["sql"]
    assert (got == want) if ordered and "IN (" not in row["sql"] else (Counter(got) == Counter(want)), made.sql


LEAST = 0.99
"""The share of two hundred statements with arithmetic and dates that is written and gives the same rows."""


def test_arithmetic_and_dates(snapshot: Snapshot, target: tuple[str, Sandbox, str]) -> None:
    """Two hundred statements and more: none gives other rows, and at most one in a hundred is refused."""
    name, sandbox, database = target
    session = sandbox.open(database, Role.READER, Pins())
    faults, same, texts = [], 0, list(written_calls.statements(seed=3, each=3))
    for text in texts:
        made = rewrite(text, snapshot, adapter("sqlite"), adapter(name))
        if made.sql is None:
            continue
        session.begin_read(LIMITS)
        try:
            got: object = [tuple(close(cell) for cell in row) for row in session.fetch(made.sql, LIMITS).rows]
        except StatementError as error:
            got = str(error)
        finally:
            session.rollback()
        want = [tuple(close(cell) for cell in row) for row in native(snapshot, text)]
        same += got == want
        if got != want:
            faults.append(f"{text}: {made.sql}: {got} is not {want}")
    session.close()
    assert len(texts) >= 200
    assert faults == []
    assert same >= LEAST * len(texts)


def close(value: object) -> object:
    """Return a cell as engines can have it that compute in doubles: a number has nine digits, and -0 is 0."""
    found = plain(value)
    return found + 0.0 if isinstance(found, float) else found
