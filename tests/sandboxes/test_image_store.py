"""Images are keyed by everything that went into them, and a catalogue stands only beside its secret."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
from sandbox_adapters import TinyPostgres

from sqlassay.cases.catalog import Catalog
from sqlassay.cases.snapshot import Snapshot
from sqlassay.dialect_adapters.contract import ServerRecipe
from sqlassay.sandboxes.bake import image_key
from sqlassay.sandboxes.contract import BaseImage
from sqlassay.sandboxes.images.base import built_tag, content_digest, version
from sqlassay.sandboxes.inventory import images
from sqlassay.sandboxes.store import Store, StoredImage, _seal, new_password

BASE = BaseImage("base:1", "sha256:a", "/usr/bin", 999, "17", "debian")
SNAPSHOT = Snapshot(id="s", database="d", digest="one")
CATALOG = Catalog(dialect="postgres", snapshot="s", database="d", engine_version="17", tables=())
STORED = StoredImage(
    key="k" * 64, dialect="postgres", ref="image:1", image_id="sha256:i", base=BASE, catalogs=(CATALOG,)
)


class Altered(TinyPostgres):
    """The same engine under another recipe."""

    def __init__(self, recipe: ServerRecipe) -> None:
        super().__init__()
        self._altered = recipe

    @property
    def recipe(self) -> ServerRecipe:
        return self._altered


def test_the_key_does_not_depend_on_the_order_of_snapshots() -> None:
    """One pack gives one image, however its snapshots are listed."""
    other = replace(SNAPSHOT, id="t", database="e")
    key = image_key(BASE, TinyPostgres(), [SNAPSHOT, other])
    assert key == image_key(BASE, TinyPostgres(), [other, SNAPSHOT])


@pytest.mark.parametrize(
    ("base", "snapshot", "change"),
    [
        (replace(BASE, digest="sha256:b"), SNAPSHOT, {}),
        (BASE, replace(SNAPSHOT, digest="two"), {}),
        (BASE, replace(SNAPSHOT, database="e"), {}),
        (BASE, SNAPSHOT, {"builder_version": 2}),
        (BASE, SNAPSHOT, {"init": (("true",),)}),
        (BASE, SNAPSHOT, {"serve": {}}),
        (BASE, SNAPSHOT, {"extra_files": ((Path(__file__), "/opt/x"),)}),
    ],
)
def test_whatever_goes_into_an_image_changes_its_key(
    base: BaseImage, snapshot: Snapshot, change: dict[str, object]
) -> None:
    """Base, content, server options, own files and builder: none may change under an old image."""
    adapter = TinyPostgres()
    altered = Altered(replace(adapter.recipe, **change))  # type: ignore[arg-type]
    same = Altered(adapter.recipe)
    assert image_key(base, altered, [snapshot]) != image_key(BASE, same, [SNAPSHOT])


def test_a_built_base_is_named_by_its_recipe() -> None:
    """Another package list gives another base, so an old one is never taken for it."""
    recipe = TinyPostgres().recipe
    more = replace(recipe, debian=replace(recipe.debian, packages=("postgresql-17", "dash", "more")))
    assert built_tag(recipe) == built_tag(recipe)
    assert built_tag(recipe) != built_tag(more)


def test_a_digest_covers_files_alone() -> None:
    """The same layers under another image id are the same base."""
    layers = {"RootFS": {"Layers": ["sha256:1"]}}
    assert content_digest({"Id": "a", **layers}) == content_digest({"Id": "b", **layers})
    assert content_digest({"Id": "a", **layers}) != content_digest({"Id": "a", "RootFS": {"Layers": ["sha256:2"]}})


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"Labels": {"io.sqlassay.version": "17.4"}, "Env": ["PG_VERSION=9"]}, "17.4"),
        ({"Labels": None, "Env": ["PATH=/bin", "PG_VERSION=17.5-1"]}, "17.5-1"),
        ({}, ""),
    ],
)
def test_the_version_comes_from_the_label_or_the_official_variable(config: dict[str, object], expected: str) -> None:
    """The report names the engine's version, whatever the source of its image."""
    assert version({"Config": config}) == expected


def test_a_stored_image_comes_back_whole(tmp_path: Path) -> None:
    """Catalogue and secret survive the process, readable by their owner alone."""
    store = Store(tmp_path)
    store.save(STORED, "hush")
    assert store.load(STORED.key) == STORED
    assert store.password(STORED.key) == "hush"
    folder = tmp_path / "images" / STORED.key
    assert [path.stat().st_mode & 0o777 for path in (folder, folder / "secret")] == [0o700, 0o600]


@pytest.mark.parametrize("damage", ["", "{}", '{"format": 9}'])
def test_a_damaged_catalogue_is_no_catalogue(tmp_path: Path, damage: str) -> None:
    """What cannot be read is baked again instead of trusted."""
    store = Store(tmp_path)
    store.save(STORED, "hush")
    (tmp_path / "images" / STORED.key / "catalog.json").write_text(damage)
    assert store.load(STORED.key) is None
    assert images(tmp_path) == ()


def test_an_image_of_another_version_is_no_damaged_one(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Whole, but with a field that is not known here: it is baked again, and nobody is frightened."""
    store = Store(tmp_path)
    store.save(STORED, "hush")
    path = tmp_path / "images" / STORED.key / "catalog.json"
    value = json.loads(path.read_bytes()) | {"newer": 1}
    path.write_text(json.dumps(value | {"seal": _seal(value, "hush")}))
    assert (store.load(STORED.key), caplog.text) == (None, "")
    path.write_text(json.dumps({name: one for name, one in value.items() if name != "seal"} | {"format": 2}))
    assert (store.load(STORED.key), caplog.text) == (None, ""), "an earlier version had no seals"
    path.write_text(json.dumps(value))
    assert store.by_use() == ()
    assert caplog.text == "", "nobody asked for this image"
    assert store.load(STORED.key) is None
    assert "is damaged and is made again" in caplog.text


@pytest.mark.parametrize("name", ["catalog.json", "secret"])
def test_one_bit_of_what_is_kept_of_an_image_is_noticed(tmp_path: Path, name: str) -> None:
    """Whichever bit a disk changes, in a name, a type or the secret, the image is baked again."""
    store = Store(tmp_path)
    store.save(STORED, "hush")
    path = tmp_path / "images" / STORED.key / name
    content = path.read_bytes()
    chance = random.Random(20261128)
    for place in sorted(chance.sample(range(len(content)), min(len(content), 60))):
        changed = bytearray(content)
        changed[place] ^= 1 << chance.randrange(8)
        path.write_bytes(changed)
        found = store.load(STORED.key)
        assert found is None or found == STORED, (place, bytes(changed))
        path.write_bytes(content)
    assert store.load(STORED.key) == STORED


def test_a_catalogue_without_its_secret_is_no_catalogue(tmp_path: Path) -> None:
    """Nobody could log in to that image any more."""
    store = Store(tmp_path)
    store.save(STORED, "hush")
    (tmp_path / "images" / STORED.key / "secret").unlink()
    assert store.load(STORED.key) is None


def test_images_are_listed_by_use(tmp_path: Path) -> None:
    """The image used last comes first, for people and for the collection of old ones."""
    store = Store(tmp_path)
    second = STORED.model_copy(update={"key": "l" * 64, "ref": "image:2"})
    store.save(STORED, "hush")
    store.save(second, "hush")
    for key, used in ((STORED.key, 2_000_000_000), (second.key, 1_000_000_000)):
        _set_use(tmp_path / "images" / key / "catalog.json", used)
    assert [stored.ref for _, stored in store.by_use()] == ["image:1", "image:2"]
    assert [(line.ref, line.databases, line.provider) for line in images(tmp_path)] == [
        ("image:1", 1, "docker"),
        ("image:2", 1, "docker"),
    ]


def _set_use(path: Path, when: int) -> None:
    """Set a catalogue's time of last use."""
    import os

    os.utime(path, (when, when))


def test_secrets_are_long_and_never_alike() -> None:
    """128 bits, in characters that no engine needs quoted."""
    first, second = new_password(), new_password()
    assert first != second
    assert len(first) == 32
    assert first.isalnum()


def test_an_image_of_a_catalogue_without_routines_is_still_known(tmp_path: Path) -> None:
    """A catalogue of format 1 stays readable, so that its image is collected like any other."""
    store = Store(tmp_path)
    old = CATALOG.model_copy(update={"format": 1})
    store.save(STORED.model_copy(update={"catalogs": (old,)}), new_password())
    assert [found.catalogs for _, found in store.by_use()] == [(old,)]
    path = tmp_path / "images" / STORED.key / "catalog.json"
    path.write_text(
        path.read_text("utf-8").replace('"format": 1,\n   "dialect"', '"format": 99,\n   "dialect"'), "utf-8"
    )
    assert store.load(STORED.key) is None
