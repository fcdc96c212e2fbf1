"""The nearest earlier image is chosen by what must be loaded, and left alone where a bake of all is better."""

from __future__ import annotations

from collections.abc import Sequence

from sqlassay.cases.catalog import Catalog
from sqlassay.cases.snapshot import Snapshot
from sqlassay.sandboxes.contract import BaseImage
from sqlassay.sandboxes.steps import MOST_STEPS, nearest
from sqlassay.sandboxes.store import StoredImage, held

BASE = BaseImage("base:1", "sha256:a", "/usr/bin", 999, "17", "debian")


def _snapshots(names: str, changed: str = "") -> list[Snapshot]:
    """Return one snapshot a letter; those in `changed` hold other data."""
    return [Snapshot(id=name, database=f"db_{name}", digest="new" if name in changed else "old") for name in names]


def _image(ref: str, snapshots: Sequence[Snapshot], steps: int = 0) -> StoredImage:
    """Return a stored image of these snapshots."""
    catalogs = tuple(
        Catalog(dialect="postgres", snapshot=one.id, database=one.database, engine_version="17", tables=())
        for one in snapshots
    )
    return StoredImage(
        key=ref, dialect="postgres", ref=ref, image_id=ref, base=BASE, catalogs=catalogs,
        held=held(snapshots), steps=steps,
    )  # fmt: skip


def test_only_what_changed_is_loaded() -> None:
    """One changed snapshot goes and comes, one that is gone goes, one that is new comes, the rest stays."""
    step = nearest([_image("all", _snapshots("abcdef"))], _snapshots("abcdeg", changed="b"))
    assert step is not None
    assert [catalog.snapshot for catalog in step.kept] == ["a", "c", "d", "e"]
    assert step.dropped == ("db_b", "db_f")
    assert [(one.id, one.digest) for one in step.added] == [("b", "new"), ("g", "old")]


def test_a_snapshot_whose_database_was_renamed_is_loaded_again() -> None:
    """The data is the same; the database and its logins are not."""
    wanted = [*_snapshots("abc"), Snapshot(id="d", database="other", digest="old")]
    step = nearest([_image("all", _snapshots("abcd"))], wanted)
    assert step is not None
    assert (step.dropped, [one.id for one in step.added]) == (("db_d",), ["d"])


def test_the_image_that_needs_the_least_loading_wins() -> None:
    """Not the one used last."""
    images = [_image("far", _snapshots("abx")), _image("near", _snapshots("abc"))]
    step = nearest(images, _snapshots("abcd"))
    assert step is not None
    assert step.image.ref == "near"


def test_too_many_changes_are_a_bake_of_all() -> None:
    """Where more comes or goes than stays, the base is nearer."""
    assert nearest([_image("x", _snapshots("ab"))], _snapshots("abcde")) is None
    assert nearest([_image("x", _snapshots("abcde"))], _snapshots("ab")) is None
    assert nearest([_image("x", _snapshots("ab"))], _snapshots("cd")) is None
    assert nearest([], _snapshots("a")) is None


def test_layers_do_not_grow_for_ever() -> None:
    """What was dropped stays in the layers below, so that a chain ends at a number."""
    assert nearest([_image("x", _snapshots("abc"), steps=MOST_STEPS)], _snapshots("abcd")) is None
    assert nearest([_image("x", _snapshots("abc"), steps=MOST_STEPS - 1)], _snapshots("abcd")) is not None
