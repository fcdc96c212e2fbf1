"""File locks: one build of one key at a time, and proof that a run is still alive. The kernel frees them at death."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from sqlassay.sandboxes.cache import private_folder, unusable


@contextmanager
def exclusive(folder: Path, name: str, on_wait: Callable[[], None] | None = None) -> Iterator[None]:
    """Hold `<folder>/<name>.lock` alone, waiting for whoever has it; the file stays, so no waiter is left behind.

    `on_wait` is called once where there is somebody to wait for.

    Raises:
        InfrastructureError: the file cannot be written.
    """
    private_folder(folder)
    with _opened(folder / f"{name}.lock") as stream:
        if not _try_exclusive(stream):
            if on_wait is not None:
                on_wait()
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield


class RunLock:
    """Says "this run lives" for as long as its process does; several holders in one run share it."""

    def __init__(self, folder: Path, run_id: str) -> None:
        """Take the lock `<folder>/<run_id>.lock`, shared."""
        self.path = private_folder(folder) / f"{run_id}.lock"
        self._stream: IO[str] | None = _held(self.path)

    def release(self) -> None:
        """Let go; the last holder removes the file. Idempotent."""
        stream, self._stream = self._stream, None
        if stream is None:
            return
        with stream:
            if _try_exclusive(stream):
                self.path.unlink(missing_ok=True)


def _opened(path: Path) -> IO[str]:
    """Open a lock file, created where it is missing."""
    try:
        return path.open("a", encoding="utf-8")
    except OSError as error:
        raise unusable(path, error) from error


def _held(path: Path) -> IO[str]:
    """Open and share-lock the file at `path`, again where its last holder removed it meanwhile."""
    while True:
        stream = _opened(path)
        fcntl.flock(stream, fcntl.LOCK_SH)
        if path.exists() and path.stat().st_ino == os.fstat(stream.fileno()).st_ino:
            return stream
        stream.close()


def _try_exclusive(stream: IO[str]) -> bool:
    """Return True where nobody else holds the lock of this open file."""
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_free(path: Path) -> bool | None:
    """Return True where a run's lock file exists and nobody holds it, False where held, None where there is none."""
    try:
        with path.open("r+", encoding="utf-8") as stream:
            return _try_exclusive(stream)
    except OSError:
        return None


def remove_free(path: Path) -> bool:
    """Remove a run's lock file that nobody holds; whoever opened it meanwhile sees it gone and makes another."""
    try:
        with path.open("r+", encoding="utf-8") as stream:
            if not _try_exclusive(stream):
                return False
            path.unlink(missing_ok=True)
            return True
    except OSError:
        return False
