"""The Postgres protocol for one statement at a time, so that no byte past a limit is ever held in memory.

libpq reads a whole row before it can be asked how large it is: one cell of 1 GB would fill the harness. Every
message of the protocol begins with its length, so reading it ourselves bounds memory exactly, and the row limit
of Execute makes the server stop by itself. Login and cancel stay with psycopg; this speaks over its socket.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BufferedReader

from sqlassay.cases.verdicts import FailureKind
from sqlassay.dialect_adapters.contract import Limits, SessionLostError, StatementError

_FATAL = frozenset({"FATAL", "PANIC"})
_RESOURCE_STATES = ("53", "54")
_ROW_OVERHEAD = 64
_BACKLOG = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Field:
    """A result column as the server describes it."""

    name: str
    type_oid: int


@dataclass(slots=True)
class RawResult:
    """A result as bytes: fields, and rows of text cells; `command` is the tag a statement without rows gives."""

    fields: tuple[Field, ...] = ()
    rows: list[tuple[bytes | None, ...]] = field(default_factory=list)
    size: int = 0


class Wire:
    """One logged-in connection. `broken` once it is out of step: it can then only be closed."""

    def __init__(self, descriptor: int) -> None:
        """Take a copy of a logged-in connection's socket."""
        self._socket = socket.socket(fileno=os.dup(descriptor))
        self._reader = BufferedReader(socket.SocketIO(self._socket, "r"), 65536)
        self.broken = False

    def deadline(self, seconds: float) -> None:
        """Let no single read or write wait longer than this."""
        if seconds != self._socket.gettimeout():
            self._socket.settimeout(seconds)

    def close(self) -> None:
        """Close the copy."""
        self._reader.close()
        self._socket.close()

    def simple(self, sql: str) -> RawResult:
        """Run our own trusted statements, several at once, by the simple protocol."""
        self._send(_message(b"Q", sql.encode() + b"\0"))
        return self._collect(Limits())

    def extended(self, sql: str, limits: Limits) -> RawResult:
        """Run exactly one statement; the server itself refuses a second one and stops past the row limit."""
        text = _encoded(sql)
        execute = _message(b"E", b"\0" + struct.pack("!i", limits.rows + 1))
        bind = _message(b"B", b"\0\0" + struct.pack("!HHH", 0, 0, 0))
        parse = _message(b"P", b"\0" + text + b"\0" + struct.pack("!H", 0))
        self._send(parse + bind + _message(b"D", b"P\0") + execute + _message(b"S", b""))
        return self._collect(limits)

    def _send(self, data: bytes) -> None:
        """Write everything."""
        try:
            self._socket.sendall(data)
        except OSError as error:
            self.broken = True
            raise SessionLostError("the connection broke while sending") from error

    def _collect(self, limits: Limits) -> RawResult:
        """Read messages up to ReadyForQuery; an error is raised only once the connection is in step again."""
        result = RawResult()
        failure: StatementError | None = None
        for kind, body in self._messages(limits):
            if kind == b"D":
                failure = failure or _add_row(result, body, limits)
                if failure is not None and failure.kind is FailureKind.TOO_MANY_BYTES:
                    self.broken = True
                    raise failure
            elif kind == b"T":
                result.fields = tuple(_fields(body))
            elif kind == b"E":
                failure = failure or self._error(body)
            else:
                failure = failure or self._odd(kind)
        if failure is not None:
            raise failure
        return result

    def _messages(self, limits: Limits) -> Iterator[tuple[bytes, bytes]]:
        """Yield (type, body) until ReadyForQuery, refusing what is longer than a whole result may be."""
        while True:
            kind, length = struct.unpack("!ci", self._read(5))
            if length - 4 > limits.result_bytes + _BACKLOG:
                self.broken = True
                raise StatementError(FailureKind.TOO_MANY_BYTES, f"a row of {length - 4} bytes passes the byte limit")
            body = self._read(length - 4)
            if kind == b"Z":
                return
            yield kind, body

    def _read(self, count: int) -> bytes:
        """Read exactly this many bytes."""
        try:
            data = self._reader.read(count)
        except OSError as error:
            self.broken = True
            raise SessionLostError("the connection broke or stayed silent") from error
        if len(data) != count:
            self.broken = True
            raise SessionLostError("the server closed the connection")
        return data

    def _odd(self, kind: bytes) -> StatementError | None:
        """Return what is wrong with a statement that asked for something other than rows."""
        if kind == b"I":
            return StatementError(FailureKind.ERROR, "the statement is empty")
        if kind == b"G":
            self._send(_message(b"f", b"not a query\0") + _message(b"S", b""))
        if kind in (b"G", b"H", b"W"):
            return StatementError(FailureKind.ERROR, "COPY is not a query")
        return None

    def _error(self, body: bytes) -> StatementError:
        """Turn an ErrorResponse into a failure with the engine's own primary message, or a lost session."""
        parts = {part[:1]: part[1:].decode(errors="replace") for part in body.split(b"\0") if part}
        state = parts.get(b"C", "")
        message = f"{parts.get(b'M', 'unknown error')} ({state})"
        if parts.get(b"V", parts.get(b"S", "")) in _FATAL and state not in ("25P04", "53300"):
            self.broken = True
            raise SessionLostError(message, exhausted=state.startswith(_RESOURCE_STATES))
        if parts.get(b"V") in _FATAL:
            self.broken = True
        return StatementError(_kind_of(state), message)


def _kind_of(state: str) -> FailureKind:
    """Return the failure kind of an SQLSTATE: cancelled is a timeout, classes 53 and 54 are resource limits."""
    if state in ("57014", "25P04", "55P03"):
        return FailureKind.TIMEOUT
    return FailureKind.RESOURCE_LIMIT if state.startswith(_RESOURCE_STATES) else FailureKind.ERROR


def _encoded(sql: str) -> bytes:
    """Return the statement's bytes; what the protocol cannot carry unchanged is the statement's own error."""
    if "\0" in sql:
        raise StatementError(FailureKind.ERROR, "the statement contains a NUL character")
    try:
        return sql.encode()
    except UnicodeEncodeError as error:
        raise StatementError(FailureKind.ERROR, "the statement is not valid Unicode text") from error


def _message(kind: bytes, body: bytes) -> bytes:
    """Frame one protocol message."""
    return kind + struct.pack("!i", len(body) + 4) + body


def _fields(body: bytes) -> Iterator[Field]:
    """Read a RowDescription."""
    (count,) = struct.unpack_from("!H", body)
    position = 2
    for _ in range(count):
        end = body.index(b"\0", position)
        (type_oid,) = struct.unpack_from("!I", body, end + 7)
        yield Field(body[position:end].decode(), type_oid)
        position = end + 19


def _add_row(result: RawResult, body: bytes, limits: Limits) -> StatementError | None:
    """Add a DataRow, or return which limit it passes."""
    if len(result.rows) >= limits.rows:
        return StatementError(FailureKind.TOO_MANY_ROWS, f"more than {limits.rows} rows")
    result.size += len(body) + _ROW_OVERHEAD
    if result.size > limits.result_bytes:
        return StatementError(FailureKind.TOO_MANY_BYTES, f"a result of more than {limits.result_bytes} bytes")
    (count,) = struct.unpack_from("!H", body)
    position = 2
    cells: list[bytes | None] = []
    for _ in range(count):
        (length,) = struct.unpack_from("!i", body, position)
        position += 4
        if length > limits.cell_bytes:
            return StatementError(FailureKind.TOO_MANY_BYTES, f"a cell of more than {limits.cell_bytes} bytes")
        cells.append(None if length < 0 else body[position : position + length])
        position += max(length, 0)
    result.rows.append(tuple(cells))
    return None
