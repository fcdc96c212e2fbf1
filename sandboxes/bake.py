"""One image for exactly these snapshots: found by the key of everything that went into it, else baked once."""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import docker
from docker.errors import APIError, DockerException, ImageNotFound
from requests import RequestException

from cases.snapshot import Snapshot
from dialect_adapters.contract import Adapter
from sandboxes.contract import BaseImage, Notice
from sandboxes.docker.builder import Baked
from sandboxes.images.base import inspect
from sandboxes.labels import PREFIX
from sandboxes.loader import loader_digest
from sandboxes.locks import exclusive
from sandboxes.store import Store, StoredImage, new_password

BUILDER_VERSION = 1
"""Raised when baking itself changes, so that earlier images are not used any more."""

KEEP_IMAGES = 8
"""How many images stay, the latest used first; one used within the last hour stays in any case."""

_FRESH_SECONDS = 3600
_log = logging.getLogger("sqlassay.bake")


@dataclass(frozen=True, slots=True)
class Order:
    """What a bake is told: the name to give the image, its labels, its secret and its key."""

    key: str
    tag: str
    labels: dict[str, str]
    password: str


Builder = Callable[[Order], Baked]
"""Makes the image of an order; only called under the key's lock."""


def image_key(base: BaseImage, adapter: Adapter, snapshots: Sequence[Snapshot]) -> str:
    """Return the sha256 over the base, the snapshots' content, the server's options and the code that loads."""
    recipe = adapter.recipe
    serve = sorted((mode.value, argv) for mode, argv in recipe.serve.items())
    files = [(inside, hashlib.sha256(path.read_bytes()).hexdigest()) for path, inside in recipe.extra_files]
    content = sorted((snapshot.id, snapshot.database, snapshot.digest) for snapshot in snapshots)
    options = [recipe.init, serve, recipe.tcp_options, recipe.data_dir, recipe.socket, recipe.uid, files]
    builder = [recipe.builder_version, BUILDER_VERSION, loader_digest(adapter)]
    parts = [base.digest, base.bin_dir, recipe.dialect, content, options, builder]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


class Bakery:
    """Finds and bakes snapshot images of one engine, catalogues in one cache folder."""

    def __init__(self, api: docker.APIClient, cache: Path) -> None:
        """Work on this engine with the catalogues under `cache`."""
        self._api = api
        self._cache = cache
        self.store = Store(cache)

    def image(self, adapter: Adapter, base: BaseImage, key: str, build: Builder, notice: Notice) -> StoredImage:
        """Return the image of `key`, baked now where it or its catalogue is missing; two callers bake it once."""
        found = self._usable(key)
        if found is None:
            with exclusive(self._cache / "locks", key, lambda: notice("waiting for another run that bakes this image")):
                found = self._usable(key) or self._bake(adapter, base, key, build, notice)
            self.collect()
        self.store.touch(key)
        return found

    def _usable(self, key: str) -> StoredImage | None:
        """Return the stored image where the engine still has that very image."""
        stored = self.store.load(key)
        image = inspect(self._api, stored.ref) if stored else None
        return stored if stored and image and image["Id"] == stored.image_id else None

    def _bake(self, adapter: Adapter, base: BaseImage, key: str, build: Builder, notice: Notice) -> StoredImage:
        """Bake and store; the tag ends in chance, so that another user's bake of the same key cannot take its name."""
        notice(f"loading the snapshots into an image for {adapter.name}, about 10 s and more with their size")
        password = new_password()
        tag = f"sqlassay/snapshot-{adapter.name}:{key[:16]}-{new_password()[:8]}"
        labels = {f"{PREFIX}.snapshot": key, f"{PREFIX}.cache": str(self._cache)}
        baked = build(Order(key, tag, labels, password))
        stored = StoredImage(
            key=key, dialect=adapter.name, ref=tag, image_id=baked.image_id, base=base, catalogs=baked.catalogs
        )
        self.store.save(stored, password)
        self._remove_orphans(labels, stored.image_id)
        return stored

    def _remove_orphans(self, labels: dict[str, str], image_id: str) -> None:
        """Remove earlier images of this key and cache: a killed bake leaves one that no catalogue names."""
        wanted = [f"{name}={value}" for name, value in labels.items()]
        for image in self._api.images(filters={"label": wanted}):
            if image["Id"] != image_id:
                self._remove(str(image["Id"]))

    def collect(self) -> tuple[str, ...]:
        """Remove the images that were not used for longest, never one in use; return the removed names."""
        removed = []
        for used, stored in self.store.by_use()[KEEP_IMAGES:]:
            if time.time() - used > _FRESH_SECONDS and self._remove(stored.ref):
                self.store.forget(stored.key)
                removed.append(stored.ref)
        return tuple(removed)

    def _remove(self, ref: str) -> bool:
        """Remove one image and return False where a container still uses it."""
        try:
            self._api.remove_image(ref)
        except ImageNotFound:
            return True
        except APIError as fault:
            if fault.status_code != 409:
                _log.warning("image %s could not be removed: %s", ref, fault)
            return False
        except (DockerException, RequestException) as fault:
            _log.warning("image %s could not be removed: %s", ref, fault)
            return False
        return True
