"""Both wires refuse what is too large by its announced length, before a byte of it is read."""

from __future__ import annotations

import contextlib
import io
import socket
import struct
import threading
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from sqlassay.cases.verdicts import FailureKind
from sqlassay.dialect_adapters.contract import Limits, SessionLostError, StatementError
from sqlassay.dialect_adapters.mysql.wire import Wire as MysqlWire
from sqlassay.dialect_adapters.postgres.wire import Wire as PostgresWire

LIMITS = Limits(timeout=5, rows=2, result_bytes=1000, cell_bytes=100)


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Our end and the server's end of a connection."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def send(sock: socket.socket, data: bytes) -> None:
    """Send until our end hangs up."""
    with contextlib.suppress(OSError):
        sock.sendall(data)


def postgres(pair: tuple[socket.socket, socket.socket], answer: bytes) -> PostgresWire:
    """Return a wire to a server that has already answered."""
    ours, theirs = pair
    threading.Thread(target=send, args=(theirs, answer), daemon=True).start()
    wire = PostgresWire(ours.fileno())
    wire.deadline(2)
    return wire


def message(kind: bytes, body: bytes = b"") -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body


def error(severity: str, state: str, text: str) -> bytes:
    return message(b"E", f"S{severity}\0V{severity}\0C{state}\0M{text}\0\0".encode())


FIELD = message(b"T", b"\0\1" + b"v\0" + struct.pack("!IHIhih", 0, 0, 25, -1, -1, 0))


def row(cell: bytes) -> bytes:
    return message(b"D", struct.pack("!Hi", 1, len(cell)) + cell)


DONE = message(b"Z", b"T")


def test_postgres_refuses_a_huge_row_by_its_length(pair: tuple[socket.socket, socket.socket]) -> None:
    """A row that announces 1 GB is refused although not a byte of it has arrived."""
    wire = postgres(pair, FIELD + b"D" + struct.pack("!i", 2**30))
    with pytest.raises(StatementError, match="bytes") as caught:
        wire.extended("SELECT 1", LIMITS)
    assert caught.value.kind is FailureKind.TOO_MANY_BYTES
    assert wire.broken is True
    wire.close()


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (FIELD + row(b"x" * 101) + DONE, FailureKind.TOO_MANY_BYTES),
        (FIELD + row(b"") * 3 + DONE, FailureKind.TOO_MANY_ROWS),
        (message(b"I") + DONE, FailureKind.ERROR),
        (message(b"H") + message(b"d", b"x") + message(b"c") + DONE, FailureKind.ERROR),
        (error("ERROR", "42601", "syntax") + DONE, FailureKind.ERROR),
        (error("ERROR", "57014", "late") + DONE, FailureKind.TIMEOUT),
        (error("ERROR", "53400", "temp") + DONE, FailureKind.RESOURCE_LIMIT),
        (error("ERROR", "54001", "stack") + DONE, FailureKind.RESOURCE_LIMIT),
    ],
)
def test_postgres_answers_have_their_failure(
    pair: tuple[socket.socket, socket.socket], answer: bytes, kind: FailureKind
) -> None:
    """Each way a statement can fail has its kind."""
    wire = postgres(pair, answer)
    with pytest.raises(StatementError) as caught:
        wire.extended("SELECT 1", LIMITS)
    assert caught.value.kind is kind
    wire.close()


@pytest.mark.parametrize("answer", [b"", FIELD[:3], error("FATAL", "57P01", "shutdown")])
def test_postgres_breaks_are_lost_sessions(pair: tuple[socket.socket, socket.socket], answer: bytes) -> None:
    """A closed or half answer, and a server that goes down, are a lost session."""
    wire = postgres(pair, answer)
    pair[1].shutdown(socket.SHUT_WR) if not answer else None
    wire.deadline(0.2)
    with pytest.raises(SessionLostError):
        wire.extended("SELECT 1", LIMITS)
    assert wire.broken is True
    wire.close()


def mysql(pair: tuple[socket.socket, socket.socket], *packets: bytes) -> MysqlWire:
    """Return a wire to a server that has already answered."""
    ours, theirs = pair
    answer = b"".join(
        struct.pack("<I", len(packet) | number + 1 << 24) + packet for number, packet in enumerate(packets)
    )
    threading.Thread(target=send, args=(theirs, answer), daemon=True).start()
    reader = io.BufferedReader(socket.SocketIO(ours, "r"))
    wire = MysqlWire(SimpleNamespace(_sock=ours, _rfile=reader))
    wire.deadline(2)
    return wire


COLUMN = b"\3def\0\0\0\1v\0\x0c" + struct.pack("<HIBHBxx", 255, 10, 253, 0, 0)
EOF = b"\xfe\0\0\2\0"


def test_mysql_reads_a_whole_result(pair: tuple[socket.socket, socket.socket]) -> None:
    """Cells of every length form and NULL are read up to the closing EOF."""
    wire = mysql(pair, b"\1", COLUMN, EOF, b"\1x", b"\xfb", EOF)
    result = wire.query("SELECT 1", LIMITS)
    assert result.fields[0].name == "v"
    assert result.rows == [(b"x",), (None,)]
    assert wire.broken is False


@pytest.mark.parametrize(
    ("packets", "kind", "broken"),
    [
        ((b"\1", COLUMN, EOF, bytes([101]) + b"x" * 101), FailureKind.TOO_MANY_BYTES, True),
        ((b"\1", COLUMN, EOF, b"\0", b"\0", b"\0"), FailureKind.TOO_MANY_ROWS, True),
        ((b"\1", COLUMN, EOF, b"\xfe\0\0\x0a\0"), FailureKind.ERROR, True),
        ((b"\xfb/etc/hostname",), FailureKind.ERROR, True),
        ((b"\xff\x28\x04#42000bad",), FailureKind.ERROR, False),
        ((b"\xff" + struct.pack("<H", 3024) + b"#HY000late",), FailureKind.TIMEOUT, False),
        ((b"\xff" + struct.pack("<H", 1114) + b"#HY000full",), FailureKind.RESOURCE_LIMIT, False),
    ],
)
def test_mysql_answers_have_their_failure(
    pair: tuple[socket.socket, socket.socket], packets: tuple[bytes, ...], kind: FailureKind, *, broken: bool
) -> None:
    """Each way a statement can fail has its kind, and a result left unread breaks the connection."""
    wire = mysql(pair, *packets)
    with pytest.raises(StatementError) as caught:
        wire.query("SELECT 1", LIMITS)
    assert caught.value.kind is kind
    assert wire.broken is broken


def test_mysql_refuses_a_huge_row_by_its_length(pair: tuple[socket.socket, socket.socket]) -> None:
    """A row that announces 2 × 16 MB against a limit of 1 KB is refused before its second packet is read."""
    wire = mysql(pair, b"\1", COLUMN, EOF)
    full = struct.pack("<I", 0xFFFFFF | 4 << 24) + b"x" * 0xFFFFFF + b"\xff\xff\xff\5"
    threading.Thread(target=send, args=(pair[1], full), daemon=True).start()
    with pytest.raises(StatementError) as caught:
        wire.query("SELECT 1", LIMITS)
    assert caught.value.kind is FailureKind.TOO_MANY_BYTES


def test_mysql_messages_name_no_host(pair: tuple[socket.socket, socket.socket]) -> None:
    """A refused right names the login, not where it came from."""
    wire = mysql(pair, b"\xff\x76\x04#42000SELECT command denied to user 'r_shop'@'10.0.0.1' for table 't'")
    with pytest.raises(StatementError) as caught:
        wire.query("SELECT 1", LIMITS)
    assert caught.value.message == "SELECT command denied to user 'r_shop' for table 't' (1142)"


def test_mysql_server_gone_is_a_lost_session(pair: tuple[socket.socket, socket.socket]) -> None:
    """A server that shuts down under the statement is a lost session."""
    wire = mysql(pair, b"\xff" + struct.pack("<H", 1053) + b"#08S01shutdown")
    with pytest.raises(SessionLostError):
        wire.query("SELECT 1", LIMITS)
