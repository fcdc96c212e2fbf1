"""Small files kept on the host between runs, each under a digest: written whole or not at all, by any process."""

from __future__ import annotations

import fcntl
import logging
import secrets
import threading
from contextlib import suppress
from pathlib import Path

_DRAFTS = "drafts"

_log = logging.getLogger("sqlassay.gold")


class KeptFiles:
    """Files under one folder (mode 0700). A folder that cannot be written costs speed, not the run."""

    def __init__(self, folder: Path, suffix: str, *, told: bool = False) -> None:
        """Remove what killed runs left half-written; where others tell of a full disk, it is `told` already."""
        self._folder = folder
        self._suffix = suffix
        self._drafts = folder / _DRAFTS
        self._told = told
        self._telling = threading.Lock()  # several workers write: the first to fail says it
        _drop_drafts(self._drafts)

    def path(self, digest: str) -> Path:
        """Return the file of one digest."""
        return self._folder / digest[:2] / f"{digest}{self._suffix}"

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
                stream.write(content)
                stream.flush()
                draft.replace(path)
        except OSError as error:
            with self._telling:
                told, self._told = self._told, True
            if not told:
                _log.warning("gold could not be kept for the next run: %s", error)
            with suppress(OSError):
                draft.unlink(missing_ok=True)


def _drop_drafts(drafts: Path) -> None:
    """Remove the half-written files of killed runs: those that no process holds."""
    for path in drafts.glob("*"):
        with suppress(OSError), path.open("rb") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink(missing_ok=True)
