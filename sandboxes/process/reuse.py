"""Database files that an earlier image of this machine holds already: a changed pack writes only what changed."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlassay.cases.catalog import Catalog
from sqlassay.cases.snapshot import Snapshot
from sqlassay.sandboxes.cache import cache_dir
from sqlassay.sandboxes.holds import hold
from sqlassay.sandboxes.process.seal import CATALOG, DATA, FORMAT, is_sound

MADE_BY = "made_by"
HELD = "held"


def written(made_by: str, snapshots: Sequence[Snapshot]) -> dict[str, object]:
    """Return what an image's catalogue says of its files: who made them, and of which content."""
    return {MADE_BY: made_by, HELD: {snapshot.id: [snapshot.database, snapshot.digest] for snapshot in snapshots}}


def reuse(made_by: str, snapshots: Sequence[Snapshot], data: Path) -> dict[str, Catalog]:
    """Put the files of snapshots that an earlier image of the same making holds into `data`; return their catalogues.

    Nothing is taken where two snapshots ask for one name: the adapter refuses them.
    """
    wanted = {snapshot.id: [snapshot.database, snapshot.digest] for snapshot in snapshots}
    found: dict[str, Catalog] = {}
    if len({snapshot.database for snapshot in snapshots}) < len(wanted):
        return found
    for folder, stored in _alike(made_by):
        held: Mapping[str, object] = stored.get(HELD, {})
        left = {name for name, content in wanted.items() if name not in found and held.get(name) == content}
        if left:
            found |= _taken(folder, stored, left, data)
    return found


def _alike(made_by: str) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield the images of the same making, the latest used first."""
    found = []
    for path in (cache_dir() / "process").glob(f"[!.]*/{CATALOG}"):
        try:
            stored, used = json.loads(path.read_text(encoding="utf-8")), path.stat().st_mtime
        except (OSError, ValueError):
            continue
        if isinstance(stored, dict) and (stored.get("format"), stored.get(MADE_BY)) == (FORMAT, made_by):
            found.append((used, path.parent, stored))
    for _, folder, stored in sorted(found, key=lambda one: one[0], reverse=True):
        yield folder, stored


def _taken(folder: Path, stored: Mapping[str, Any], names: set[str], data: Path) -> dict[str, Catalog]:
    """Take the files of these snapshots from one image, held meanwhile so that no collection removes it."""
    lock = hold(cache_dir(), folder.name)
    try:
        if not is_sound(folder):
            return {}
        catalogs = [Catalog.model_validate(one) for one in stored["catalogs"] if one["snapshot"] in names]
        files = {path.stem: path for path in (folder / DATA).iterdir()}
        for catalog in catalogs:
            _share(files[catalog.database], data)
        return {catalog.snapshot: catalog for catalog in catalogs}
    except (OSError, ValueError, LookupError, TypeError):  # what cannot be taken is written anew
        return {}
    finally:
        lock.release()


def _share(file: Path, data: Path) -> None:
    """Let both images hold one file, which nobody writes to; a copy where the file system links none."""
    target = data / file.name
    try:
        os.link(file, target)
    except OSError:
        shutil.copy2(file, target)
