"""Where sqlassay keeps what outlives a run on this machine: catalogues of images, locks of runs, engine logs."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Mapping
from pathlib import Path

from sqlassay.cases.errors import InfrastructureError

REMEDY = "Set XDG_CACHE_HOME to a folder you can write in"


def cache_dir(environment: Mapping[str, str] = os.environ) -> Path:
    """Return `$XDG_CACHE_HOME/sqlassay` or `~/.cache/sqlassay`, created with mode 0700.

    Raises:
        InfrastructureError: there is no home, or the folder cannot be made or used.
    """
    return private_folder(_root(environment) / "sqlassay")


def _root(environment: Mapping[str, str]) -> Path:
    """Return the folder that all of a user's caches are in."""
    if root := environment.get("XDG_CACHE_HOME"):
        return Path(root)
    if home := environment.get("HOME"):
        return Path(home) / ".cache"
    try:
        return Path.home() / ".cache"
    except RuntimeError:
        message = "this user has no home folder, so there is nowhere to keep baked databases and locks"
        raise InfrastructureError(message, remedy=REMEDY) from None


def private_folder(path: Path) -> Path:
    """Create `path` for its owner alone and return it; an existing folder keeps its content and gets mode 0700.

    Raises:
        InfrastructureError: it cannot be made, or belongs to somebody else.
    """
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.stat().st_mode & 0o777 != 0o700:
            path.chmod(0o700)
    except OSError as error:
        raise unusable(path, error) from error
    return path


def write_private(path: Path, text: str) -> None:
    """Write `text` to `path` readable by its owner alone; readers see the old file or the new one, never half.

    Raises:
        InfrastructureError: the disk is full or read-only, or the folder is not ours to write in.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
        draft.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
        raise unusable(path, error) from error


def unusable(path: Path, error: OSError) -> InfrastructureError:
    """Return the error that names what could not be used in the cache, why, and what to do."""
    remedy = "Free space there, or set XDG_CACHE_HOME" if error.errno in (errno.ENOSPC, errno.EDQUOT) else REMEDY
    return InfrastructureError(f"'{path}' cannot be written ({error.strerror or error})", remedy=remedy)
