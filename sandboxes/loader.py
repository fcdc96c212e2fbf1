"""Which code decides what a baked database holds: another way to read, spell or load a snapshot is another image."""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from sqlassay import cases, dialect_adapters
from sqlassay.dialect_adapters.contract import Adapter

_SPELLS_DDL = "sqlalchemy"
_IMPORTED = re.compile(r"^\s*(?:from|import) sqlassay\.dialect_adapters\.(\w+)\.", re.MULTILINE)


def loader_digest(adapter: Adapter) -> str:
    """Return a digest over the source of everything that a bake runs, and the version of what spells its DDL."""
    found = hashlib.sha256(version(_SPELLS_DDL).encode())
    for path in loader_files(adapter):
        found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()


def loader_files(adapter: Adapter) -> tuple[Path, ...]:
    """Return the files that read snapshots, spell DDL and load: two rooms' own, the adapter's folder and its kin's."""
    module = sys.modules[type(adapter).__module__]
    own = Path(str(module.__file__))
    folder = own.parent.rglob("*.py") if module.__package__ else [own]
    files = sorted(folder)
    readers = Path(str(cases.__file__)).parent.rglob("*.py")
    spellers = Path(str(dialect_adapters.__file__)).parent.glob("*.py")
    return (*sorted(readers), *sorted(spellers), *files, *_borrowed(files))


def _borrowed(files: Sequence[Path]) -> list[Path]:
    """Return the files of the other dialects' folders that these import from."""
    room = Path(str(dialect_adapters.__file__)).parent
    names = {name for path in files for name in _IMPORTED.findall(path.read_text(encoding="utf-8"))}
    folders = {room / name for name in names if (room / name).is_dir()} - {path.parent for path in files}
    return sorted(path for folder in folders for path in folder.rglob("*.py"))
