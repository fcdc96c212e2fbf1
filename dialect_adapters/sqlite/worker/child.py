"""One session in a forked child: opens the database, runs statements under every limit, sends rows in chunks."""

from __future__ import annotations

import contextlib
import hashlib
import os
import resource
import signal
import socket
import sqlite3
import struct
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .clock import pin_clock
from .framing import MEBI, receive, send
from .policy import PRAGMA_TABLES, TABLE_FUNCTIONS, Policy, ReaderPolicy, harness_policy
from .writing import CHECK_TABLE, ENFORCED, WRITERS, WriterPolicy, connect

CHUNK_BYTES = 256 * 1024
LENGTH_LIMIT = 8 * MEBI
CELL_OVERHEAD = 8
PROGRESS_STEPS = 20_000
KILL_GRACE = 0.5
MAX_DESCRIPTORS = 64
DEFENSIVE = 1010
"""SQLITE_DBCONFIG_DEFENSIVE, which the sqlite3 module names from Python 3.12 on."""

Opened = tuple[sqlite3.Connection, Policy]


class LimitPassedError(Exception):
    """A result passed a row or byte limit while it was fetched."""

    def __init__(self, kind: str, message: str) -> None:
        """Keep the failure kind beside the message."""
        super().__init__(message)
        self.kind = kind


def text_or_bytes(raw: bytes) -> str | bytes:
    """Return TEXT as str; text that is not valid UTF-8 comes back as its bytes rather than as an error."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


def open_database(
    path: Path, *, role: str, shared: bool, clock: str | None, heap: int, visible: frozenset[str] | None = None
) -> Opened:
    """Open one database file with every limit and policy of the session's role set.

    Only a writer may write; a reader's file is immutable, unless it is `shared` with writers. A guest reads the
    `visible` tables, and what lies under the views among them.
    """
    writes = role in WRITERS
    db = connect(path, "rw" if writes else "ro" if shared else "ro&immutable=1")
    db.text_factory = text_or_bytes
    # Functions in place of the clock would be refused inside views otherwise.
    trusted = "ON" if clock and not pin_clock(db, clock) else "OFF"
    for setting in (f"query_only={'OFF' if writes else 'ON'}", f"trusted_schema={trusted}", "temp_store=MEMORY",
                    "cell_size_check=ON", f"hard_heap_limit={heap}", "mmap_size=0", "synchronous=OFF"):  # fmt: skip
        db.execute(f"PRAGMA {setting}")
    if writes and db.execute("PRAGMA application_id").fetchone() == (ENFORCED,):
        db.execute("PRAGMA foreign_keys=ON")
    schema = db.execute("SELECT name, sql LIKE 'CREATE VIRTUAL%' FROM sqlite_master").fetchall()
    tables = frozenset(str(name).lower() for name, _ in schema)
    virtual = ['"' + str(name).replace('"', '""') + '"' for name, is_virtual in schema if is_virtual]
    if role != "harness":
        set_limits(db)
    for table in (*TABLE_FUNCTIONS, *virtual, *((CHECK_TABLE,) if role == "owner" else ())):
        connect_virtual_table(db, table)
    policy = policy_of(db, role, tables)
    if visible is not None and isinstance(policy, ReaderPolicy):
        kept = tuple(
            f"{str(name).lower()}_" for name, is_virtual in schema if is_virtual and str(name).lower() in visible
        )
        hidden = frozenset(name for name in tables - visible if not (kept and name.startswith(kept)))
        policy.hide(hidden, *under_views(db, visible))
        db.set_authorizer(policy)
    db.set_authorizer(policy)
    return db, policy


def policy_of(db: sqlite3.Connection, role: str, tables: frozenset[str]) -> Policy:
    """Return what a role's statements may compile to; where the library can, the schema is shielded too."""
    if role not in WRITERS:
        return harness_policy if role == "harness" else ReaderPolicy(tables)
    if hasattr(db, "setconfig"):  # Python 3.12
        db.setconfig(DEFENSIVE, True)
    return WriterPolicy(db, owner=role == "owner")


def connect_virtual_table(db: sqlite3.Connection, table: str) -> None:
    """Make a virtual table known to the connection; its first use declares it, which the authorizer would deny."""
    with contextlib.suppress(sqlite3.Error):  # a module this library lacks: the statement itself will say so
        db.execute(f"SELECT 1 FROM {table} LIMIT 0")  # noqa: S608 - a listed module, or a quoted name of the schema


def under_views(db: sqlite3.Connection, visible: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the tables that the visible views read, as the library itself asks for them, and these views' names."""
    found: set[str] = set()

    def seen(action: int, first: str | None, *_: object) -> int:
        """Note each table that is read."""
        if action == sqlite3.SQLITE_READ and first:
            found.add(first.lower())
        return sqlite3.SQLITE_OK

    names = [str(name) for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'view'")]
    views = [name for name in names if name.lower() in visible]
    db.set_authorizer(seen)
    for name in views:
        quoted = '"' + name.replace('"', '""') + '"'
        with contextlib.suppress(sqlite3.Error):  # a view over what is gone: the statement itself will say so
            db.execute(f"EXPLAIN SELECT * FROM {quoted}")  # noqa: S608 - a quoted name of the schema
    return frozenset(found), frozenset(name.lower() for name in views)


def state_of(path: Path) -> str:
    """Return the sha256 of a database file, and of the log beside it, which holds changes as well."""
    digest = hashlib.sha256(path.read_bytes())
    for mark in ("-journal", "-wal"):
        beside = path.with_name(path.name + mark)
        if beside.is_file() and beside.stat().st_size:
            digest.update(mark.encode() + beside.read_bytes())
    return digest.hexdigest()


def set_limits(db: sqlite3.Connection) -> None:
    """Cap what one untrusted statement may ask of the parser and of one value."""
    for category, value in (
        (sqlite3.SQLITE_LIMIT_LENGTH, LENGTH_LIMIT),
        (sqlite3.SQLITE_LIMIT_SQL_LENGTH, MEBI),
        (sqlite3.SQLITE_LIMIT_ATTACHED, 0),
        (sqlite3.SQLITE_LIMIT_EXPR_DEPTH, 200),
        (sqlite3.SQLITE_LIMIT_COMPOUND_SELECT, 50),
        (sqlite3.SQLITE_LIMIT_COLUMN, 500),
        (sqlite3.SQLITE_LIMIT_WORKER_THREADS, 0),
    ):
        db.setlimit(category, value)


def failure_kind(error: BaseException) -> str:
    """Return the failure kind an error of the statement stands for."""
    if isinstance(error, LimitPassedError):
        return error.kind
    if isinstance(error, MemoryError):
        return "resource_limit"
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    kinds = {9: "timeout", 7: "resource_limit", 13: "resource_limit", 18: "too_many_bytes"}
    return kinds.get(code, "error")


def failure_message(error: BaseException) -> str:
    """Return one line about an error; Python's wording for two statements is replaced by ours."""
    text = str(error)
    if "one statement at a time" in text:
        return "only one statement may run"
    if isinstance(error, MemoryError):
        return "out of memory"
    return "interrupted: statement timeout" if text == "interrupted" else text or type(error).__name__


@dataclass
class Child:
    """A forked process that holds one session; it never returns into the parent's loop."""

    sock: socket.socket
    watch: int
    path: Path
    opened: Callable[[], Opened]
    deadline: float = 0.0

    def __post_init__(self) -> None:
        """Open the database."""
        self.db, self.policy = self.opened()

    def serve(self) -> None:
        """Answer requests until the client leaves, which undoes what it did not commit."""
        self.converse()
        if isinstance(self.policy, WriterPolicy) and self.db.in_transaction:
            self.unrestricted("ROLLBACK")

    def converse(self) -> None:
        """Answer requests until the client leaves."""
        while (request := receive(self.sock)) is not None:
            try:
                for reply in self.answer(request):
                    send(self.sock, reply)
            except OSError:
                return
            except Exception as error:  # noqa: BLE001 - whatever a statement raises is its own answer, not a crash
                send(self.sock, {"error": failure_kind(error), "message": failure_message(error)})
            if self.deadline:
                self.guard_time(0.0)

    def answer(self, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the replies to one request."""
        match request["op"]:
            case "fetch":
                yield from self.fetch(str(request["sql"]), request)
            case "seconds":
                yield self.seconds(str(request["sql"]), request)
            case "commit":
                yield self.commit()
            case "rollback":
                if self.db.in_transaction:
                    self.unrestricted("ROLLBACK")
                yield {"done": True}
            case "reset":
                self.db.close()
                self.db, self.policy = self.opened()
                yield {"done": True}
            case "digest":
                yield {"digest": state_of(self.path)}
            case other:
                yield {"error": "error", "message": f"unknown request {other}"}

    def begin(self, *, writes: bool) -> None:
        """Open a transaction; one for reading is READ ONLY for a writer too, one for writing is the only one."""
        if isinstance(self.policy, WriterPolicy):
            self.unrestricted(f"PRAGMA query_only={'OFF' if writes else 'ON'}")
        self.unrestricted("BEGIN IMMEDIATE" if writes else "BEGIN")

    def commit(self) -> dict[str, Any]:
        """Make the transaction's changes last; an error may have ended it before."""
        if not self.db.in_transaction:
            return {"error": "error", "message": "no transaction is open: the statement's error undid it"}
        self.unrestricted("COMMIT")
        return {"done": True}

    def unrestricted(self, sql: str) -> None:
        """Run a transaction statement of ours past the authorizer, which lets no client's statement do so."""
        self.db.set_authorizer(None)
        try:
            self.db.execute(sql)
        finally:
            self.db.set_authorizer(self.policy)

    def connect_pragma_tables(self, sql: str) -> None:
        """Connect the readable pragma tables a statement names; doing all of them always would cost each session."""
        text = sql.lower()
        named = [name for name in PRAGMA_TABLES if name in text]
        if named:
            self.db.set_authorizer(None)
            for name in named:
                connect_virtual_table(self.db, name)
            self.db.set_authorizer(self.policy)

    def guard_time(self, seconds: float) -> None:
        """Set the four clocks that end a statement: engine, parent, timer signal and CPU (0 = none runs)."""
        self.deadline = time.monotonic() + seconds if seconds else 0.0
        self.db.set_progress_handler(self.late if seconds else None, PROGRESS_STEPS)
        os.write(self.watch, struct.pack("<d", seconds))
        signal.setitimer(signal.ITIMER_REAL, seconds + 2 * KILL_GRACE if seconds else 0)
        usage = resource.getrusage(resource.RUSAGE_SELF)
        if seconds:
            cpu = int(usage.ru_utime + usage.ru_stime + seconds) + 2
            resource.setrlimit(resource.RLIMIT_CPU, (cpu, resource.RLIM_INFINITY))

    def late(self) -> bool:
        """Return True once the statement's time is over, which interrupts it."""
        return time.monotonic() > self.deadline

    def make_ready(self, sql: str, limits: dict[str, Any]) -> None:
        """Set the limits of one statement and open its transaction."""
        self.guard_time(float(limits["timeout"]))
        self.db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, max(LENGTH_LIMIT, int(limits["cell_bytes"])))
        self.connect_pragma_tables(sql)
        if limits["begin"] and not self.db.in_transaction:
            self.begin(writes=limits["begin"] == "write")
        if isinstance(self.policy, WriterPolicy):
            self.db.set_authorizer(None)
            self.policy.look(self.db)
            self.db.set_authorizer(self.policy)

    def seconds(self, sql: str, limits: dict[str, Any]) -> dict[str, Any]:
        """Run one statement to its last row, drop the rows, and return the seconds that took."""
        self.make_ready(sql, limits)
        began = time.perf_counter()
        deque(self.db.execute(sql), maxlen=0)
        return {"seconds": time.perf_counter() - began}

    def fetch(self, sql: str, limits: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Run one statement and yield its columns, its rows in chunks, and the end."""
        self.make_ready(sql, limits)
        cursor = self.db.execute(sql)
        yield {"columns": [column[0] for column in cursor.description or ()]}
        chunk: list[tuple[Any, ...]] = []
        pending = total = 0
        for count, row in enumerate(cursor, 1):
            if count > limits["rows"]:
                raise LimitPassedError("too_many_rows", f"more than {limits['rows']} rows")
            size = row_size(row, int(limits["cell_bytes"]))
            total, pending = total + size, pending + size
            if total > limits["result_bytes"]:
                raise LimitPassedError("too_many_bytes", f"the result is larger than {limits['result_bytes']} bytes")
            chunk.append(row)
            if pending > CHUNK_BYTES:
                yield {"rows": chunk}
                chunk, pending = [], 0
        yield {"rows": chunk}
        yield {"done": True}


def row_size(row: tuple[Any, ...], cell_limit: int) -> int:
    """Return the bytes a row counts for, with 8 a cell on top of text and blobs; refuse a cell past its limit."""
    size = CELL_OVERHEAD * len(row)
    for cell in row:
        if isinstance(cell, (str, bytes)):
            length = len(cell) if isinstance(cell, bytes) or cell.isascii() else len(cell.encode())
            if length > cell_limit:
                raise LimitPassedError("too_many_bytes", f"a cell is larger than {cell_limit} bytes")
            size += length
    return size


def limit_process(memory: int, file_size: int) -> None:
    """Cap a child's memory, file size (0 = it may write nothing), descriptors and processes."""
    for limit, value in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_FSIZE, file_size),
        (resource.RLIMIT_NOFILE, MAX_DESCRIPTORS),
        (resource.RLIMIT_NPROC, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(limit, (value, value))
