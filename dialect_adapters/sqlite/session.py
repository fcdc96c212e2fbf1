"""The host's side of a SQLite worker: a session is one connection, and every frame it reads is hostile until parsed."""

from __future__ import annotations

import base64
import contextlib
import json
import math
import socket
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC
from typing import Any, TypeVar

from sqlassay.cases.errors import InfrastructureError
from sqlassay.cases.relation import Column, Kind, Relation, Row
from sqlassay.cases.verdicts import FailureKind
from sqlassay.dialect_adapters.contract import Endpoint, Limits, Pins, Role, SessionLostError, StatementError

Answer = TypeVar("Answer")

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 30.0
ANSWER_GRACE = 5.0
RESET_SECONDS = 1.0
FRAME_LIMIT = 128 * 1024 * 1024
WIRE_FACTOR = 8
"""JSON may spell a byte as six characters; more than this times the byte limit is a worker gone wrong."""

_FATES = {
    "timeout": (FailureKind.TIMEOUT, "stopped at the statement timeout"),
    "cancelled": (FailureKind.TIMEOUT, "cancelled"),
    "resource_limit": (FailureKind.RESOURCE_LIMIT, "the statement's process was stopped by a limit"),
}
_KINDS: dict[type, Kind] = {int: Kind.INT, float: Kind.FLOAT64, str: Kind.TEXT, bytes: Kind.BYTES}


class SqliteSession:
    """One login to one database of a worker; the worker forks a process for it."""

    def __init__(self, endpoint: Endpoint, database: str, role: Role, pins: Pins) -> None:
        """Connect and open the database.

        Raises:
            SessionLostError: the worker does not answer.
            InfrastructureError: it answers, but does not hold this database.
        """
        self._endpoint = endpoint
        self._busy = False
        self._ended = False
        self._begin = ""
        self._sock = _connect(endpoint)
        try:
            asked = {"op": "open", "database": database, "role": role.value, "clock": _clock_text(pins)}
            answer = self._ask(asked if pins.visible is None else {**asked, "visible": list(pins.visible)})
        except StatementError as error:
            self._sock.close()
            raise InfrastructureError(
                f"SQLite cannot open database '{database}': {error.message}",
                remedy="Build the snapshot image again; its files are not what the catalogue says",
            ) from error
        except SessionLostError:
            self._sock.close()
            raise
        self._token = str(answer.get("token", ""))

    def begin_read(self, limits: Limits) -> None:
        """Have the next statement run in a transaction on the immutable file; it carries its limits itself."""
        del limits
        self._begin = "read"

    def begin_write(self, limits: Limits) -> None:
        """Have the next statement run in a transaction that can be committed; alone among writers from its start."""
        del limits
        self._begin = "write"

    def fetch(self, sql: str, limits: Limits) -> Relation:
        """Run exactly one statement and return its whole result.

        Raises:
            StatementError: the statement failed, or its process was stopped by a limit.
            SessionLostError: the process was cancelled, or the worker is gone.
        """
        request: dict[str, Any] = {"op": "fetch", "sql": sql, "timeout": limits.timeout, "rows": limits.rows}
        request |= {"result_bytes": limits.result_bytes, "cell_bytes": limits.cell_bytes}
        return self._run(request, limits, lambda: self._result(limits))

    def seconds(self, sql: str, limits: Limits) -> float:
        """Run exactly one query in the worker and return its seconds there; no row leaves the worker."""
        request: dict[str, Any] = {"op": "seconds", "sql": sql, "timeout": limits.timeout}
        request["cell_bytes"] = limits.cell_bytes
        return self._run(request, limits, self._timed)

    def _run(self, request: dict[str, Any], limits: Limits, answer: Callable[[], Answer]) -> Answer:
        """Send one statement and return what the answer is read as."""
        request["begin"], self._begin = self._begin, ""  # one message less to wait for
        self._busy = True
        try:
            self._sock.settimeout(limits.timeout + ANSWER_GRACE)
            self._send(request)
            found = answer()
        except SessionLostError:
            self._explain_loss()
            raise
        self._busy = False
        return found

    def _timed(self) -> float:
        """Return the seconds that the next frame tells."""
        seconds = self._receive()[0].get("seconds")
        if not isinstance(seconds, float) or not 0 <= seconds < math.inf:
            raise SessionLostError("the worker sent no seconds")
        return seconds

    def rollback(self) -> None:
        """End the transaction; where the statement's process was ended, its transaction ended with it."""
        if self._ended:
            return
        try:
            self._ask({"op": "rollback"})
        except SessionLostError:
            with contextlib.suppress(StatementError):  # a cancel may arrive just after the statement's own end
                self._explain_loss()
            if not self._ended:
                raise

    def commit(self) -> None:
        """Make what the statement changed last.

        Raises:
            StatementError: it cannot be kept: the disk is full, or the statement's own error undid it already.
            SessionLostError: the session's process is gone, and the transaction with it.
        """
        try:
            self._ask({"op": "commit"})
        except SessionLostError:
            self._explain_loss()
            raise

    def reset(self) -> bool:
        """Have the worker close its connection and open the database anew: nothing that SQLite holds outlives that.

        The process stays. What a statement could do to that, past the guard, ends with it only where none is kept.
        """
        if self._ended or self._busy:
            return False
        try:
            return self._ask({"op": "reset"}, RESET_SECONDS) == {"done": True}
        except (SessionLostError, StatementError):
            return False

    def cancel(self) -> None:
        """Ask the worker's parent to kill this session's process, over a connection of its own."""
        with contextlib.suppress(OSError, SessionLostError), _connect(self._endpoint) as sock:
            sock.sendall(_framed({"op": "cancel", "token": self._token}))
            sock.recv(1)  # closed by the parent once it has killed: the next statement meets no leftover

    def close(self) -> None:
        """Leave; a statement still running is killed rather than left to its deadline."""
        if self._busy:
            self.cancel()
        with contextlib.suppress(OSError):
            self._sock.close()

    def digest(self) -> str:
        """Return the sha256 of the database file as the worker sees it."""
        return str(self._ask({"op": "digest"}).get("digest", ""))

    def _result(self, limits: Limits) -> Relation:
        """Read the frames of one result, up to its end."""
        names: Sequence[str] = ()
        rows: list[Row] = []
        budget = limits.result_bytes * WIRE_FACTOR + FRAME_LIMIT
        while True:
            frame, size = self._receive()
            budget -= size
            if "done" in frame:
                return Relation(tuple(_columns(names, rows)), tuple(rows))
            if "columns" in frame:
                names = tuple(str(name) for name in frame["columns"])
            rows.extend(_rows(frame.get("rows", ()), len(names)))
            if budget < 0 or len(rows) > limits.rows:
                raise SessionLostError("the worker sent more than the limits allow")

    def _explain_loss(self) -> None:
        """Raise the statement's own failure where the worker says why it ended the process: the worker is sound."""
        try:
            fate = str(ask(self._endpoint, {"op": "fate", "token": self._token}).get("fate"))
        except (SessionLostError, StatementError):
            return
        if fate in _FATES:
            self._busy, self._ended = False, True
            raise StatementError(*_FATES[fate])

    def _ask(self, request: dict[str, Any], seconds: float = ANSWER_SECONDS) -> dict[str, Any]:
        """Send one request and return its single answer, which is waited for no longer than that many seconds."""
        self._sock.settimeout(seconds)
        self._send(request)
        return self._receive()[0]

    def _send(self, request: dict[str, Any]) -> None:
        """Send one request."""
        try:
            self._sock.sendall(_framed(request))
        except OSError as error:
            raise SessionLostError("the connection to the SQLite worker broke") from error

    def _receive(self) -> tuple[dict[str, Any], int]:
        """Return the next frame and its size; an error frame is raised as what it says."""
        frame, size = _receive(self._sock)
        if "error" in frame:
            self._busy = False
            raise StatementError(_kind(frame["error"]), str(frame.get("message", "")))
        return frame, size


def ask(endpoint: Endpoint, request: dict[str, Any]) -> dict[str, Any]:
    """Return the worker parent's answer to one request on a connection of its own.

    Raises:
        SessionLostError: the worker does not answer.
    """
    with _connect(endpoint) as sock:
        try:
            sock.sendall(_framed(request))
        except OSError as error:
            raise SessionLostError("the connection to the SQLite worker broke") from error
        return _receive(sock)[0]


def _connect(endpoint: Endpoint) -> socket.socket:
    """Return a connection to the worker."""
    try:
        if endpoint.socket is None:
            return socket.create_connection((endpoint.host, endpoint.port), CONNECT_SECONDS)
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(CONNECT_SECONDS)
        try:
            sock.connect(str(endpoint.socket))
        except OSError:
            sock.close()
            raise
    except OSError as error:
        raise SessionLostError("the SQLite worker does not answer") from error
    return sock


def _framed(request: dict[str, Any]) -> bytes:
    """Return a request as a frame; ASCII, so that any text a prediction holds can be sent."""
    body = json.dumps(request).encode("ascii")
    return struct.pack(">I", len(body)) + body


def _receive(sock: socket.socket) -> tuple[dict[str, Any], int]:
    """Return one frame and its size; anything that is not an object in time breaks the session."""
    try:
        (size,) = struct.unpack(">I", _exactly(sock, 4))
        if size > FRAME_LIMIT:
            raise SessionLostError("the worker sent a frame past the limit")
        frame = json.loads(_exactly(sock, size), object_hook=_bytes_cell)
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise SessionLostError("the connection to the SQLite worker broke") from error
    if not isinstance(frame, dict):
        raise SessionLostError("the worker sent something that is no frame")
    return frame, size


def _exactly(sock: socket.socket, size: int) -> bytes:
    """Return `size` bytes of the stream."""
    data = bytearray()
    while len(data) < size:
        part = sock.recv(min(size - len(data), 1 << 20))
        if not part:
            raise SessionLostError("the connection to the SQLite worker broke")
        data += part
    return bytes(data)


def _bytes_cell(value: dict[str, Any]) -> dict[str, Any] | bytes:
    """Return a blob cell as bytes, any other object as it is."""
    return base64.b64decode(value["b"]) if value.keys() == {"b"} else value


def _rows(rows: Iterable[object], width: int) -> Iterator[Row]:
    """Yield a chunk's rows; one of another width than the columns breaks the session."""
    for row in rows:
        if not isinstance(row, list) or len(row) != width:
            raise SessionLostError("the worker sent a row of another shape")
        yield tuple(row)


def _columns(names: Sequence[str], rows: Sequence[Row]) -> Iterator[Column]:
    """Yield each column with the kind all its values share: SQLite types values, not result columns."""
    for place, name in enumerate(names):
        found = {type(row[place]) for row in rows} - {type(None)}
        if not found <= _KINDS.keys():
            raise SessionLostError("the worker sent a value that SQLite does not have")
        yield Column(name, _KINDS[found.pop()] if len(found) == 1 else Kind.OTHER)


def _kind(name: object) -> FailureKind:
    """Return the failure kind a worker names."""
    try:
        return FailureKind(str(name))
    except ValueError:
        return FailureKind.ERROR


def _clock_text(pins: Pins) -> str | None:
    """Return the pinned moment as SQLite spells one, in UTC."""
    if pins.clock is None:
        return None
    moment = pins.clock if pins.clock.tzinfo is None else pins.clock.astimezone(UTC)
    return moment.strftime("%Y-%m-%d %H:%M:%S.") + f"{moment.microsecond // 1000:03d}"
