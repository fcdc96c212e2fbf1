"""The first source of a base image: one the engine already has, official or built here before."""

from __future__ import annotations

import docker

from sqlassay.dialect_adapters.contract import ServerRecipe
from sqlassay.sandboxes.contract import BaseImage, Notice, release
from sqlassay.sandboxes.images.base import Refusal, built_tag, content_digest, inspect, version
from sqlassay.sandboxes.images.lock import ImagesLock


class LocalSource:
    """Looks among the engine's own images."""

    def __init__(self, api: docker.APIClient, lock: ImagesLock | None = None, *, built: bool = True) -> None:
        """Ask this engine; what `lock` says of the official image is held to. With `built` ours serves in its place."""
        self._built = built
        self._api = api
        self._lock = lock

    def find(self, recipe: ServerRecipe, notice: Notice) -> BaseImage | Refusal:  # noqa: ARG002 - takes no time
        """Return the official image where it was loaded or pulled, else the one we built, else a refusal.

        Raises:
            InputError: the official image here is another than the locked one, or the lock file is damaged.
        """
        name = recipe.registry_image
        image = inspect(self._api, name)
        if image is not None and self._lock is not None:
            self._lock.check(name, image)
            if unchecked := self._lock.unchecked(name):
                return Refusal(unchecked)
        official = describe(self._api, name, recipe, official=True)
        if official is None and self._lock is not None and self._lock.entry(name) is not None:
            return Refusal(f"the engine has no {name}, which the lock file names")
        ours = describe(self._api, built_tag(recipe), recipe, official=False) if self._built else None
        return official or ours or Refusal(f"the engine has no {name}")


def describe(api: docker.APIClient, ref: str, recipe: ServerRecipe, *, official: bool) -> BaseImage | None:
    """Return a local image as a base, or None where the engine does not have it."""
    image = inspect(api, ref)
    if image is None:
        return None
    folder = (recipe.registry_bin_dir if official else "") or recipe.debian.bin_dir
    tag = ref.rpartition(":")[2]
    said = version(image) or (tag if official and release(tag) else "")
    major, _ = release(said) or (0, 0)
    source = "registry" if official else "debian"
    return BaseImage(ref, content_digest(image), folder.replace("{major}", str(major)), recipe.uid, said, source)
