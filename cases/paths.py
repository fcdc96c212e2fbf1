"""Resolve a path that a pack names, and refuse every way out of the pack's folder."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from sqlassay.cases.errors import InputError

_REMEDY = "Name a file inside the pack's folder by a relative path without '..'"
_DRIVE = re.compile(r"[A-Za-z]:|\\")


def inside(root: Path, name: str, *, file: Path, line: int | None, field: str, folder: bool = False) -> Path:
    """Return root/name, which exists and is reached without leaving `root`.

    Raises:
        InputError: an absolute path, '..', a symbolic link on the way, or nothing there.
    """

    def refuse(message: str, remedy: str = _REMEDY) -> InputError:
        """Build the error at the place the path was named."""
        return InputError(message, file=file, line=line, field=field, remedy=remedy)

    pure = PurePosixPath(name)
    if not name or "\0" in name or pure.is_absolute() or ".." in pure.parts or _DRIVE.match(name):
        raise refuse(f"path '{name}' leaves the pack's folder")
    path = root
    for part in pure.parts:
        path = path / part
        if asks(path.is_symlink):
            raise refuse(f"path '{name}' goes through a symbolic link")
    if not asks(path.is_dir if folder else path.is_file):
        raise refuse(f"no {'folder' if folder else 'file'} '{name}'", "Create it or correct the path")
    return path


def path_given(value: object, field: str | None = None) -> Path:
    """Return the path that a program gives.

    Raises:
        InputError: it is none, or no system can look it up.
    """
    if not isinstance(value, str | os.PathLike):
        raise InputError(f"{type(value).__name__} is no path", field=field, remedy="Give a text or a Path")
    path = Path(value)
    try:
        sayable = b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        sayable = False
    if not sayable:
        raise InputError(f"no path: {str(path)!r}", field=field, remedy="Leave out NUL and half characters")
    return path


def private(path: str, flags: int) -> int:
    """Open a file as `open(…, opener=private)` asks for it: one that is made is for its owner alone."""
    return os.open(path, flags, 0o600)


def asks(question: Callable[[], bool]) -> bool:
    """Return what a path says of itself; a path the system cannot even look up (too long, NUL) is not there."""
    try:
        return question()
    except (OSError, ValueError):
        return False
