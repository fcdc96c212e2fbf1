"""Remove the images that were used longest ago: never one that a live run uses, and nothing that is not ours."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from sqlassay.sandboxes.cache import cache_dir
from sqlassay.sandboxes.holds import sweep, unheld
from sqlassay.sandboxes.inventory import ImageLine, images
from sqlassay.sandboxes.labels import PREFIX


@dataclass(frozen=True, slots=True)
class Collected:
    """What became of one image beyond those that are kept, and how many bytes its removal frees."""

    ref: str
    provider: str
    fate: Literal["removed", "would be removed", "in use"]
    freed: int


def collect(keep: int, *, dry_run: bool = False, cache: Path | None = None) -> Iterator[Collected]:
    """Remove all but the `keep` images used last, of every dialect and provider, and yield what became of each.

    Raises:
        EngineUnavailableError: images in containers must go, and no engine answers.
    """
    root = cache or cache_dir()
    known = images(root)
    for line in known[keep:]:
        with unheld(root, line.key) as free:
            yield _collected(root, line, dry_run=dry_run) if free else Collected(line.ref, line.provider, "in use", 0)
    yield from _orphans(root, {line.key for line in known}, dry_run=dry_run)
    if not dry_run:
        sweep(root)


def _collected(root: Path, line: ImageLine, *, dry_run: bool) -> Collected:
    """Remove one image that nobody holds, from its provider and from the cache."""
    if line.provider == "docker":
        return _from_engine(line.ref, root, line.key, dry_run=dry_run)
    if not dry_run:
        shutil.rmtree(line.folder, ignore_errors=True)
    return Collected(line.ref, line.provider, "would be removed" if dry_run else "removed", line.size)


def _from_engine(ref: str, root: Path, key: str, *, dry_run: bool) -> Collected:
    """Remove an image from the engine, and its catalogue; one that a container uses stays."""
    # Imported here: it costs 0.4 s, which machines without images in containers must not pay.
    from sqlassay.sandboxes.bake import Bakery
    from sqlassay.sandboxes.docker.client import connect

    engine = connect()
    try:
        freed, containers = _own_bytes(engine.api, ref)
        if containers:
            return Collected(ref, "docker", "in use", 0)
        if dry_run:
            return Collected(ref, "docker", "would be removed", freed)
        bakery = Bakery(engine.api, root)
        if not bakery.remove(ref):
            return Collected(ref, "docker", "in use", 0)
        bakery.store.forget(key)
        return Collected(ref, "docker", "removed", freed)
    finally:
        engine.api.close()


def _own_bytes(api: Any, ref: str) -> tuple[int, int]:
    """Return the bytes no other image shares, and how many containers use it; nothing for one that is gone."""
    for image in api.df()["Images"] or ():
        if ref in (image["Id"], *(image["RepoTags"] or ())):
            return max(0, image["Size"] - max(0, image["SharedSize"])), max(0, image["Containers"])
    return 0, 0


def _orphans(root: Path, known: set[str], *, dry_run: bool) -> Iterator[Collected]:
    """Yield the images of this cache that no readable catalogue names: earlier formats, and bakes that were killed."""
    from sqlassay.cases.errors import EngineUnavailableError
    from sqlassay.sandboxes.docker.client import connect

    try:
        engine = connect(timeout=10)
    except EngineUnavailableError:
        return
    try:
        found = engine.api.images(filters={"label": f"{PREFIX}.cache={root}"})
    finally:
        engine.api.close()
    for image in found:
        key = str((image.get("Labels") or {}).get(f"{PREFIX}.snapshot", ""))
        if key and key not in known:
            with unheld(root, key) as free:
                if free:
                    name = (image.get("RepoTags") or [image["Id"]])[0]
                    yield _from_engine(name, root, key, dry_run=dry_run)
