"""Frames on a stream socket: what a request and a reply look like in bytes."""

from __future__ import annotations

import base64
import json
import socket
import struct
from typing import Any

MEBI = 1024 * 1024
MAX_REQUEST = 4 * MEBI


def receive(sock: socket.socket) -> dict[str, Any] | None:
    """Return the next request, or None once the peer has gone."""
    header = receive_exactly(sock, 4)
    if header is None:
        return None
    (size,) = struct.unpack(">I", header)
    body = receive_exactly(sock, size) if size <= MAX_REQUEST else None
    if body is None:
        return None
    request = json.loads(body)
    return request if isinstance(request, dict) else None


def receive_exactly(sock: socket.socket, size: int) -> bytes | None:
    """Return `size` bytes, or None where the stream ends before."""
    parts = bytearray()
    while len(parts) < size:
        part = sock.recv(min(size - len(parts), MEBI))
        if not part:
            return None
        parts += part
    return bytes(parts)


def send(sock: socket.socket, value: dict[str, Any]) -> None:
    """Send one value as a frame."""
    body = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=encode).encode()
    sock.sendall(struct.pack(">I", len(body)) + body)


def encode(value: object) -> dict[str, str] | str:
    """Return the JSON form of what JSON lacks: bytes marked as such, a number or id by its text, as its kind says."""
    return {"b": base64.b64encode(value).decode()} if isinstance(value, bytes) else str(value)
