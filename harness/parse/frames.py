"""Length-framed JSON messages over a socket: how the parser and its worker talk."""

from __future__ import annotations

import json
import socket
import struct
import time

_HEADER = struct.Struct("!I")


def send(sock: socket.socket, message: object) -> None:
    """Send one message, within the timeout set on the socket."""
    body = json.dumps(message, separators=(",", ":")).encode("ascii")
    sock.sendall(_HEADER.pack(len(body)) + body)


def receive(sock: socket.socket, deadline: float | None = None) -> object:
    """Return the next message; `deadline` is a monotonic time.

    Raises:
        EOFError: the other side is gone.
        TimeoutError: the deadline passed.
    """
    (length,) = _HEADER.unpack(_exactly(sock, _HEADER.size, deadline))
    message: object = json.loads(_exactly(sock, length, deadline))
    return message


def _exactly(sock: socket.socket, length: int, deadline: float | None) -> bytes:
    """Read exactly `length` bytes before the deadline."""
    parts: list[bytes] = []
    while length > 0:
        if deadline is not None:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            sock.settimeout(left)
        part = sock.recv(min(length, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        length -= len(part)
    return b"".join(parts)
