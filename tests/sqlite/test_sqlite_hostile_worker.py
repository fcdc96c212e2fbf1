"""A worker taken over by a statement can break its session, and nothing else of the harness."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from sqlassay.dialect_adapters.contract import Endpoint, Limits, Pins, Role, SessionLostError
from sqlassay.dialect_adapters.sqlite.adapter import SqliteAdapter
from sqlassay.dialect_adapters.sqlite.session import SqliteSession

COLUMNS = b'{"columns": ["a", "b"]}'


def framed(*bodies: bytes) -> bytes:
    """Return bodies as frames."""
    return b"".join(struct.pack(">I", len(body)) + body for body in bodies)


class Liar:
    """A server that opens every session and then answers a statement with fixed bytes."""

    def __init__(self, path: Path, answer: bytes) -> None:
        """Listen at `path`."""
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(str(path))
        self._server.listen()
        self._answer = answer
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        """Answer until closed."""
        with suppress(OSError):
            while True:
                conn, _ = self._server.accept()
                with conn:
                    conn.recv(65536)
                    conn.sendall(framed(json.dumps({"token": "t"}).encode()))
                    if conn.recv(65536):
                        conn.sendall(self._answer)

    def close(self) -> None:
        """Stop."""
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self._thread.join(2)


@pytest.fixture
def liar(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Endpoint]:
    """An endpoint where the parameter's bytes are the answer."""
    with closing(Liar(tmp_path / "s", request.param)):
        yield Endpoint(socket=tmp_path / "s")


@pytest.mark.parametrize(
    "liar",
    [
        struct.pack(">I", 2**31) + b"x",
        framed(b"[1, 2]"),
        framed(b"no json"),
        framed(b"[" * 100_000),
        framed(b'{"rows": [[{"b": 5}]]}'),
        framed(b'{"columns": ["a"], "rows": [[{"b": "x"}]]}'),
        framed(COLUMNS, b'{"rows": [[1]]}', b'{"done": true}'),
        framed(COLUMNS, b'{"rows": [5]}', b'{"done": true}'),
        framed(COLUMNS, b'{"rows": [[1, {"x": 2}]]}', b'{"done": true}'),
        framed(COLUMNS, b'{"rows": [[true, 2]]}', b'{"done": true}'),
        framed(COLUMNS, b'{"rows": [[1, 2], [1, 2], [1, 2]]}', b'{"done": true}'),
        framed(COLUMNS)[:-3],
    ],
    indirect=True,
    ids=lambda value: str(value[4:44]),
)
def test_a_lie_breaks_the_session(liar: Endpoint) -> None:
    """Frames too large, not JSON, of a wrong shape or past the limits are a lost session."""
    with closing(SqliteSession(liar, "w", Role.READER, Pins())) as session, pytest.raises(SessionLostError):
        session.fetch("SELECT 1", Limits(timeout=1, rows=2))


@pytest.mark.parametrize("liar", [framed(COLUMNS, b'{"rows": [[1, "x"]]}', b'{"done": true}')], indirect=True)
def test_the_truth_passes(liar: Endpoint) -> None:
    """The same server telling nothing wrong is believed, so the tests above fail for the lie alone."""
    with closing(SqliteSession(liar, "w", Role.READER, Pins())) as session:
        assert session.fetch("SELECT 1", Limits(timeout=1, rows=2)).rows == ((1, "x"),)


@pytest.mark.parametrize("liar", [b""], indirect=True)
def test_a_ping_wants_a_version(liar: Endpoint) -> None:
    """Something that answers without naming its engine is not up."""
    assert SqliteAdapter().ping(liar) is False
