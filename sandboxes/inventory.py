"""Which baked images this machine has, whichever provider made them: read from the catalogues in the cache folder."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from sandboxes.cache import cache_dir

_HOMES = (("docker", "images"), ("process", "process"))
"""Which provider keeps its catalogues in which folder of the cache."""


@dataclass(frozen=True, slots=True)
class ImageLine:
    """One image: its dialect and name, how many databases it holds, and the provider that runs it."""

    dialect: str
    ref: str
    databases: int
    provider: str


def images(cache: Path | None = None) -> tuple[ImageLine, ...]:
    """Return every image of this machine, the latest used first; damaged catalogues are left out."""
    found = []
    for provider, home in _HOMES:
        for path in ((cache or cache_dir()) / home).glob("*/catalog.json"):
            line = _line(path, provider)
            if line is not None:
                found.append((path.stat().st_mtime, line))
    return tuple(line for _, line in sorted(found, key=lambda entry: entry[0], reverse=True))


def _line(path: Path, provider: str) -> ImageLine | None:
    """Return what one catalogue file says, or None where it cannot be read."""
    try:
        stored = json.loads(path.read_bytes())
        catalogs = stored["catalogs"]
        dialect = str(catalogs[0]["dialect"])
    except (OSError, ValueError, LookupError, TypeError):
        return None
    return ImageLine(dialect, str(stored.get("ref", path.parent.name[:16])), len(catalogs), provider)
