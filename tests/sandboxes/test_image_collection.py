"""Old images go, the latest used and those in use stay."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import requests
from docker.errors import APIError

from sqlassay.cases.catalog import Catalog
from sqlassay.sandboxes.bake import KEEP_IMAGES, Bakery
from sqlassay.sandboxes.contract import BaseImage
from sqlassay.sandboxes.store import StoredImage

BASE = BaseImage("base:1", "sha256:a", "/usr/bin", 999, "17", "debian")
CATALOG = Catalog(dialect="postgres", snapshot="s", database="d", engine_version="17", tables=())


class FakeApi:
    """An engine that removes images, except those a container uses."""

    def __init__(self, in_use: set[str]) -> None:
        self.removed: list[str] = []
        self._in_use = in_use

    def remove_image(self, ref: str) -> None:
        if ref in self._in_use:
            response = requests.Response()
            response.status_code = 409
            raise APIError("conflict", response=response)
        self.removed.append(ref)


def _bakery(cache: Path, api: Any, ages: dict[str, float]) -> Bakery:
    """Return a bakery with one stored image a name, last used so many hours ago."""
    import time

    bakery = Bakery(api, cache)
    for name, hours in ages.items():
        stored = StoredImage(key=name, dialect="postgres", ref=name, image_id=name, base=BASE, catalogs=(CATALOG,))
        bakery.store.save(stored, "hush")
        used = time.time() - hours * 3600
        os.utime(cache / "images" / name / "catalog.json", (used, used))
    return bakery


def test_the_last_used_images_stay(tmp_path: Path) -> None:
    """Beyond the number that is kept, the longest unused go, with their catalogue and secret."""
    api = FakeApi(set())
    bakery = _bakery(tmp_path, api, {f"image{age:02}": age + 2.0 for age in range(KEEP_IMAGES + 2)})
    assert bakery.collect() == ("image08", "image09")
    assert api.removed == ["image08", "image09"]
    assert sorted(path.name for path in (tmp_path / "images").iterdir()) == [f"image{n:02}" for n in range(KEEP_IMAGES)]


def test_an_image_in_use_stays(tmp_path: Path) -> None:
    """The engine refuses, and the catalogue is kept for whoever runs on it."""
    bakery = _bakery(tmp_path, FakeApi({"image08"}), {f"image{age:02}": age + 2.0 for age in range(KEEP_IMAGES + 1)})
    assert bakery.collect() == ()
    assert bakery.store.load("image08") is not None


def test_an_image_used_within_the_hour_stays(tmp_path: Path) -> None:
    """Another process may be about to start a sandbox from it."""
    bakery = _bakery(tmp_path, FakeApi(set()), {f"image{age:02}": age / 100 for age in range(KEEP_IMAGES + 3)})
    assert bakery.collect() == ()
