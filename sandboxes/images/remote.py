"""The second source of a base image: the official image from a registry, given up quickly where none is reachable."""

from __future__ import annotations

from typing import Literal

import requests
from docker.errors import DockerException

from dialect_adapters.contract import ServerRecipe
from sandboxes.contract import BaseImage, Notice
from sandboxes.docker.client import connect
from sandboxes.images.base import Refusal
from sandboxes.images.local import describe

Pull = Literal["auto", "never"]
_SILENCE_SECONDS = 10
"""How long the engine may say nothing during a pull: a reachable registry answers at once and then reports progress."""


class RegistrySource:
    """Asks the engine to pull the official image, from a mirror where one is configured."""

    def __init__(self, pull: Pull = "auto", mirror: str = "") -> None:
        """Pull unless told never to; `mirror` is put before the image's name."""
        self._pull = pull
        self._mirror = mirror.rstrip("/")

    def find(self, recipe: ServerRecipe, notice: Notice) -> BaseImage | Refusal:
        """Return the pulled image, or why the registry does not give it."""
        if self._pull == "never":
            return Refusal("pulling is switched off")
        ref = f"{self._mirror}/{recipe.registry_image}" if self._mirror else recipe.registry_image
        notice(f"asking the registry for {recipe.registry_image}, about 30 s where it is reachable")
        engine = connect(timeout=_SILENCE_SECONDS)
        try:
            fault = _pull(engine.api, ref)
            found = None if fault else describe(engine.api, ref, recipe, official=True)
        finally:
            engine.api.close()
        return found or Refusal(f"the registry does not give {ref} ({fault or 'not found'})")


def _pull(api: object, ref: str) -> str:
    """Pull an image and return what went wrong, or nothing."""
    name, _, tag = ref.rpartition(":")
    try:
        for event in api.pull(name, tag=tag, stream=True, decode=True):  # type: ignore[attr-defined]
            if "error" in event:
                return str(event["error"])
    except (DockerException, requests.RequestException) as fault:
        return str(fault).splitlines()[0][:200]
    return ""
