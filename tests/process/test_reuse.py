"""A changed pack writes only the database files that changed; the others are those of an earlier image."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from sqlassay.cases.catalog import Catalog
from sqlassay.cases.errors import InputError
from sqlassay.cases.relation import Kind
from sqlassay.cases.snapshot import ColumnDef, Snapshot, TableDef
from sqlassay.dialect_adapters.contract import Endpoint
from sqlassay.dialect_adapters.sqlite.adapter import SqliteAdapter
from sqlassay.sandboxes.contract import SnapshotImage
from sqlassay.sandboxes.process.images import image_data, prepare_image
from sqlassay.sandboxes.process.interpreter import host_interpreter


class Rows:
    """So many rows."""

    def __init__(self, count: int) -> None:
        """Remember how many."""
        self.count = count

    def rows(self, table: str) -> Iterator[tuple[object, ...]]:
        """Yield them."""
        yield from ((number,) for number in range(self.count))


class Watched(SqliteAdapter):
    """Tells which snapshots it was asked to write."""

    def __init__(self) -> None:
        """Nothing yet."""
        self.wrote: list[str] = []

    def load(self, endpoint: Endpoint, snapshots: Sequence[Snapshot]) -> tuple[Catalog, ...]:
        """Note and write."""
        self.wrote = [snapshot.id for snapshot in snapshots]
        return super().load(endpoint, snapshots)


def snapshot(name: str, rows: int = 3) -> Snapshot:
    """Return a snapshot of one table."""
    tables = (TableDef("t", (ColumnDef("n", Kind.INT),)),)
    return Snapshot(id=name, database=f"db_{name}", digest=f"{name} {rows}", tables=tables, source=Rows(rows))


FIRST = [snapshot("a"), snapshot("b"), snapshot("c")]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep images apart from the machine's."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def made(snapshots: Sequence[Snapshot]) -> tuple[SnapshotImage, list[str]]:
    """Return the image of these snapshots and which of them were written for it; None at all where it was there."""
    adapter = Watched()
    return prepare_image(adapter, snapshots, host_interpreter(), lambda _: None), adapter.wrote


def test_only_what_changed_is_written() -> None:
    """One of three changed, one gone, one new: two are written, the image is as one that was written whole."""
    made(FIRST)
    after = [snapshot("a"), snapshot("b", rows=5), snapshot("d")]
    image, wrote = made(after)
    assert wrote == ["b", "d"]
    assert [(one.snapshot, one.tables[0].rows) for one in image.catalogs] == [("a", 3), ("b", 5), ("d", 3)]
    assert sorted(path.name for path in image_data(image).iterdir()) == ["db_a.sqlite", "db_b.sqlite", "db_d.sqlite"]


def test_an_image_of_what_is_known_is_written_without_loading() -> None:
    """Fewer of the same snapshots, in another order, are taken over, and outlive the first image."""
    whole, _ = made(FIRST)
    image, wrote = made([FIRST[2], FIRST[0]])
    assert (wrote, [one.snapshot for one in image.catalogs]) == ([], ["c", "a"])
    for path in image_data(whole).iterdir():
        path.unlink()
    assert sorted(path.name for path in image_data(image).iterdir()) == ["db_a.sqlite", "db_c.sqlite"]


def test_what_differs_is_not_taken() -> None:
    """Another content, another name for the database, a file that was changed since: each is written anew."""
    image, _ = made(FIRST)
    assert made([snapshot("a", rows=4)])[1] == ["a"]
    assert made([replace(FIRST[0], database="other")])[1] == ["a"]
    file = image_data(image) / "db_b.sqlite"
    file.chmod(0o600)
    file.write_bytes(file.read_bytes() + b"x")
    assert made([FIRST[1]])[1] == ["b"]


@pytest.mark.parametrize("said", [None, [], {"made_by": "other"}, {"catalogs": []}, {"held": {}}])
def test_damaged_catalogues_and_other_making_are_passed_over(said: dict[str, object] | list[object] | None) -> None:
    """A catalogue that cannot be read, or is of other code or another library, gives nothing."""
    image, _ = made(FIRST)
    catalog = image_data(image).parent / "catalog.json"
    stored = json.loads(catalog.read_text(encoding="utf-8"))
    catalog.write_text("{" if said is None else json.dumps(stored | said if isinstance(said, dict) else said))
    assert made([snapshot("a"), snapshot("x")])[1] == ["a", "x"]


def test_two_snapshots_of_one_name_are_refused_whatever_is_known() -> None:
    """A file that an earlier image holds is never written over by a second snapshot of that name."""
    image, _ = made(FIRST)
    before = (image_data(image) / "db_a.sqlite").read_bytes()
    with pytest.raises(InputError, match="used twice"):
        made([FIRST[0], replace(snapshot("z"), database="db_a")])
    assert (image_data(image) / "db_a.sqlite").read_bytes() == before


def test_twenty_databases_with_one_changed_are_quick() -> None:
    """What stays costs a link each."""
    many = [snapshot(f"m{number}", rows=2000) for number in range(20)]
    began = time.monotonic()
    made(many)
    whole = time.monotonic() - began
    began = time.monotonic()
    assert made([*many[:-1], snapshot("m19", rows=1)])[1] == ["m19"]
    assert time.monotonic() - began < whole
