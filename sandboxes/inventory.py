"""Which baked images this machine has, whichever provider made them: read from the catalogues in the cache folder."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from sqlassay.sandboxes.cache import cache_dir
from sqlassay.sandboxes.holds import is_held

_HOMES = (("docker", "images"), ("process", "process"))
"""Which provider keeps its catalogues in which folder of the cache."""


@dataclass(frozen=True, slots=True)
class ImageLine:
    """One image: dialect, name, databases, provider; key, folder, seconds of its last use, bytes beyond the base."""

    dialect: str
    ref: str
    databases: int
    provider: str
    key: str
    folder: Path
    used: float
    size: int
    in_use: bool = False
    imported: bool = False


def images(cache: Path | None = None) -> tuple[ImageLine, ...]:
    """Return every image of this machine, the latest used first; damaged catalogues are left out."""
    root = cache or cache_dir()
    found = []
    for provider, home in _HOMES:
        for path in (root / home).glob("*/catalog.json"):
            line = _line(path, provider, root)
            if line is not None:
                found.append(line)
    return tuple(sorted(found, key=lambda line: line.used, reverse=True))


def _line(path: Path, provider: str, root: Path) -> ImageLine | None:
    """Return what one catalogue file says, or None where it cannot be read."""
    try:
        stored = json.loads(path.read_bytes())
        catalogs = stored["catalogs"]
        dialect = str(catalogs[0]["dialect"])
        used = path.stat().st_mtime
        size = int(stored["size"]) if "size" in stored else _folder_size(path.parent / "data")
    except (OSError, ValueError, LookupError, TypeError):
        return None
    key = path.parent.name
    return ImageLine(
        dialect=dialect,
        ref=str(stored.get("ref", key[:16])),
        databases=len(catalogs),
        provider=provider,
        key=key,
        folder=path.parent,
        used=used,
        size=size,
        in_use=is_held(root, key),
        imported=bool(stored.get("imported")) or (path.parent / "imported").is_file(),
    )


def _folder_size(folder: Path) -> int:
    """Return the bytes of every file below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
