"""Find an engine's base image: the first source that answers wins, and every refusal is kept for the error."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import docker
from docker.errors import ImageNotFound

from sqlassay.cases.errors import InfrastructureError
from sqlassay.dialect_adapters.contract import ServerRecipe
from sqlassay.sandboxes.contract import BaseImage, Notice
from sqlassay.sandboxes.labels import PREFIX

VERSION = f"{PREFIX}.version"
"""The label that holds the engine's version on images we build."""

TOOL_PACKAGES = ("dash", "coreutils")
TOOLS = ("/usr/bin/dash", "/usr/bin/cp")
"""What the provider itself runs in every image: a shell to initialise, and the copy of the data in WRITE mode."""

_TOOL_VERSIONS = ("GOSU_VERSION",)
"""What official images declare before their engine's version: that of the program their entry point uses."""

SLIM_VERSION = 2
"""Raised when the way a Debian system is cut down changes, so that earlier bases are not used any more."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a source cannot give this base here."""

    reason: str


class BaseSource(Protocol):
    """One place a base image may come from."""

    def find(self, recipe: ServerRecipe, notice: Notice) -> BaseImage | Refusal:
        """Return the base image, or why it cannot be had from here."""
        ...


def base_image(recipe: ServerRecipe, sources: Sequence[BaseSource], notice: Notice) -> BaseImage:
    """Return the base from the first source that has it.

    Raises:
        InfrastructureError: none has; names each source's reason.
    """
    reasons = []
    for source in sources:
        found = source.find(recipe, notice)
        if isinstance(found, BaseImage):
            return found
        reasons.append(found.reason)
    raise InfrastructureError(
        f"no base image for {recipe.dialect}: {'; '.join(reasons)}",
        remedy=f"Load the image {recipe.registry_image} into the engine, name a mirror that has it (--mirror), "
        "or run on Debian as root where the pack asks for no image",
    )


def built_tag(recipe: ServerRecipe) -> str:
    """Return the name of the base we build ourselves; another recipe gives another name."""
    content = json.dumps([SLIM_VERSION, asdict(recipe.debian), recipe.uid, recipe.user_name], sort_keys=True)
    return f"sqlassay/base-{recipe.dialect}:{hashlib.sha256(content.encode()).hexdigest()[:12]}"


def inspect(api: docker.APIClient, ref: str) -> dict[str, Any] | None:
    """Return the engine's description of an image, or None where it has none of that name."""
    try:
        described: dict[str, Any] = api.inspect_image(ref)  # type: ignore[no-untyped-call]  # the stub lacks types
    except ImageNotFound:
        return None
    return described


def content_digest(image: dict[str, Any]) -> str:
    """Return a digest of an image's files alone: the same whether pulled, loaded or built from the same packages."""
    layers = "\n".join(image.get("RootFS", {}).get("Layers") or [image["Id"]])
    return f"sha256:{hashlib.sha256(layers.encode()).hexdigest()}"


def version(image: dict[str, Any]) -> str:
    """Return the engine's version from our label, or from the first `*_VERSION` an official image declares of it."""
    config = image.get("Config") or {}
    labelled = (config.get("Labels") or {}).get(VERSION)
    declared = (item.partition("=") for item in config.get("Env") or ())
    named = (value for name, _, value in declared if name.endswith("_VERSION") and name not in _TOOL_VERSIONS)
    return str(labelled or next(named, ""))
