"""The catalogues of baked images: one private folder an image, beside nothing else that names it."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import secrets
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from sqlassay.cases.catalog import Catalog
from sqlassay.cases.snapshot import Snapshot
from sqlassay.sandboxes.cache import private_folder, write_private
from sqlassay.sandboxes.contract import BaseImage, SnapshotImage

_CATALOG = "catalog.json"
_SECRET = "secret"  # noqa: S105 - a file's name


_log = logging.getLogger("sqlassay.images")
_DAMAGED = object()

FORMAT = 3
"""Raised when what is stored changes; images of another format are baked again."""


class Held(BaseModel):
    """One snapshot in an image: its id, its database, and the digest of what was loaded."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    database: str
    digest: str


class StoredImage(BaseModel):
    """What `catalog.json` holds: the image by name and id, its base, and a catalogue a snapshot.

    `family` is the digest of all that went in beside base and snapshots; `held` are the snapshots. `steps` counts how
    often an earlier image was changed instead of baked from the base; `size` is in bytes, beyond the base. An
    `imported` image came in a bundle and serves whatever the base is here.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int = FORMAT
    key: str
    dialect: str
    ref: str
    image_id: str
    base: BaseImage
    catalogs: tuple[Catalog, ...]
    family: str = ""
    held: tuple[Held, ...] = ()
    steps: int = 0
    size: int = 0
    imported: bool = False
    seal: str = ""

    def snapshot_image(self) -> SnapshotImage:
        """Return the value the rest of the program passes around."""
        return SnapshotImage(self.ref, self.key, self.dialect, self.base, self.catalogs)


class Store:
    """The folder `<cache>/images`."""

    def __init__(self, cache: Path) -> None:
        """Keep catalogues under `cache`."""
        self._root = private_folder(cache / "images")

    def load(self, key: str) -> StoredImage | None:
        """Return the image of that key, or None where it is missing, damaged or of another format: then it is baked."""
        stored = self._read(key)
        if stored is _DAMAGED:
            _log.warning("the kept image %s is damaged and is made again: it is not what was written", key[:12])
        return stored if isinstance(stored, StoredImage) else None

    def _read(self, key: str) -> StoredImage | object | None:
        """Return what `load` does, and `_DAMAGED` where it is not what was written."""
        try:
            value = json.loads((self._root / key / _CATALOG).read_bytes())
            if value.get("format") in range(1, FORMAT):
                return None  # written by an earlier version of this program, before there were seals
            whole = value.get("seal") == _seal(value, self.password(key)) and value.get("key") == key
        except FileNotFoundError:
            return None
        except (OSError, ValueError, AttributeError):
            whole = False
        if not whole:
            return _DAMAGED
        try:
            stored = StoredImage.model_validate(value)
        except ValidationError:
            return None  # whole, and written by another version of this program
        return stored.model_copy(update={"seal": ""}) if stored.format == FORMAT else None

    def save(self, stored: StoredImage, password: str) -> None:
        """Write the secret first, so that a catalogue never stands without it."""
        folder = private_folder(self._root / stored.key)
        write_private(folder / _SECRET, password)
        value = stored.model_dump(mode="json")
        value["seal"] = _seal(value, password)
        write_private(folder / _CATALOG, json.dumps(value, indent=1, ensure_ascii=False))

    def password(self, key: str) -> str:
        """Return the one secret of an image, or nothing where its folder is gone."""
        try:
            return (self._root / key / _SECRET).read_text("utf-8")
        except (OSError, UnicodeDecodeError):
            return ""

    def touch(self, key: str) -> None:
        """Note that the image is in use now."""
        with contextlib.suppress(OSError):
            os.utime(self._root / key / _CATALOG)

    def forget(self, key: str) -> None:
        """Remove an image's folder."""
        shutil.rmtree(self._root / key, ignore_errors=True)

    def by_use(self) -> tuple[tuple[float, StoredImage], ...]:
        """Return (time of last use, image) of every catalogue, the latest first; nobody asked for a damaged one."""
        found = []
        for path in self._root.glob(f"*/{_CATALOG}"):
            stored = self._read(path.parent.name)
            if isinstance(stored, StoredImage):
                found.append((path.stat().st_mtime, stored))
        return tuple(sorted(found, key=lambda entry: entry[0], reverse=True))


def _seal(value: dict[str, Any], password: str) -> str:
    """Return the sha256 of all that is stored, the secret included; a bit that a disk changed changes it."""
    rest = {name: one for name, one in value.items() if name != "seal"}
    return hashlib.sha256(f"{json.dumps(rest, sort_keys=True)}{password}".encode()).hexdigest()


def held(snapshots: Sequence[Snapshot]) -> tuple[Held, ...]:
    """Return what identifies these snapshots, in an order of its own."""
    found = (Held(id=one.id, database=one.database, digest=one.digest) for one in snapshots)
    return tuple(sorted(found, key=lambda one: (one.id, one.database, one.digest)))


def new_password() -> str:
    """Return a fresh secret: letters and digits only, so that no engine needs it quoted."""
    return secrets.token_hex(16)
