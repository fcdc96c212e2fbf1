"""A pack written in our own format loads to the same cases and data, whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from sqlassay.cases.errors import InputError
from sqlassay.cases.formats.registry import load_pack
from sqlassay.cases.pack import Pack
from sqlassay.cases.writing import write_pack


def content(pack: Pack) -> list[tuple[str, list[object]]]:
    """Return every row of every table, by table."""
    found: list[tuple[str, list[object]]] = []
    for snapshot in pack.snapshots:
        for table in snapshot.tables:
            assert snapshot.source is not None
            found.append((table.name, list(snapshot.source.rows(table.name))))
    return found


@pytest.mark.parametrize("name", ["demo", pytest.param("shop", marks=pytest.mark.slow), "changes"])
def test_pack_comes_back_as_it_was(tmp_path: Path, name: str) -> None:
    """Cases, routes, settings and rows survive."""
    pack = load_pack(Path(name))
    write_pack(pack, tmp_path / "new")
    again = load_pack(tmp_path / "new")
    assert again.cases == pack.cases
    assert (again.routes, again.visible, again.settings) == (pack.routes, pack.visible, pack.settings)
    assert content(again) == content(pack)
    assert again.digest == pack.digest


def test_what_is_there_stays(tmp_path: Path) -> None:
    """Nothing is overwritten; an empty folder may be filled."""
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").touch()
    pack = load_pack(Path("demo"))
    with pytest.raises(InputError, match="something is there already"):
        write_pack(pack, tmp_path / "full")
    (tmp_path / "empty").mkdir()
    assert write_pack(pack, tmp_path / "empty")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "full"]
