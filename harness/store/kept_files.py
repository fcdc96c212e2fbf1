"""Small files kept on the host between runs, each named by what it depends on: written whole or not at all.

The first line of a file is the sha256 of the rest: a disk that changed one bit of it must not change a verdict.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import secrets
import threading
from contextlib import suppress
from pathlib import Path

_DRAFTS = "drafts"

_log = logging.getLogger("sqlassay.gold")


class KeptFiles:
    """Files under one folder (mode 0700). A folder that cannot be written costs speed, not the run."""

    def __init__(self, folder: Path, suffix: str, *, what: str, told: bool = False) -> None:
        """Remove what killed runs left half-written; where others tell of a full disk, it is `told` already.

        `what` names the content in messages.
        """
        self._folder = folder
        self._suffix = suffix
        self._what = what
        self._drafts = folder / _DRAFTS
        self._told = told
        self._telling = threading.Lock()  # several workers write: the first to fail says it
        _drop_drafts(self._drafts)

    def path(self, digest: str) -> Path:
        """Return the file of one digest."""
        return self._folder / digest[:2] / f"{digest}{self._suffix}"

    def read(self, digest: str) -> bytes | None:
        """Return the content that was written, None where there is none or its file has changed since."""
        path = self.path(digest)
        try:
            seal, _, content = path.read_bytes().partition(b"\n")
        except FileNotFoundError:
            return None
        except OSError as error:
            self.damaged(digest, error)
            return None
        if seal != _seal(content):
            self.damaged(digest, "its content is not what was written")
            return None
        return content

    def damaged(self, digest: str, why: object) -> None:
        """Say that a file cannot be used; whoever asked makes its content again and writes it anew."""
        _log.warning("kept %s %s is damaged and is made again: %s", self._what, self.path(digest).name, why)

    def write(self, digest: str, content: bytes) -> None:
        """Keep a content; where that cannot be done it is said once."""
        path = self.path(digest)
        draft = self._drafts / f"{digest}.{secrets.token_hex(4)}"
        try:
            for folder in (self._drafts, path.parent):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with draft.open("xb") as stream:
                # Held while it is written: a draft that nobody holds is what a killed run left.
                fcntl.flock(stream, fcntl.LOCK_EX)
                stream.write(_seal(content) + b"\n" + content)
                stream.flush()
                draft.replace(path)
        except OSError as error:
            with self._telling:
                told, self._told = self._told, True
            if not told:
                _log.warning("%s could not be kept for the next run: %s", self._what, error)
            with suppress(OSError):
                draft.unlink(missing_ok=True)


def _seal(content: bytes) -> bytes:
    """Return what a file begins with."""
    return hashlib.sha256(content).hexdigest().encode("ascii")


def _drop_drafts(drafts: Path) -> None:
    """Remove the half-written files of killed runs: those that no process holds."""
    for path in drafts.glob("*"):
        with suppress(OSError), path.open("rb") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink(missing_ok=True)
