"""Temporary folders that no death leaves behind: each is locked by its owner, and later ones sweep what is free."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from sqlassay.sandboxes.locks import is_free
from sqlassay.sandboxes.removal import remove_folder

_LOCK = "lock"
_DRAFT = "lock.new"
_MARK = b"a scratch folder of sqlassay, removed once nobody holds this file\n"
"""What the lock of a folder of ours says: a name alone could be anybody's."""

_INSIDE = "s"
_DRAFT_SECONDS = 60
# A user's own folder of runs is `sqlassay-<uid>`, which is no scratch folder.
_OURS = re.compile(r"sqlassay-(?!\d+$)((agent|base|files|one|redteam|reduced)-)?[a-z0-9_]{8}")


class Scratch:
    """A private folder for one purpose; `path` is the empty folder in it to work in."""

    def __init__(self, kind: str = "", *, root: str | None = None) -> None:
        """Create it, locked, under `root` (the temporary folder where left out), after sweeping what dead ones left."""
        sweep()
        prefix = f"sqlassay-{kind}-" if kind else "sqlassay-"
        self.folder = Path(tempfile.mkdtemp(prefix=prefix, dir=root))
        self.path = self.folder / _INSIDE
        try:
            # Locked for as long as the process lives: the kernel frees it at death, whatever ended it. It gets its
            # name when it is held, so that no sweep of another thread or run ever sees it free.
            draft = self.folder / _DRAFT
            self._lock = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX)
            os.write(self._lock, _MARK)
            draft.rename(self.folder / _LOCK)
            self.path.mkdir(mode=0o700)
        except BaseException:  # whatever ends the start must not leave the folder; raised again
            shutil.rmtree(self.folder, ignore_errors=True)
            raise

    def __enter__(self) -> Path:
        """Return the folder to work in."""
        return self.path

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove it."""
        self.close()

    def close(self) -> None:
        """Remove the folder and let go; idempotent, never raises."""
        lock, self._lock = self._lock, -1
        if lock >= 0:
            remove_folder(self.folder, _LOCK)
            with contextlib.suppress(OSError):
                os.close(lock)


def sweep() -> tuple[str, ...]:
    """Remove every scratch folder of ours whose owner is dead and return their names."""
    return tuple(folder.name for folder in _left_over() if _removed(folder))


def _left_over() -> Iterator[Path]:
    """Yield the folders that are ours by place, name and owner, and that nobody holds."""
    for root in {tempfile.gettempdir(), "/tmp"}:  # noqa: S108 - looked through, not written
        for folder in Path(root).glob("sqlassay-*"):
            if _OURS.fullmatch(folder.name) and _is_mine(folder):
                yield folder


def _is_mine(folder: Path) -> bool:
    """Return True for a real folder of this user."""
    try:
        status = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()


def _is_marked(folder: Path) -> bool:
    """Return True where a folder's lock says that it is ours."""
    try:
        return (folder / _LOCK).read_bytes() == _MARK
    except OSError:
        return False


def _removed(folder: Path) -> bool:
    """Remove one folder where its lock is free; one without a lock only where it is old and nothing else is in it."""
    free = is_free(folder / _LOCK)
    if free and not _is_marked(folder):
        return False
    if free:
        remove_folder(folder, _LOCK)
        return True
    if free is None:
        with contextlib.suppress(OSError):
            if time.time() - folder.lstat().st_mtime > _DRAFT_SECONDS:
                if is_free(folder / _DRAFT):
                    (folder / _DRAFT).unlink()
                folder.rmdir()
                return True
    return False
