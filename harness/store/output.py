"""What a command leaves for its user: folders that are new, empty or its own, private, and known to every veil.

A folder of ours carries a marker, so that no command ever writes over what somebody else put there. Where one was
written is noted in the cache: an agent's process must find no gold in any of them.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlassay.cases.errors import InfrastructureError, InputError
from sqlassay.cases.paths import asks, private
from sqlassay.sandboxes.cache import cache_dir, private_folder, write_private

MARKER = ".sqlassay"
_NOTES = "written"
_REMEDY = "Name a new or an empty folder; nothing was changed"


def check_output(folder: Path, kind: str, field: str = "--out") -> None:
    """Refuse a folder that holds anything but what the same kind of command wrote there; nothing is changed.

    Raises:
        InputError: it is no folder, cannot be read, or holds somebody else's files.
    """
    try:
        if not os.path.lexists(folder) or not any(folder.iterdir()):
            return
    except OSError as error:
        message = f"the folder {folder} cannot be used ({error.strerror or error})"
        raise InputError(message, field=field, remedy="Name another folder") from error
    if kind_of_output(folder) != kind:
        message = f"{folder} is not empty and was not written by `sqlassay {kind}`"
        raise InputError(message, field=field, remedy=_REMEDY)


def claim(folder: Path, kind: str, field: str = "--out") -> Path:
    """Make a folder for a command's files, mode 0700 where it is new, mark it and note it; return it.

    Raises:
        InputError: as `check_output`, or it cannot be made.
    """
    check_output(folder, kind, field)
    try:
        make_private(folder)
        mark(folder, kind)
    except OSError as error:
        message = f"the folder {folder} cannot be made ({error.strerror or error})"
        raise InputError(message, field=field, remedy="Name another folder") from error
    note(folder)
    return folder


def mark(folder: Path, kind: str) -> None:
    """Write the marker that makes a folder ours."""
    with open(folder / MARKER, "w", encoding="utf-8", opener=private) as stream:  # noqa: PTH123 (Path has no opener)
        stream.write(json.dumps({"format": 1, "kind": kind}) + "\n")


def kind_of_output(folder: Path) -> str | None:
    """Return which command wrote a folder, None where it carries no marker of ours."""
    try:
        value: Any = json.loads((folder / MARKER).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return str(value.get("kind")) if isinstance(value, dict) else None


def make_private(folder: Path) -> None:
    """Make a folder and those above it that are missing, each for its owner alone; what is there keeps its mode."""
    for path in (*reversed(folder.parents), folder):
        if not asks(path.exists):
            path.mkdir(mode=0o700, exist_ok=True)
    if not folder.is_dir():
        raise NotADirectoryError(20, "is no folder", str(folder))


def note(path: Path) -> None:
    """Note a folder or file that holds what no agent may read; without a cache there is nowhere to note it."""
    place = str(path.absolute())
    with suppress(InfrastructureError):
        folder = private_folder(cache_dir() / _NOTES)
        name = hashlib.sha256(os.fsencode(place)).hexdigest()[:32]
        if not asks((folder / name).exists):
            write_private(folder / name, place)


def noted() -> tuple[Path, ...]:
    """Return every folder and file that sqlassay wrote and that is still there."""
    found = []
    for line in (cache_dir() / _NOTES).glob("[0-9a-f]*"):
        with suppress(OSError, ValueError):
            path = Path(line.read_text(encoding="utf-8"))
            if os.path.lexists(path):
                found.append(path)
            else:
                line.unlink(missing_ok=True)
    return tuple(sorted(found))


def marked_below(*folders: Path) -> tuple[Path, ...]:
    """Return the folders of ours directly below these, also those that another machine or user wrote."""
    return tuple(path.parent for folder in folders for path in sorted(folder.glob(f"*/{MARKER}")))
