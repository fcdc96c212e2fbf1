"""The parts of an image's folder, and the seal that shows whether any of its files was changed since."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Sequence
from pathlib import Path

from sqlassay.cases.catalog import Catalog
from sqlassay.cases.snapshot import Snapshot
from sqlassay.sandboxes.cache import write_private

FORMAT = 4
DATA = "data"
CATALOG = "catalog.json"
SECRET = "secret"  # noqa: S105 - a file's name
SEAL = "seal.json"
"""Holds the sha256 of every other file, so that one changed since by anybody or anything is noticed."""

_log = logging.getLogger("sqlassay.images")


def seal(folder: Path) -> None:
    """Write the seal of an image's folder, as the last of its files."""
    write_private(folder / SEAL, json.dumps(_digests(folder)))


def is_sound(folder: Path, snapshots: Sequence[Snapshot] = ()) -> bool:
    """Return True where an image is there, its catalogue can be read, and every file is what was written.

    Sandboxes write to a layer or a copy, never to these files. An image that is there and damaged is told.
    """
    if not folder.is_dir():
        return False
    try:
        sealed = json.loads((folder / SEAL).read_text(encoding="utf-8")) == _digests(folder)
        why = "its files are not what was written"
    except (OSError, ValueError) as error:
        sealed, why = False, str(error).split("\n", 1)[0]
    if not sealed:
        _log.warning("the kept image %s is damaged and is made again: %s", folder.name[:12], why)
        return False
    try:
        read(folder, snapshots)
    except (ValueError, LookupError, TypeError):
        return False  # whole, and written by another version of this program
    return True


def _digests(folder: Path) -> dict[str, str]:
    """Return the sha256 of every file that a sandbox is made from."""
    files = [folder / CATALOG, folder / SECRET, *sorted((folder / DATA).rglob("*"))]
    return {str(path.relative_to(folder)): _digest(path) for path in files if path.is_file() and not path.is_symlink()}


def _digest(path: Path) -> str:
    """Return the sha256 of one file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def read(folder: Path, snapshots: Sequence[Snapshot]) -> tuple[Catalog, ...]:
    """Return the image's catalogues in the order the snapshots were asked for."""
    stored = json.loads((folder / CATALOG).read_text(encoding="utf-8"))
    catalogs = {catalog.snapshot: catalog for catalog in map(Catalog.model_validate, stored["catalogs"])}
    return tuple(catalogs[snapshot.id] for snapshot in snapshots)
