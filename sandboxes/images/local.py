"""The first source of a base image: one the engine already has, official or built here before."""

from __future__ import annotations

import docker

from dialect_adapters.contract import ServerRecipe
from sandboxes.contract import BaseImage, Notice
from sandboxes.images.base import Refusal, built_tag, content_digest, inspect, version


class LocalSource:
    """Looks among the engine's own images."""

    def __init__(self, api: docker.APIClient) -> None:
        """Ask this engine."""
        self._api = api

    def find(self, recipe: ServerRecipe, notice: Notice) -> BaseImage | Refusal:  # noqa: ARG002 - takes no time
        """Return the official image where it was loaded or pulled, else the one we built, else a refusal."""
        official = describe(self._api, recipe.registry_image, recipe, official=True)
        built = official or describe(self._api, built_tag(recipe), recipe, official=False)
        return built or Refusal(f"the engine has no {recipe.registry_image}")


def describe(api: docker.APIClient, ref: str, recipe: ServerRecipe, *, official: bool) -> BaseImage | None:
    """Return a local image as a base, or None where the engine does not have it."""
    image = inspect(api, ref)
    if image is None:
        return None
    folder = (recipe.registry_bin_dir if official else "") or recipe.debian.bin_dir
    source = "registry" if official else "debian"
    return BaseImage(ref, content_digest(image), folder, recipe.uid, version(image), source)
