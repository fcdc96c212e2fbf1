"""One session in a forked child: opens the database, runs statements under every limit, sends rows in chunks."""

from __future__ import annotations

import hashlib
import os
import resource
import signal
import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb

from .clock import pin_clock
from .complaint import LimitPassedError, failure_kind, failure_message
from .files import connect, locked, stripped
from .framing import receive, send
from .kinds import Spec, described, flat, selected
from .statements import WRITERS, DeniedError, body, check, one_statement, type_name

CHUNK_BYTES = 256 * 1024
CELL_OVERHEAD = 8
FETCHED = 256
KILL_GRACE = 0.5
MAX_DESCRIPTORS = 64


class Child:
    """A forked process that holds one session; it never returns into the parent's loop.

    The file is opened by the first statement, which says whether it is written: who reads shares it with other
    readers, who writes has it alone. Where the parent holds it open already, nothing is opened.
    """

    def __init__(
        self,
        sock: socket.socket,
        watch: int,
        path: Path,
        role: str,
        clock: str,
        memory: int,
        opened: duckdb.DuckDBPyConnection | None = None,
        visible: frozenset[str] | None = None,
    ) -> None:
        """Take the client's socket, the pipe of deadlines, the file, what the session may do, its moment and room.

        A guest's tables are the `visible` ones.
        """
        self.visible = visible
        self.opened = opened
        self.sock, self.watch, self.path = sock, watch, path
        self.role, self.clock, self.memory = role, clock, memory
        self.db: duckdb.DuckDBPyConnection | None = None
        self.open = False
        self.writes = False
        self.trusts = False

    def serve(self, *, trusts: bool) -> None:
        """Answer requests until the client leaves, which undoes what it did not commit.

        `trusts` says that the harness's own scripts may run here.
        """
        self.trusts = trusts
        try:
            self.converse()
        finally:
            if self.writes and self.db is not None:  # a reader's copy ends with the process
                self.db.close()

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
            self.guard_time(0.0)

    def answer(self, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the replies to one request."""
        match request["op"]:
            case "fetch":
                yield from self.fetch(str(request["sql"]), request)
            case "seconds":
                yield self.seconds(str(request["sql"]), request)
            case "script" if self.trusts and self.role == "harness":
                yield self.script(str(request["sql"]), float(request["timeout"]))
            case "commit":
                yield self.commit()
            case "rollback":
                if self.open and self.db is not None:
                    self.open = False
                    self.db.execute("ROLLBACK")
                yield {"done": True}
            case "digest":
                yield {"digest": state_of(self.path)}
            case other:
                yield {"error": "error", "message": f"unknown request {other}"}

    def connected(self, seconds: float, *, writes: bool) -> duckdb.DuckDBPyConnection:
        """Return the connection, opening the file anew where it was opened for less."""
        if self.db is not None and writes and not self.writes:
            self.db.close()
            self.db, self.open = None, False
        if self.db is None:
            held, self.opened, self.writes = self.opened, None, writes
            if self.visible is not None:
                self.db = stripped(self.path, self.memory, self.visible)
            else:
                self.db = held if held and not writes else connect(self.path, self.memory, writes=writes)
            if self.clock:
                pin_clock(self.db, self.clock)
            locked(self.db, seconds)
        return self.db

    def begin(self, db: duckdb.DuckDBPyConnection, *, writes: bool) -> None:
        """Open a transaction; one for reading is READ ONLY whoever asks."""
        db.execute("BEGIN" if writes else "BEGIN TRANSACTION READ ONLY")
        self.open = True

    def commit(self) -> dict[str, Any]:
        """Make the transaction's changes last, in the file itself."""
        if not self.open or self.db is None:
            return {"error": "error", "message": "no transaction is open"}
        self.open = False
        self.db.execute("COMMIT")
        self.db.execute("CHECKPOINT")
        return {"done": True}

    def script(self, sql: str, seconds: float) -> dict[str, Any]:
        """Run trusted statements, one after another, and make what they changed last."""
        self.guard_time(seconds)
        db = self.connected(seconds, writes=True)
        self.begin(db, writes=True)
        db.execute(sql)
        return self.commit()

    def guard_time(self, seconds: float) -> None:
        """Set the clocks outside the engine that end a statement: parent, timer signal and CPU (0 = none runs)."""
        os.write(self.watch, struct.pack("<d", seconds))
        signal.setitimer(signal.ITIMER_REAL, seconds + 2 * KILL_GRACE if seconds else 0)
        if seconds:
            usage = resource.getrusage(resource.RUSAGE_SELF)
            cpu = int(usage.ru_utime + usage.ru_stime + seconds) + 2
            resource.setrlimit(resource.RLIMIT_CPU, (cpu, resource.RLIM_INFINITY))

    def make_ready(self, sql: str, limits: dict[str, Any]) -> tuple[duckdb.DuckDBPyConnection, duckdb.Statement]:
        """Set the limits of one statement, look whether the role may run it, and open its transaction."""
        seconds, alone = float(limits["timeout"]), not limits["begin"] and not self.open
        writes = limits["begin"] == "write" or (self.open and self.writes) or (alone and self.role in WRITERS)
        self.guard_time(seconds)
        db = self.connected(seconds, writes=writes)
        statement = one_statement(db, sql)
        check(statement, sql, self.role, writes=writes)
        if not self.open and not alone:
            self.begin(db, writes=writes)
        return db, statement

    def seconds(self, sql: str, limits: dict[str, Any]) -> dict[str, Any]:
        """Run one statement to its last row, drop the rows, and return the seconds that took."""
        db, _ = self.make_ready(sql, limits)
        began = time.perf_counter()
        result = db.execute(sql)
        while result.fetchmany(FETCHED):
            pass
        return {"seconds": time.perf_counter() - began}

    def fetch(self, sql: str, limits: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Run one statement and yield its columns, its rows in chunks, and the end."""
        db, statement = self.make_ready(sql, limits)
        names, specs, result = self.run(db, statement, sql)
        yield {"columns": [[name, spec] for name, spec in zip(names, specs, strict=True)]}
        yield from self.rows(result, limits, specs)
        yield {"done": True}

    def run(
        self, db: duckdb.DuckDBPyConnection, statement: duckdb.Statement, sql: str
    ) -> tuple[list[str], list[Spec], duckdb.DuckDBPyConnection]:
        """Return a statement's column names, what they hold, and its running result."""
        if type_name(statement) not in ("SELECT", "MULTI"):
            result = db.execute(sql)
            found = result.description or []
            return [str(one[0]) for one in found], [described(one[1])[0] for one in found], result
        text = body(sql)
        bound = db.sql(text)
        if bound is None:
            raise DeniedError("the statement gives no result")
        columns = [described(kind) for kind in bound.types]
        names = [str(name) for name in bound.columns]
        casts = [cast for _, cast in columns]
        result = db.execute(selected(text, casts) if any(casts) else text)
        return names, [spec for spec, _ in columns], result

    def rows(
        self, result: duckdb.DuckDBPyConnection, limits: dict[str, Any], specs: list[Spec]
    ) -> Iterator[dict[str, Any]]:
        """Yield a result's rows in chunks, up to its limits."""
        chunk: list[tuple[Any, ...]] = []
        count = pending = total = 0
        while fetched := result.fetchmany(FETCHED):
            count += len(fetched)
            if count > limits["rows"]:
                raise LimitPassedError("too_many_rows", f"more than {limits['rows']} rows")
            nested = not all(isinstance(spec, str) for spec in specs)
            for found in fetched:
                row = tuple(map(flat, found, specs)) if nested else found
                size = sum(cell_size(cell, int(limits["cell_bytes"])) for cell in row)
                total, pending = total + size, pending + size
                if total > limits["result_bytes"]:
                    raise LimitPassedError(
                        "too_many_bytes", f"the result is larger than {limits['result_bytes']} bytes"
                    )
                chunk.append(row)
            if pending > CHUNK_BYTES:
                yield {"rows": chunk}
                chunk, pending = [], 0
        yield {"rows": chunk}


def state_of(path: Path) -> str:
    """Return the sha256 of a database file, and of the log beside it, which holds changes as well."""
    digest = hashlib.sha256(path.read_bytes())
    for mark in (".wal",):
        beside = path.with_name(path.name + mark)
        if beside.is_file() and beside.stat().st_size:
            digest.update(mark.encode() + beside.read_bytes())
    return digest.hexdigest()


def cell_size(cell: object, limit: int) -> int:
    """Return the bytes a cell counts for, with 8 on top of its text, blob or elements; refuse one past its limit."""
    if isinstance(cell, (str, bytes)):
        length = len(cell) if isinstance(cell, bytes) or cell.isascii() else len(cell.encode())
    elif isinstance(cell, (list, tuple)):
        length = sum(cell_size(one, limit) for one in cell)
    else:
        length = 0
    if length > limit:
        raise LimitPassedError("too_many_bytes", f"a cell is larger than {limit} bytes")
    return length + CELL_OVERHEAD


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
