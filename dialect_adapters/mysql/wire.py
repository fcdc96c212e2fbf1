"""The MySQL text protocol for one statement at a time, so that no byte past a limit is ever held in memory.

PyMySQL logs in (TLS, authentication) and is then only asked for its socket: its own reader joins a whole packet
before anyone can ask how large it is. Without the MULTI_STATEMENTS flag the server refuses a second statement.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, field
from typing import Any

from sqlassay.cases.verdicts import FailureKind
from sqlassay.dialect_adapters.contract import Limits, SessionLostError, StatementError

_QUERY = b"\x03"
_HOST = re.compile(r"(?<=')@'[^']*'")
_LARGEST = 0xFFFFFF
_MORE_RESULTS = 0x0008
_ROW_OVERHEAD = 64
_LOST = frozenset({1053, 1152, 1153, 1159, 1161, 1927, 2006, 2013})
_LATE = frozenset({1205, 1969, 3024})
_RESOURCE = frozenset({3, 20, 201, 202, 1021, 1026, 1037, 1038, 1041, 1114, 1135, 1206, 1436, 3170, 4082, 4083})


@dataclass(frozen=True, slots=True)
class Field:
    """A result column as the server describes it."""

    name: str
    type_code: int
    charset: int
    length: int


@dataclass(slots=True)
class RawResult:
    """A result as bytes: fields and rows of text cells."""

    fields: tuple[Field, ...] = ()
    rows: list[tuple[bytes | None, ...]] = field(default_factory=list)
    size: int = 0


class Wire:
    """One logged-in connection. `broken` once it is out of step: it can then only be closed."""

    def __init__(self, connection: Any) -> None:
        """Take over the socket and the buffered reader of a logged-in PyMySQL connection."""
        self._socket = connection._sock
        self._reader = connection._rfile
        self._sequence = 0
        self.broken = False

    def deadline(self, seconds: float) -> None:
        """Let no single read or write wait longer than this."""
        self._socket.settimeout(seconds)

    def query(self, sql: str, limits: Limits) -> RawResult:
        """Run exactly one statement."""
        try:
            text = sql.encode()
        except UnicodeEncodeError as error:
            raise StatementError(FailureKind.ERROR, "the statement is not valid Unicode text") from error
        self._send(_QUERY + text)
        return self._collect(limits)

    def _send(self, data: bytes) -> None:
        """Write one command, in packets of at most 16 MB."""
        self._sequence = 0
        for start in range(0, len(data) + 1, _LARGEST):
            chunk = data[start : start + _LARGEST]
            try:
                self._socket.sendall(struct.pack("<I", len(chunk) | self._sequence << 24) + chunk)
            except OSError as error:
                self.broken = True
                raise SessionLostError("the connection broke while sending") from error
            self._sequence = (self._sequence + 1) % 256

    def _collect(self, limits: Limits) -> RawResult:
        """Read one whole result."""
        result = RawResult()
        first = self._packet(limits)
        if first[0] == 0xFB:
            raise self._given_up(StatementError(FailureKind.ERROR, "LOAD DATA is not a query"))
        if first[0] == 0x00:
            return result
        count, _ = _integer(first, 0)
        result.fields = tuple(_field(self._packet(limits)) for _ in range(count))
        self._packet(limits)
        while not _is_end(packet := self._packet(limits)):
            if failure := _add_row(result, packet, limits):
                raise self._given_up(failure)
        if struct.unpack_from("<H", packet, 3)[0] & _MORE_RESULTS:
            raise self._given_up(StatementError(FailureKind.ERROR, "the statement gives more than one result"))
        return result

    def _given_up(self, failure: StatementError) -> StatementError:
        """Note that the rest of the result stays unread."""
        self.broken = True
        return failure

    def _packet(self, limits: Limits) -> bytes:
        """Read one logical packet, refusing what is longer than a whole result may be; errors are raised."""
        parts: list[bytes] = []
        size = 0
        while True:
            header = int.from_bytes(self._read(4)[:3], "little")
            size += header
            if size > limits.result_bytes + _LARGEST:
                raise self._given_up(
                    StatementError(FailureKind.TOO_MANY_BYTES, f"a row of more than {limits.result_bytes} bytes")
                )
            parts.append(self._read(header))
            if header < _LARGEST:
                break
        packet = b"".join(parts)
        if packet[:1] == b"\xff":
            raise self._error(packet)
        return packet

    def _read(self, count: int) -> bytes:
        """Read exactly this many bytes."""
        try:
            data: bytes = self._reader.read(count)
        except OSError as error:
            self.broken = True
            raise SessionLostError("the connection broke or stayed silent") from error
        if len(data) != count:
            self.broken = True
            raise SessionLostError("the server closed the connection")
        return data

    def _error(self, packet: bytes) -> Exception:
        """Turn an error packet into a failure with the engine's own message, or a lost session."""
        (code,) = struct.unpack_from("<H", packet, 1)
        start = 9 if packet[3:4] == b"#" else 3
        # A login is named with the host it came from, which is ours and no one's business.
        message = f"{_HOST.sub('', packet[start:].decode(errors='replace'))} ({code})"
        if code in _LOST:
            self.broken = True
            return SessionLostError(message)
        return StatementError(_kind_of(code), message)


def _kind_of(code: int) -> FailureKind:
    """Return the failure kind of an error number."""
    if code in _LATE:
        return FailureKind.TIMEOUT
    return FailureKind.RESOURCE_LIMIT if code in _RESOURCE else FailureKind.ERROR


def _is_end(packet: bytes) -> bool:
    """Return whether a packet is the EOF that closes a list of rows."""
    return packet[0] == 0xFE and len(packet) < 9


def _integer(packet: bytes, position: int) -> tuple[int, int]:
    """Read a length-encoded integer; return it and the next position."""
    first = packet[position]
    if first < 0xFB:
        return first, position + 1
    width = {0xFC: 2, 0xFD: 3, 0xFE: 8}[first]
    return int.from_bytes(packet[position + 1 : position + 1 + width], "little"), position + 1 + width


def _field(packet: bytes) -> Field:
    """Read a column definition: six texts, then a fixed part."""
    position = 0
    texts: list[bytes] = []
    for _ in range(6):
        length, position = _integer(packet, position)
        texts.append(packet[position : position + length])
        position += length
    charset, length, type_code = struct.unpack_from("<HIB", packet, position + 1)
    return Field(texts[4].decode(errors="replace"), type_code, charset, length)


def _add_row(result: RawResult, packet: bytes, limits: Limits) -> StatementError | None:
    """Add a row, or return which limit it passes."""
    if len(result.rows) >= limits.rows:
        return StatementError(FailureKind.TOO_MANY_ROWS, f"more than {limits.rows} rows")
    result.size += len(packet) + _ROW_OVERHEAD
    if result.size > limits.result_bytes:
        return StatementError(FailureKind.TOO_MANY_BYTES, f"a result of more than {limits.result_bytes} bytes")
    position = 0
    cells: list[bytes | None] = []
    for _ in result.fields:
        if packet[position] == 0xFB:
            cells.append(None)
            position += 1
            continue
        length, position = _integer(packet, position)
        if length > limits.cell_bytes:
            return StatementError(FailureKind.TOO_MANY_BYTES, f"a cell of more than {limits.cell_bytes} bytes")
        cells.append(packet[position : position + length])
        position += length
    result.rows.append(tuple(cells))
    return None
