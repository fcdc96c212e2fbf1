"""The mount table of this process, and every name under which one file or folder is reached through it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_ESCAPED = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class Mount:
    """One mount: which device, which folder of it, where, and the kind of file system."""

    device: str
    root: str
    point: str
    kind: str


def read_mounts(text: str | None = None) -> tuple[Mount, ...]:
    """Return the mounts of this process, oldest first; `text` stands for /proc/self/mountinfo."""
    lines = (Path("/proc/self/mountinfo").read_text() if text is None else text).splitlines()
    found = []
    for line in lines:
        before, _, after = line.partition(" - ")
        fields = before.split(" ")
        found.append(Mount(fields[2], _plain(fields[3]), _plain(fields[4]), after.split(" ")[0]))
    return tuple(found)


def _plain(escaped: str) -> str:
    """Return a path with its octal escapes resolved."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 8)), escaped)


def aliases(path: str, mounts: Sequence[Mount]) -> tuple[str, ...]:
    """Return `path` and each other name of it, or of a part of it, that another mount of its file system gives."""
    # The last of equal length is the one on top.
    home = max(reversed(mounts), key=lambda one: len(one.point) if _below(path, one.point) is not None else -1)
    within = _below(path, home.point)
    inner = _join(home.root, within or "")
    names = [path]
    for one in mounts:
        if one.device != home.device:
            continue
        deeper, higher = _below(one.root, inner), _below(inner, one.root)
        if deeper is not None:
            part, name = _join(path, deeper), one.point
        elif higher is not None:
            part, name = path, _join(one.point, higher)
        else:
            continue
        if name not in names and _same(part, name):
            names.append(name)
    return tuple(names)


def _below(path: str, folder: str) -> str | None:
    """Return the way from a folder to a path in it ("" for itself), None where it is elsewhere."""
    if path == folder:
        return ""
    start = folder.rstrip("/") + "/"
    return path[len(start) :] if path.startswith(start) else None


def _join(folder: str, way: str) -> str:
    """Return the path a way from a folder leads to."""
    return f"{folder.rstrip('/')}/{way}" if way else folder


def _same(one: str, other: str) -> bool:
    """Return whether two paths are one file; what is covered by a later mount is not."""
    try:
        return Path(one).samefile(other)
    except OSError:
        return False
