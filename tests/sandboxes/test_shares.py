"""A large pack is split over several images; each statement runs on its own snapshot's, and nothing else differs."""

from __future__ import annotations

from pathlib import Path

import pytest

from sqlassay.cases.catalog import Catalog
from sqlassay.cases.formats.registry import load_pack
from sqlassay.cases.snapshot import Snapshot
from sqlassay.dialect_adapters import registry
from sqlassay.sandboxes import shares as module
from sqlassay.sandboxes.contract import BaseImage, SnapshotImage
from sqlassay.sandboxes.process.provider import ProcessProvider
from sqlassay.sandboxes.shares import prepare_shares, shares, source_bytes

BASE = BaseImage("b", "sha256:b", "/bin", 999, "1", "debian")


def _sized(folder: Path, *sizes: int) -> list[Snapshot]:
    """Return a snapshot of a file of each size."""
    made = []
    for number, size in enumerate(sizes):
        path = folder / f"{number}.sqlite"
        path.write_bytes(b"x" * size)
        made.append(Snapshot(id=str(number), database=f"d{number}", digest="x", sqlite_file=path))
    return made


@pytest.mark.parametrize(
    ("sizes", "most", "most_bytes", "expected"),
    [
        ((1, 1, 1), 50, 100, [[0, 1, 2]]),
        ((1, 1, 1, 1, 1), 2, 100, [[0, 1], [2, 3], [4]]),
        ((60, 60, 10, 30), 50, 100, [[0], [1, 2, 3]]),
        ((500, 1, 500), 50, 100, [[0], [1], [2]]),
        ((50, 50), 50, 100, [[0, 1]]),
        ((), 50, 100, [[]]),
    ],
)
def test_a_share_is_as_large_as_both_limits_allow(
    tmp_path: Path, sizes: tuple[int, ...], most: int, most_bytes: int, expected: list[list[int]]
) -> None:
    """In the pack's order; a snapshot beyond the limit has a share of its own."""
    found = shares(_sized(tmp_path, *sizes), "sqlite", most=most, most_bytes=most_bytes)
    assert [[int(one.id) for one in share] for share in found] == expected


def test_sizes_are_those_of_the_files_a_snapshot_is_read_from(tmp_path: Path) -> None:
    """CSV files, one dialect's scripts, or a SQLite file; nothing where no file is known."""
    (shop,) = load_pack(Path("demo")).snapshots
    assert source_bytes(shop, "postgres") > 100
    script = tmp_path / "x.sql"
    script.write_text("SELECT 1")
    scripted = Snapshot(id="s", database="s", digest="s", scripts={"mysql": (script,)})
    assert (source_bytes(scripted, "mysql"), source_bytes(scripted, "postgres")) == (8, 0)


def test_a_snapshot_leads_to_the_part_that_holds_it() -> None:
    """An image without parts holds all of its own."""

    def image(name: str, *snapshots: str, parts: tuple[SnapshotImage, ...] = ()) -> SnapshotImage:
        """Return an image of snapshots."""
        catalogs = tuple(
            Catalog(dialect="sqlite", snapshot=one, database=one, engine_version="3", tables=()) for one in snapshots
        )
        return SnapshotImage(name, name, "sqlite", BASE, catalogs, parts)

    first, second = image("1", "a", "b"), image("2", "c")
    whole = image("all", "a", "b", "c", parts=(first, second))
    assert [whole.holding(one) for one in "abc"] == [first, first, second]
    assert first.holding("a") is first
    assert whole.catalog("c").database == "c"


def test_small_packs_have_one_image_and_large_ones_several(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The value over several says so in its name, has a key of its own, and shares no image between shares."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (shop,) = load_pack(Path("demo")).snapshots
    pair = [Snapshot(id=name, database=name, digest=name, tables=shop.tables, source=shop.source) for name in "ab"]
    provider = ProcessProvider()
    adapter = registry.adapter("sqlite")
    one = prepare_shares(provider, adapter, pair, lambda _: None)
    assert (one.parts, len(one.catalogs)) == ((), 2)
    monkeypatch.setattr(module, "MOST_DATABASES", 1)
    two = prepare_shares(provider, adapter, pair, lambda _: None)
    assert [[catalog.snapshot for catalog in part.catalogs] for part in two.parts] == [["a"], ["b"]]
    assert two.ref == f"{two.parts[0].ref} and 1 more"
    assert len({one.key, two.key, *(part.key for part in two.parts)}) == 4
    assert [catalog.snapshot for catalog in two.catalogs] == ["a", "b"]
    provider.close()
