"""Images of the process provider: a folder of database files and their catalogues, built once and keyed by content."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from cases.catalog import Catalog
from cases.snapshot import Snapshot
from dialect_adapters.contract import Adapter, Endpoint
from sandboxes.cache import cache_dir, private_folder, unusable, write_private
from sandboxes.contract import BaseImage, Notice, SnapshotImage
from sandboxes.loader import loader_digest
from sandboxes.locks import exclusive
from sandboxes.process.interpreter import Interpreter

FORMAT = 2
DATA = "data"
CATALOG = "catalog.json"
_NOTICE_FROM = 5


def image_key(adapter: Adapter, snapshots: Sequence[Snapshot], interpreter: Interpreter) -> str:
    """Return the key of everything that decides an image's bytes: the snapshots in any order, code and library."""
    content = sorted((snapshot.id, snapshot.database, snapshot.digest) for snapshot in snapshots)
    code = [adapter.recipe.builder_version, loader_digest(adapter)]
    parts = [FORMAT, adapter.name, code, interpreter.python_version, interpreter.sqlite_version, content]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def prepare_image(
    adapter: Adapter, snapshots: Sequence[Snapshot], interpreter: Interpreter, notice: Notice
) -> SnapshotImage:
    """Return the image, building it under a lock where no run has built it before.

    Raises:
        InputError: a snapshot that cannot be loaded.
        InfrastructureError: the files cannot be written.
    """
    key = image_key(adapter, snapshots, interpreter)
    folder = _folder(key)
    home = private_folder(folder.parent)
    if not (folder / CATALOG).is_file():
        try:
            with exclusive(home, key):
                if not (folder / CATALOG).is_file():
                    _build(adapter, snapshots, folder, notice)
        except OSError as error:
            raise unusable(folder, error) from error
    base = BaseImage(
        ref=f"host/cpython:{interpreter.python_version}",
        digest=f"sqlite:{interpreter.sqlite_version}",
        bin_dir=str(interpreter.program.parent),
        uid=os.geteuid(),
        version=interpreter.sqlite_version,
        source="host",
    )
    return SnapshotImage(_ref(adapter, key), key, adapter.name, base, _read(folder, snapshots))


def image_data(image: SnapshotImage) -> Path:
    """Return the folder of an image's database files; only its key is known outside."""
    return _folder(image.key) / DATA


def _folder(key: str) -> Path:
    """Return where an image of this key lies."""
    return cache_dir() / "process" / key


def _ref(adapter: Adapter, key: str) -> str:
    """Return an image's name, which says nothing about this machine."""
    return f"process/{adapter.name}:{key}"


def _build(adapter: Adapter, snapshots: Sequence[Snapshot], folder: Path, notice: Notice) -> None:
    """Write the files beside the final folder and rename it last, so that nobody sees half an image."""
    if len(snapshots) >= _NOTICE_FROM:
        notice(f"writing {len(snapshots)} {adapter.name} databases, about {1 + len(snapshots) // 10} s")
    for left in folder.parent.glob(f".{folder.name}.*"):
        # The lock of this key is ours: whoever made it is dead.
        shutil.rmtree(left, ignore_errors=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        data = draft / DATA
        data.mkdir(mode=0o755)
        catalogs = adapter.load(Endpoint(socket=data), snapshots)
        texts = {
            "format": FORMAT,
            "ref": _ref(adapter, folder.name),
            "catalogs": [catalog.model_dump(mode="json") for catalog in catalogs],
        }
        write_private(draft / CATALOG, json.dumps(texts))
        shutil.rmtree(folder, ignore_errors=True)
        draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _read(folder: Path, snapshots: Sequence[Snapshot]) -> tuple[Catalog, ...]:
    """Return the image's catalogues in the order the snapshots were asked for."""
    stored = json.loads((folder / CATALOG).read_text(encoding="utf-8"))
    catalogs = {catalog.snapshot: catalog for catalog in map(Catalog.model_validate, stored["catalogs"])}
    return tuple(catalogs[snapshot.id] for snapshot in snapshots)
