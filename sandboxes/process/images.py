"""Images of the process provider: a folder with the data and its catalogues, built once and keyed by content."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from sqlassay.cases.catalog import Catalog
from sqlassay.cases.counting import counted
from sqlassay.cases.errors import InfrastructureError
from sqlassay.cases.snapshot import Snapshot
from sqlassay.dialect_adapters.contract import Adapter, Endpoint
from sqlassay.sandboxes.cache import cache_dir, private_folder, unusable, write_private
from sqlassay.sandboxes.contract import BaseImage, Notice, SnapshotImage
from sqlassay.sandboxes.loader import loader_digest
from sqlassay.sandboxes.locks import exclusive
from sqlassay.sandboxes.process.interpreter import Interpreter
from sqlassay.sandboxes.process.library import host_library
from sqlassay.sandboxes.process.reuse import reuse, written
from sqlassay.sandboxes.process.seal import CATALOG, DATA, FORMAT, SECRET, is_sound, read, seal

IMPORTED = "imported"
"""Stands in the folder of an image that came in a bundle and holds its portable key."""

_NOTICE_FROM = 5

Writer: TypeAlias = Callable[[Path], tuple[Catalog, ...]]
"""Fills an image's folder and returns what its databases hold."""


def image_key(adapter: Adapter, snapshots: Sequence[Snapshot], interpreter: Interpreter) -> str:
    """Return the key of everything that decides an image's bytes: the snapshots in any order, code and library."""
    content = sorted((snapshot.id, snapshot.database, snapshot.digest) for snapshot in snapshots)
    code = [adapter.recipe.builder_version, loader_digest(adapter)]
    parts = [FORMAT, adapter.name, code, interpreter.python_version, engine_of(adapter, interpreter)[1], content]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def engine_of(adapter: Adapter, interpreter: Interpreter) -> tuple[str, str]:
    """Return the library that reads an image's files here, and its version."""
    library = adapter.recipe.library
    return (library.distribution, host_library(library).version) if library else ("sqlite", interpreter.sqlite_version)


def loaded_by(adapter: Adapter) -> str:
    """Return the digest of the code that wrote an image, whatever is in it."""
    parts = [FORMAT, adapter.name, adapter.recipe.builder_version, loader_digest(adapter)]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def portable_key(adapter: Adapter, snapshots: Sequence[Snapshot]) -> str:
    """Return the key of what decides an image's content whatever the library: files of one suit every other."""
    content = sorted((snapshot.id, snapshot.database, snapshot.digest) for snapshot in snapshots)
    return hashlib.sha256(json.dumps([loaded_by(adapter), content]).encode()).hexdigest()[:32]


def prepare_image(
    adapter: Adapter, snapshots: Sequence[Snapshot], interpreter: Interpreter, notice: Notice
) -> SnapshotImage:
    """Return the image, building it under a lock where no run has built it before.

    Raises:
        InputError: a snapshot that cannot be loaded.
        InfrastructureError: the files cannot be written.
    """
    key = image_key(adapter, snapshots, interpreter)
    made_by = image_key(adapter, (), interpreter)

    def write(draft: Path) -> tuple[Catalog, ...]:
        """Write the database files that no earlier image holds."""
        data = draft / DATA
        data.mkdir(mode=0o755)
        found = reuse(made_by, snapshots, data)
        fresh = [snapshot for snapshot in snapshots if snapshot.id not in found]
        if len(fresh) >= _NOTICE_FROM:
            notice(f"writing {counted(len(fresh), f'{adapter.name} database')}, about {1 + len(fresh) // 10} s")
        loaded = adapter.load(Endpoint(socket=data), fresh) if fresh else ()
        found |= {catalog.snapshot: catalog for catalog in loaded}
        return tuple(found[snapshot.id] for snapshot in snapshots)

    engine, version = engine_of(adapter, interpreter)
    base = BaseImage(
        ref=f"host/cpython:{interpreter.python_version}",
        digest=f"{engine}:{version}",
        bin_dir=str(interpreter.program.parent),
        uid=os.geteuid(),
        version=version,
        source="host",
    )
    portable = portable_key(adapter, snapshots)
    said = {"portable": portable, **written(made_by, snapshots)}
    return stored_image(adapter, base, _imported(portable) or key, snapshots, write, said=said)


def _imported(portable: str) -> str:
    """Return the key of an image of that content that came in a bundle, or nothing."""
    for path in (cache_dir() / "process").glob(f"*/{IMPORTED}"):
        if path.read_text("utf-8") == portable and (path.parent / CATALOG).is_file():
            return path.parent.name
    return ""


def stored_image(
    adapter: Adapter,
    base: BaseImage,
    key: str,
    snapshots: Sequence[Snapshot],
    write: Writer,
    password: str = "",
    said: Mapping[str, object] | None = None,
) -> SnapshotImage:
    """Return the image of a key; where nobody has made it, `write` fills a folder under the key's lock.

    `said` is what else its catalogue says: `portable` is the key of its content alone, where the image may be exported
    to another machine.

    Raises:
        InputError: a snapshot that cannot be loaded.
        InfrastructureError: the files cannot be written.
    """
    folder = _folder(key)
    home = private_folder(folder.parent)
    if not is_sound(folder, snapshots):
        try:
            with exclusive(home, key):
                if not is_sound(folder, snapshots):
                    texts = {"ref": _ref(adapter, key), "portable": "", "loaded_by": loaded_by(adapter)}
                    _build(texts | dict(said or {}), folder, write, password)
        except OSError as error:
            raise unusable(folder, error) from error
    with contextlib.suppress(OSError):
        os.utime(folder / CATALOG)
    return SnapshotImage(_ref(adapter, key), key, adapter.name, base, read(folder, snapshots))


def image_data(image: SnapshotImage) -> Path:
    """Return the folder of an image's data; only its key is known outside."""
    return _folder(image.key) / DATA


def image_secret(image: SnapshotImage) -> str:
    """Return the one secret of an image's logins.

    Raises:
        InfrastructureError: somebody removed the image meanwhile.
    """
    try:
        return (_folder(image.key) / SECRET).read_text(encoding="utf-8")
    except OSError as error:
        raise InfrastructureError(f"the image {image.ref} is gone", remedy="Run again: it is made anew") from error


def _folder(key: str) -> Path:
    """Return where an image of this key lies."""
    return cache_dir() / "process" / key


def _ref(adapter: Adapter, key: str) -> str:
    """Return an image's name, which says nothing about this machine."""
    return f"process/{adapter.name}:{key}"


def _build(said: dict[str, object], folder: Path, write: Writer, password: str) -> None:
    """Write the files beside the final folder and rename it last, so that nobody sees half an image."""
    with _draft(folder) as draft:
        catalogs = write(draft)
        texts = said | {"format": FORMAT, "catalogs": [catalog.model_dump(mode="json") for catalog in catalogs]}
        if password:
            write_private(draft / SECRET, password)
        write_private(draft / CATALOG, json.dumps(texts))
        seal(draft)
        shutil.rmtree(folder, ignore_errors=True)
        draft.rename(folder)


@contextmanager
def _draft(folder: Path) -> Iterator[Path]:
    """Give an empty folder beside the final one, and remove what is left of it and of drafts before."""
    for left in folder.parent.glob(f".{folder.name}.*"):
        # The lock of this key is ours: whoever made it is dead.
        shutil.rmtree(left, ignore_errors=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        yield draft
    finally:
        shutil.rmtree(draft, ignore_errors=True)
