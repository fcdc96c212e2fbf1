"""Where base images may come from: what a user said, passed down as one value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from sqlassay.cases.errors import InputError
from sqlassay.cases.snapshot import Snapshot
from sqlassay.dialect_adapters.contract import ServerRecipe
from sqlassay.sandboxes.contract import release

Pull = Literal["auto", "never"]


@dataclass(frozen=True, slots=True)
class BaseChoice:
    """Whether a registry may be asked, which mirrors come first, and the lock file (None: the one in the cache)."""

    pull: Pull = "auto"
    mirrors: tuple[str, ...] = ()
    lock: Path | None = None


DEFAULT_CHOICE = BaseChoice()


def asked_image(recipe: ServerRecipe, snapshots: Sequence[Snapshot]) -> str | None:
    """Return the image that a pack asks for by `settings`, None where it leaves the choice to us.

    Raises:
        InputError: its snapshots ask for several, or by the tag for a version older than the recipe suits.
    """
    asked = {snapshot.settings_for(recipe.dialect).image for snapshot in snapshots}
    if len(asked) > 1:
        several = ", ".join(sorted(image or "none" for image in asked))
        raise InputError(
            f"one run has one version of an engine, the pack asks for {several}",
            field=_field(recipe),
            remedy="Name the same image for every snapshot of the pack",
        )
    image = next(iter(asked), None)
    if image is not None:
        refuse_old(recipe, image, release(image.rpartition(":")[2]))
    return image


def asked_recipe(recipe: ServerRecipe, snapshots: Sequence[Snapshot]) -> ServerRecipe:
    """Return the recipe with the image that a pack asks for; the same one where it asks for none."""
    image = asked_image(recipe, snapshots)
    return recipe if image is None else replace(recipe, registry_image=image)


def refuse_old(recipe: ServerRecipe, image: str, version: tuple[int, int] | None) -> None:
    """Raise an InputError where an image's engine is older than the recipe suits."""
    if version is not None and version < recipe.least:
        oldest = ".".join(str(number) for number in recipe.least).removesuffix(".0")
        message = f"{image} is older than {recipe.dialect} {oldest}, the oldest that is run"
        raise InputError(message, field=_field(recipe), remedy=f"Name version {oldest} or a later one")


def refuse_image(recipe: ServerRecipe, snapshots: Sequence[Snapshot], sandbox: str) -> None:
    """Raise an InputError where a pack asks for an image and the sandbox runs none."""
    image = asked_image(recipe, snapshots)
    if image is not None:
        contained = recipe.library is None
        raise InputError(
            f"the pack asks for the image {image}, and the '{sandbox}' sandbox runs what this machine has",
            field=_field(recipe),
            remedy=f"{'Use `--sandbox docker`, or take' if contained else 'Take'} the image out of the pack",
        )


def _field(recipe: ServerRecipe) -> str:
    """Return where in a pack an image is asked for."""
    return f"settings.{recipe.dialect}.image"
