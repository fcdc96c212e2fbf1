"""A socket between sqlassay and the container engine that can refuse, hang, break off or answer with an error.

It breaks the engine for one command only, so it can be used while others work with the same engine.
"""

from __future__ import annotations

import contextlib
import re
import selectors
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

Mood = Literal["pass", "hang", "refuse", "full"]

ENGINE = "/var/run/docker.sock"
_FULL = b'{"message":"write /var/lib/docker/tmp: no space left on device"}'
_ANSWER = b"HTTP/1.1 500 Internal Server Error\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"


class EngineProxy:
    """Listens on a path; what it does with requests is its mood, which a test may change at any time."""

    def __init__(self, path: Path) -> None:
        """Listen and pass everything on."""
        self.path = path
        self.mood: Mood = "pass"
        self.seen: list[str] = []
        self.full_for = re.compile(r"^(POST|PUT) /v[\d.]+/(containers/create|commit|images/create|build)")
        self._open: set[socket.socket] = set()
        self._guard = threading.Lock()
        self._listen()

    @property
    def host(self) -> str:
        """Return what DOCKER_HOST is for this engine."""
        return f"unix://{self.path}"

    def _listen(self) -> None:
        """Accept connections in a thread."""
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self.path))
        self._listener.listen(64)
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def refuse(self) -> None:
        """Break off every connection and refuse new ones, as an engine that was killed does."""
        self.mood = "refuse"
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes whoever accepts
        self._listener.close()
        self.path.unlink(missing_ok=True)
        self.break_off()

    def come_back(self) -> None:
        """Answer again."""
        if self.mood == "refuse":
            self._listen()
        self.mood = "pass"

    def hang(self) -> None:
        """Take requests and never answer."""
        self.mood = "hang"

    def fill(self) -> None:
        """Answer whatever needs space as an engine whose disk is full."""
        self.mood = "full"

    def break_off(self) -> None:
        """Break off every connection, once."""
        with self._guard:
            broken, self._open = self._open, set()
        for side in broken:
            with contextlib.suppress(OSError):
                side.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Stop for good."""
        self.refuse()

    def _accept(self, listener: socket.socket) -> None:
        """Serve each connection in a thread of its own."""
        with contextlib.suppress(OSError):
            while True:
                client, _ = listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        """Pass on what client and engine say until either leaves."""
        with client, socket.socket(socket.AF_UNIX) as engine, contextlib.suppress(OSError):
            with self._guard:
                self._open.add(client)
            engine.connect(ENGINE)
            with selectors.DefaultSelector() as ready:
                ready.register(client, selectors.EVENT_READ, engine)
                ready.register(engine, selectors.EVENT_READ, client)
                while all(self._pass(key.fileobj, key.data, client) for key, _ in ready.select()):
                    pass
        with self._guard:
            self._open.discard(client)

    def _pass(self, source: socket.socket, sink: socket.socket, client: socket.socket) -> bool:
        """Pass one part on, as the mood is, and return False once its source has left."""
        part = source.recv(1 << 16)
        line = part.split(b"\r\n", 1)[0].decode("latin-1") if source is client else ""
        if line.endswith("HTTP/1.1"):
            self.seen.append(line.removesuffix(" HTTP/1.1"))
        if self.mood == "hang":
            return bool(part)
        if self.mood == "full" and self.full_for.match(line):
            source.sendall(_ANSWER % (len(_FULL), _FULL))
        else:
            sink.sendall(part)
        return bool(part)


@contextlib.contextmanager
def proxied(folder: Path) -> Iterator[EngineProxy]:
    """Give a proxy in a folder and close it in the end."""
    proxy = EngineProxy(folder / "engine.sock")
    try:
        yield proxy
    finally:
        proxy.close()
