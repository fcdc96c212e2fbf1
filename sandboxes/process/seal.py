"""The parts of an image's folder, and the seal that shows a database file which was changed or cut since."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from cases.catalog import Catalog
from cases.snapshot import Snapshot

FORMAT = 3
DATA = "data"
CATALOG = "catalog.json"
SEAL = "seal.json"
"""Says size and time of each file of the data, so that one changed or cut since is noticed and all made anew."""


def stats(data: Path) -> dict[str, list[int]]:
    """Return size and time of every file of an image: sandboxes write to a layer or a copy, never to these."""
    found = {str(path.relative_to(data)): path.lstat() for path in sorted(data.rglob("*")) if not path.is_dir()}
    return {name: [one.st_size, one.st_mtime_ns] for name, one in found.items()}


def is_sound(folder: Path, snapshots: Sequence[Snapshot] = ()) -> bool:
    """Return True where an image is there, its catalogue can be read, and its files are those that were written."""
    try:
        read(folder, snapshots)
        seal = json.loads((folder / SEAL).read_text(encoding="utf-8")) if (folder / SEAL).is_file() else None
        return seal is None or seal == stats(folder / DATA)
    except (OSError, ValueError, LookupError, TypeError):
        return False


def read(folder: Path, snapshots: Sequence[Snapshot]) -> tuple[Catalog, ...]:
    """Return the image's catalogues in the order the snapshots were asked for."""
    stored = json.loads((folder / CATALOG).read_text(encoding="utf-8"))
    catalogs = {catalog.snapshot: catalog for catalog in map(Catalog.model_validate, stored["catalogs"])}
    return tuple(catalogs[snapshot.id] for snapshot in snapshots)
