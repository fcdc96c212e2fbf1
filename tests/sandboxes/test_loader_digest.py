"""An image's key follows every source file that decides what is baked."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from sqlassay.cases.relation import Kind
from sqlassay.cases.snapshot import ColumnDef, Snapshot, TableDef
from sqlassay.dialect_adapters.contract import Adapter
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.sandboxes import loader
from sqlassay.sandboxes.process.images import image_key
from sqlassay.sandboxes.process.interpreter import host_interpreter

SNAPSHOT = Snapshot("numbers", "w", "digest-1", (TableDef("t", (ColumnDef("n", Kind.INT),)),))


@pytest.mark.parametrize(
    "name",
    [
        "dialect_adapters/ddl.py",
        "dialect_adapters/sqlite/load.py",
        "dialect_adapters/sqlite/reflect.py",
        "dialect_adapters/sqlite/worker/child.py",
        "cases/snapshot.py",
        "cases/relation.py",
        "cases/sources/__init__.py",
    ],
)
def test_what_decides_the_bytes_is_covered(name: str) -> None:
    """Reading, spelling, loading and describing a snapshot: a change of any of these files is another image."""
    assert name in [
        str(path.relative_to(path.parents[name.count("/")])) for path in loader.loader_files(adapter("sqlite"))
    ]


def test_another_dialects_code_is_not() -> None:
    """A change of one dialect bakes no other dialect's images again."""
    assert not [path for path in loader.loader_files(adapter("sqlite")) if path.parent.name in ("mysql", "postgres")]


@pytest.fixture
def foreign(tmp_path: Path) -> Adapter:
    """An adapter of somebody else's package."""
    path = tmp_path / "foreign" / "__init__.py"
    path.parent.mkdir()
    path.write_text(
        "from sqlassay.dialect_adapters.sqlite.adapter import SqliteAdapter\nclass Foreign(SqliteAdapter):\n    ...\n"
    )
    spec = importlib.util.spec_from_file_location("foreign", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["foreign"] = module
    spec.loader.exec_module(module)
    made: Adapter = module.Foreign()
    return made


def test_a_changed_source_file_is_another_image(foreign: Adapter, tmp_path: Path) -> None:
    """One byte in one file gives another key, as does a new file."""
    keys = {image_key(foreign, [SNAPSHOT], host_interpreter())}
    assert image_key(foreign, [SNAPSHOT], host_interpreter()) in keys
    (tmp_path / "foreign" / "load.py").write_text("A = 1\n")
    keys.add(image_key(foreign, [SNAPSHOT], host_interpreter()))
    (tmp_path / "foreign" / "load.py").write_text("A = 2\n")
    keys.add(image_key(foreign, [SNAPSHOT], host_interpreter()))
    assert len(keys) == 3


def test_another_sqlalchemy_is_another_image(monkeypatch: pytest.MonkeyPatch) -> None:
    """What spells the DDL is part of the key."""
    before = loader.loader_digest(adapter("sqlite"))
    monkeypatch.setattr(loader, "version", lambda _: "0")
    assert loader.loader_digest(adapter("sqlite")) != before
