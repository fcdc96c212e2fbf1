"""One image for exactly these snapshots: found by the key of everything that went into it, else baked once."""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import docker
from docker.errors import APIError, DockerException, ImageNotFound
from requests import RequestException

from sqlassay.cases.counting import counted
from sqlassay.cases.errors import InfrastructureError
from sqlassay.cases.snapshot import Snapshot
from sqlassay.dialect_adapters.contract import Adapter
from sqlassay.sandboxes.contract import BaseImage, Notice
from sqlassay.sandboxes.docker.builder import Baked
from sqlassay.sandboxes.holds import hold, sweep, unheld
from sqlassay.sandboxes.images.base import inspect
from sqlassay.sandboxes.labels import PREFIX
from sqlassay.sandboxes.loader import loader_digest
from sqlassay.sandboxes.locks import exclusive
from sqlassay.sandboxes.steps import Step, Unloads, nearest
from sqlassay.sandboxes.store import Store, StoredImage, held, new_password

BUILDER_VERSION = 2
"""Raised when baking itself changes, so that earlier images are not used any more."""

KEEP_IMAGES = 8
"""How many images stay, the latest used first; one used within the last hour stays in any case."""

_FRESH_SECONDS = 3600
_log = logging.getLogger("sqlassay.bake")


@dataclass(frozen=True, slots=True)
class Order:
    """What a bake is told: the image's key, name, labels and secret, and the earlier image to change, if any."""

    key: str
    tag: str
    labels: dict[str, str]
    password: str
    step: Step | None = None


Builder = Callable[[Order], Baked]
"""Makes the image of an order; only called under the key's lock."""


def family_key(adapter: Adapter) -> str:
    """Return the sha256 over all that decides an image beside base and snapshots: options and the code that loads."""
    recipe = adapter.recipe
    serve = sorted((mode.value, argv) for mode, argv in recipe.serve.items())
    files = [(inside, hashlib.sha256(path.read_bytes()).hexdigest()) for path, inside in recipe.extra_files]
    options = [recipe.init, serve, recipe.tcp_options, recipe.data_dir, recipe.socket, recipe.uid, files]
    builder = [recipe.builder_version, BUILDER_VERSION, loader_digest(adapter)]
    return hashlib.sha256(json.dumps([recipe.dialect, options, builder]).encode()).hexdigest()


def image_key(base: BaseImage, adapter: Adapter, snapshots: Sequence[Snapshot]) -> str:
    """Return the sha256 over the base, the snapshots' content and the family."""
    content = [(one.id, one.database, one.digest) for one in held(snapshots)]
    parts = [base.digest, base.bin_dir, content, family_key(adapter)]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


class Bakery:
    """Finds and bakes snapshot images of one engine, catalogues in one cache folder."""

    def __init__(self, api: docker.APIClient, cache: Path) -> None:
        """Work on this engine with the catalogues under `cache`."""
        self._api = api
        self._cache = cache
        self.store = Store(cache)

    def imported(self, adapter: Adapter, snapshots: Sequence[Snapshot]) -> StoredImage | None:
        """Return an image of these snapshots that came in a bundle: it serves whatever the base is here."""
        family, wanted = family_key(adapter), held(snapshots)
        for _, stored in self.store.by_use():
            if stored.imported and (stored.family, stored.held) == (family, wanted) and self.usable(stored.key):
                self.store.touch(stored.key)
                return stored
        return None

    def image(
        self,
        adapter: Adapter,
        base: BaseImage,
        snapshots: Sequence[Snapshot],
        build: Builder,
        notice: Notice,
    ) -> StoredImage:
        """Return the image of these snapshots, baked now where it or its catalogue is missing; two callers bake once.

        The caller holds the image's key, so that no collection takes the image away meanwhile.
        """
        key = image_key(base, adapter, snapshots)
        found = self.usable(key)
        if found is None:
            with exclusive(self._cache / "locks", key, lambda: notice("waiting for another run that bakes this image")):
                found = self.usable(key) or self._bake(adapter, base, snapshots, build, notice)
            self.collect()
        self.store.touch(key)
        return found

    def usable(self, key: str) -> StoredImage | None:
        """Return the stored image where the engine still has that very image."""
        stored = self.store.load(key)
        image = inspect(self._api, stored.ref) if stored else None
        return stored if stored and image and image["Id"] == stored.image_id else None

    def _bake(
        self, adapter: Adapter, base: BaseImage, snapshots: Sequence[Snapshot], build: Builder, notice: Notice
    ) -> StoredImage:
        """Bake and store; the tag ends in chance, so that another user's bake of the same key cannot take its name."""
        key = image_key(base, adapter, snapshots)
        tag = f"sqlassay/snapshot-{adapter.name}:{key[:16]}-{new_password()[:8]}"
        labels = {f"{PREFIX}.snapshot": key, f"{PREFIX}.cache": str(self._cache)}
        order = Order(key, tag, labels, new_password())
        stepped = self._stepped(adapter, base, snapshots, order, build, notice)
        if stepped is None:
            count = len(snapshots)
            notice(
                f"loading {counted(count, 'snapshot')} into an image for {adapter.name}, "
                f"about {8 + count // 2} s by their size"
            )
        order, baked = stepped or (order, build(order))
        image = inspect(self._api, tag) or {}
        earlier = inspect(self._api, base.ref) or {}
        stored = StoredImage(
            key=key,
            dialect=adapter.name,
            ref=tag,
            image_id=baked.image_id,
            base=base,
            catalogs=baked.catalogs,
            family=family_key(adapter),
            held=held(snapshots),
            steps=order.step.image.steps + 1 if order.step else 0,
            size=max(0, int(image.get("Size", 0)) - int(earlier.get("Size", 0))),
        )
        self.store.save(stored, order.password)
        self._remove_orphans(labels, stored.image_id)
        return stored

    def _stepped(
        self,
        adapter: Adapter,
        base: BaseImage,
        snapshots: Sequence[Snapshot],
        order: Order,
        build: Builder,
        notice: Notice,
    ) -> tuple[Order, Baked] | None:
        """Return an image made by changing an earlier one, or None where there is none near, or it fails."""
        if not isinstance(adapter, Unloads):
            return None
        family, like = family_key(adapter), (base.digest, base.bin_dir)
        alike = [
            stored
            for _, stored in self.store.by_use()
            if (stored.base.digest, stored.base.bin_dir) == like and stored.family == family
        ]
        step = nearest(alike, snapshots)
        if step is None:
            return None
        lock = hold(self._cache, step.image.key)
        try:
            if self.usable(step.image.key) is None:
                return None
            what = f"{len(step.added)} of {counted(len(snapshots), 'snapshot')}"
            notice(f"loading {what} into an earlier image for {adapter.name}")
            order = replace(order, password=self.store.password(step.image.key), step=step)
            return order, build(order)
        except InfrastructureError as fault:
            _log.warning("an earlier image could not be changed, all is loaded anew: %s", fault)
            return None
        finally:
            lock.release()

    def _remove_orphans(self, labels: dict[str, str], image_id: str) -> None:
        """Remove earlier images of this key and cache: a killed bake leaves one that no catalogue names."""
        wanted = [f"{name}={value}" for name, value in labels.items()]
        for image in self._api.images(filters={"label": wanted}):
            if image["Id"] != image_id:
                self.remove(str(image["Id"]))

    def collect(self) -> tuple[str, ...]:
        """Remove the images that were not used for longest, never one in use; return the removed names."""
        removed = []
        for used, stored in self.store.by_use()[KEEP_IMAGES:]:
            with unheld(self._cache, stored.key) as free:
                if free and time.time() - used > _FRESH_SECONDS and self.remove(stored.ref):
                    self.store.forget(stored.key)
                    removed.append(stored.ref)
        sweep(self._cache)
        return tuple(removed)

    def remove(self, ref: str) -> bool:
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
