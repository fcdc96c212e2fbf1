"""Hold the tables the guard sees against those an engine reads: `table_soak.py COUNT [SEED [DIALECT…]]`.

The engine's word for what a statement reads: where a table is missing and the statement is refused that runs with it,
it is one that the statement reads. On SQLite the authorizer is asked too, on DuckDB the plan before any optimizer.
"""

from __future__ import annotations

import json
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from random import Random
from uuid import uuid4

from random_statements import TABLES, Statements

from sqlassay.cases.catalog import Catalog, CatalogColumn, CatalogTable
from sqlassay.cases.errors import SandboxLostError
from sqlassay.cases.relation import Kind, Row
from sqlassay.cases.snapshot import ColumnDef, Snapshot, TableDef
from sqlassay.dialect_adapters.contract import Limits, Mode, Pins, Role, Session, SessionLostError, StatementError
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.harness.guard import check
from sqlassay.harness.parse import Parser
from sqlassay.sandboxes.contract import Sandbox

DIALECTS = ("sqlite", "duckdb", "postgres", "mysql", "mariadb")
SEED = 20261128
_LIMITS = Limits(timeout=20.0, rows=20_000)

Reads = Callable[[str], "frozenset[str] | None"]
"""Which of the tables a statement reads; None where the engine does not take the statement."""


@dataclass
class Held:
    """What a soak saw: statements, those the engine takes, tables they read, and statements with a table missed.

    `alarms` counts those refused for nothing: no table the guard saw and the engine did not read makes one.
    """

    statements: int = 0
    taken: int = 0
    tables: int = 0
    refused: int = 0
    surplus: int = 0
    missed: list[str] = field(default_factory=list)


def soak(dialect: str, count: int, seed: int, reads: Reads) -> Held:
    """Compare `count` random statements; a table is missed where the guard passes a statement and has not seen it."""
    held, spoken, catalog = Held(), adapter(dialect).rules, _catalog(dialect)
    statements = Statements(Random(seed), dialect)
    options = {"sqlglot_dialect": spoken.sqlglot_dialect, "cte_scope": spoken.cte_scope}
    with Parser() as parser:
        while held.statements < count:
            sql = statements.statement()
            held.statements += 1
            read = reads(sql)
            if read is None:
                continue
            held.taken += 1
            held.tables += len(read)
            parsed = parser.parse(sql, dialect, catalog, spellings=spoken.spellings, brief=True, **options)
            seen = frozenset(table.name for table in parsed.tables)
            held.surplus += bool(seen - read)
            if not check(parsed, spoken, catalog).allowed:
                held.refused += 1
            elif unseen := read - seen:
                held.missed.append(f"{', '.join(sorted(unseen))}: {sql}")
    return held


@contextmanager
def reader(dialect: str) -> Iterator[Reads]:
    """Give the engine's word for what a statement reads."""
    opened = {"sqlite": _sqlite, "duckdb": _duckdb}.get(dialect)
    with ExitStack() as stack:
        yield stack.enter_context(_server(dialect) if opened is None else opened())


def _refused_without(run: Callable[[str, str], bool]) -> Reads:
    """Return a reader that tries a statement with every table, then with each of them missing."""

    def reads(sql: str) -> frozenset[str] | None:
        """Return the tables whose absence the engine minds."""
        return frozenset(name for name in TABLES if not run(name, sql)) if run("", sql) else None

    return reads


def _script(missing: str) -> list[str]:
    """Return what makes every table but one."""
    return [f"CREATE TABLE {name} (k VARCHAR(20), v VARCHAR(20))" for name in TABLES if name != missing]


@contextmanager
def _sqlite() -> Iterator[Reads]:
    """SQLite in this process; its authorizer is told of every column that is read."""
    with ExitStack() as stack:
        bases = {name: stack.enter_context(closing(sqlite3.connect(":memory:"))) for name in ("", *TABLES)}
        for missing, base in bases.items():
            base.executescript(";".join(_script(missing)))
        named: set[str] = set()

        def watch(action: int, table: str | None, column: str | None, *_: object) -> int:
            """Note the table of each column; a name without a column may be a CTE's."""
            if action == sqlite3.SQLITE_READ and column:
                named.add(str(table).lower())
            return sqlite3.SQLITE_OK

        bases[""].set_authorizer(watch)

        def run(missing: str, sql: str) -> bool:
            """Compile a statement."""
            try:
                bases[missing].execute(f"EXPLAIN {sql}").fetchall()
            except sqlite3.Error:
                return False
            return True

        without = _refused_without(run)

        def reads(sql: str) -> frozenset[str] | None:
            """Ask both ways."""
            named.clear()
            found = without(sql)
            return None if found is None else found | (named & set(TABLES))

        yield reads


@contextmanager
def _duckdb() -> Iterator[Reads]:
    """DuckDB in this process; its plan before any optimizer names every table that is scanned."""
    import duckdb

    with ExitStack() as stack:
        bases = {name: stack.enter_context(closing(duckdb.connect())) for name in ("", *TABLES)}
        for missing, base in bases.items():
            base.execute(";".join([*_script(missing), "PRAGMA disable_optimizer"]))
            for name in TABLES:
                if name != missing:
                    base.execute(f"INSERT INTO {name} VALUES ('{name}', '{name}')")

        def plan(missing: str, sql: str) -> str | None:
            """Return a statement's plan, None where it is refused."""
            try:
                return str(bases[missing].execute(f"EXPLAIN (FORMAT JSON) {sql}").fetchall()[0][1])
            except duckdb.Error:
                return None

        without = _refused_without(lambda missing, sql: plan(missing, sql) is not None)

        def reads(sql: str) -> frozenset[str] | None:
            """Ask both ways."""
            found = without(sql)
            return None if found is None else found | _scanned(str(plan("", sql)))

        yield reads


def _scanned(plan: str) -> frozenset[str]:
    """Return the tables a plan scans."""
    left, found = list(json.loads(plan)), set()
    while left:
        node = left.pop()
        left.extend(node["children"])
        table = node["extra_info"].get("Table")
        if table is not None:
            found.add(str(table).rsplit(".", 1)[-1].strip('"').lower())
    return frozenset(found & set(TABLES))


class _Source:
    """One row in every table, which tells of its table."""

    def rows(self, table: str) -> Iterator[Row]:
        """Yield the row."""
        yield table, table


def _snapshot(missing: str) -> Snapshot:
    """Return a snapshot of every table but one."""
    columns = (ColumnDef("k", Kind.TEXT, length=20), ColumnDef("v", Kind.TEXT, length=20))
    made = tuple(TableDef(name, columns) for name in TABLES if name != missing)
    name = f"without_{missing}" if missing else "whole"
    return Snapshot(name, name, f"guard-table-soak-{name}-1", made, _Source())


@contextmanager
def _server(dialect: str) -> Iterator[Reads]:
    """A server with one database that has every table, and one for each table that it lacks."""
    from sqlassay.sandboxes.registry import provider

    spoken, makes = adapter(dialect), provider("docker")
    sessions: dict[str, Session] = {}
    servers: list[Sandbox] = []
    try:
        image = makes.prepare(spoken, [_snapshot(missing) for missing in ("", *TABLES)], lambda line: None)

        def opened(missing: str) -> Session:
            """Return a kept login to the database that lacks a table, on a new server where there is none."""
            if not servers:
                servers.append(makes.start(spoken, image, Mode.READ, f"tables-{uuid4().hex[:8]}"))
            if missing not in sessions:
                sessions[missing] = servers[0].open(_snapshot(missing).database, Role.READER, Pins())
                sessions[missing].begin_read(_LIMITS)
            return sessions[missing]

        def run(missing: str, sql: str) -> bool:
            """Let a statement be explained as a reader, so that the engine finds every table."""
            session = opened(missing)
            try:
                # A name with its schema means the same place of each database.
                session.fetch(f"EXPLAIN {sql.replace('whole.', _snapshot(missing).database + '.')}", _LIMITS)
            except StatementError:
                session.rollback()
                session.begin_read(_LIMITS)
                return False
            return True

        without = _refused_without(run)

        def reads(sql: str) -> frozenset[str] | None:
            """Ask; a statement that a server does not survive tells nothing, and the next one gets another server."""
            try:
                return without(sql)
            except (SessionLostError, SandboxLostError):
                for session in sessions.values():
                    session.close()
                sessions.clear()
                for server in servers:
                    server.destroy()
                servers.clear()
                return None

        yield reads
    finally:
        for session in sessions.values():
            session.close()
        makes.close()


def _catalog(dialect: str) -> Catalog:
    """Return the catalogue of the whole database."""
    columns = tuple(CatalogColumn(name=name, kind=Kind.TEXT, declared="") for name in ("k", "v"))
    schema = {"postgres": "public", "mysql": "whole", "mariadb": "whole"}.get(dialect)
    tables = tuple(CatalogTable(name=name, columns=columns, schema_name=schema) for name in TABLES)
    return Catalog(dialect=dialect, snapshot="s", database="whole", engine_version="0", tables=tables)


def main(arguments: list[str]) -> None:
    """Soak each dialect and say what held; statements with a table missed end it with exit code 1."""
    count, seed = int(arguments[0]), int(arguments[1]) if len(arguments) > 1 else SEED
    failed = False
    for dialect in arguments[2:] or DIALECTS:
        began = time.monotonic()
        with reader(dialect) as reads:
            held = soak(dialect, count, seed, reads)
        missed = f"{len(held.missed)} with a table missed" if held.missed else "no table missed"
        print(
            f"{dialect}: {held.statements} statements, {held.taken} of them valid, reading {held.tables} tables, "
            f"{held.refused} refused, {held.surplus} with a table too many; {missed}; {time.monotonic() - began:.0f} s",
            flush=True,
        )
        for statement in held.missed[:10]:
            print(f"  {statement}")
        failed = failed or bool(held.missed)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
