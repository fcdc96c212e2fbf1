"""What lies around a sandbox and must not be touched from inside: files, a gold file, a listening port."""

from __future__ import annotations

import re
import secrets
import socket
from dataclasses import dataclass
from pathlib import Path

from sqlassay.sandboxes.scratch import Scratch

_PATH = re.compile(r"/[\w.-]+(?:/[\w.-]+)+")
"""A path of an attack's own choosing, as it stands in its text."""

_LONGEST = 4000


@dataclass(frozen=True, slots=True)
class Look:
    """What the surroundings looked like at one moment."""

    files: frozenset[tuple[str, int, int]]
    gold: bytes
    calls: int


class Surroundings:
    """A writable folder, a readable gold file with a canary, and a port, all outside every sandbox."""

    def __init__(self) -> None:
        """Lay them out; the canary is new every time, so nothing but this file can have given it away."""
        self.canary = f"host-gold-{secrets.token_hex(8)}"
        self._scratch = Scratch("redteam")
        self._root = self._scratch.path
        for folder in (self._scratch.folder, self._root):
            folder.chmod(0o755)
        self.folder = self._root / "open"
        self.folder.mkdir()
        self.folder.chmod(0o777)
        self.gold = self._root / "gold.json"
        self.gold.write_text(f'{{"q1": "{self.canary}"}}\n', encoding="utf-8")
        self.gold.chmod(0o644)
        self._calls = 0
        self._listener = socket.create_server(("0.0.0.0", 0), backlog=16)  # noqa: S104 - whoever gets out must be heard
        self._listener.setblocking(False)

    @property
    def values(self) -> dict[str, str]:
        """Return what templates call these things."""
        port = self._listener.getsockname()[1]
        return {
            "tmp": str(self.folder),
            "gold": str(self.gold),
            "listener_host": "127.0.0.1",
            "listener_port": str(port),
        }

    def look(self, sql: str = "") -> Look:
        """Return how things stand now, the host's files that a statement names among them."""
        named = {Path(path) for path in _PATH.findall(sql[:_LONGEST])}
        seen = [*self.folder.rglob("*"), *named]
        return Look(frozenset(_facts(path) for path in seen), self.gold.read_bytes(), self._heard())

    def close(self) -> None:
        """Remove them."""
        self._listener.close()
        self._scratch.close()

    def _heard(self) -> int:
        """Return how many connections were made to the port since it was opened."""
        while True:
            try:
                self._listener.accept()[0].close()
            except BlockingIOError:
                return self._calls
            self._calls += 1


def _facts(path: Path) -> tuple[str, int, int]:
    """Return a file's name, size and time of change."""
    try:
        status = path.lstat()
    except OSError:
        return str(path), -1, -1
    return str(path), status.st_size, status.st_mtime_ns


def changes(before: Look, after: Look) -> tuple[str, ...]:
    """Return the effects outside the sandbox between two looks."""
    found = []
    if after.files != before.files:
        found.append("files")
    if after.gold != before.gold:
        found.append("gold file")
    if after.calls != before.calls:
        found.append("socket")
    return tuple(found)
