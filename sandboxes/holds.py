"""Who uses an image now: a shared lock a run and image, so that no collection takes one away under a live run."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlassay.sandboxes.cache import private_folder, unusable
from sqlassay.sandboxes.locks import RunLock, is_free, remove_free

_FOLDER = "uses"


def hold(cache: Path, key: str) -> RunLock:
    """Say that this process uses the image of `key`, until released or dead; waits while it is being removed."""
    return RunLock(cache / _FOLDER, key)


def is_held(cache: Path, key: str) -> bool:
    """Return True where a live process uses the image."""
    return is_free(_path(cache, key)) is False


@contextmanager
def unheld(cache: Path, key: str) -> Iterator[bool]:
    """Yield True where nobody uses the image: whoever wants it meanwhile waits until this ends; else yield False.

    Raises:
        InfrastructureError: the lock cannot be written.
    """
    private_folder(cache / _FOLDER)
    path = _path(cache, key)
    try:
        stream = path.open("a", encoding="utf-8")
    except OSError as error:
        raise unusable(path, error) from error
    with stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        try:
            yield True
        finally:
            # Removed while held: a waiter sees its file gone and makes another.
            path.unlink(missing_ok=True)


def sweep(cache: Path) -> None:
    """Remove the lock files that killed runs left."""
    for path in (cache / _FOLDER).glob("*.lock"):
        remove_free(path)


def _path(cache: Path, key: str) -> Path:
    """Return where an image's lock is."""
    return cache / _FOLDER / f"{key}.lock"
