"""Which earlier image is nearest to the one wanted: changed in a few databases, it costs less than a bake of all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from sqlassay.cases.catalog import Catalog
from sqlassay.cases.snapshot import Snapshot
from sqlassay.dialect_adapters.contract import Endpoint
from sqlassay.sandboxes.store import StoredImage, held

MOST_STEPS = 4
"""How often an image is changed before the next is baked from the base: what was dropped stays in its layers."""


@runtime_checkable
class Unloads(Protocol):
    """An adapter whose server can lose databases and be loaded further; without it every image is baked whole."""

    def unload(self, endpoint: Endpoint, databases: Sequence[str]) -> None:
        """Remove databases and their logins, by the names in their catalogues, from a BUILD-mode server."""
        ...


@dataclass(frozen=True, slots=True)
class Step:
    """An earlier image, the catalogues of what stays in it, the databases that go and the snapshots that come."""

    image: StoredImage
    kept: tuple[Catalog, ...]
    dropped: tuple[str, ...]
    added: tuple[Snapshot, ...]


def nearest(images: Iterable[StoredImage], snapshots: Sequence[Snapshot]) -> Step | None:
    """Return the step that loads least, or None where a bake of all is better: more changes than stays, or too often.

    `images` are of the same base and family, the best one first among equals.
    """
    steps = [_step(image, snapshots) for image in images if image.steps < MOST_STEPS]
    worth = [step for step in steps if len(step.kept) >= max(1, len(step.added), len(step.dropped))]
    return min(worth, key=lambda step: (len(step.added), len(step.dropped)), default=None)


def _step(image: StoredImage, snapshots: Sequence[Snapshot]) -> Step:
    """Return what must change in an image."""
    there, wanted = set(image.held), set(held(snapshots))
    stays = {one.id for one in there & wanted}
    return Step(
        image=image,
        kept=tuple(catalog for catalog in image.catalogs if catalog.snapshot in stays),
        dropped=tuple(catalog.database for catalog in image.catalogs if catalog.snapshot not in stays),
        added=tuple(snapshot for snapshot in snapshots if snapshot.id not in stays),
    )
