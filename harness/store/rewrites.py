"""Rewritten gold kept on the host between runs: writing it anew costs more than running it.

Only gold is kept. A statement is named by its text, what its snapshot holds, both engines, and the code that writes it.
"""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path

from sqlassay import dialect_adapters
from sqlassay.cases.snapshot import Snapshot
from sqlassay.dialect_adapters.contract import Adapter
from sqlassay.dialect_adapters.transpile.rewrite import Rewritten, rewrite
from sqlassay.harness.store.kept_files import KeptFiles


class Rewrites:
    """Files under one folder, or nothing kept where none is given. Safe between threads and processes."""

    def __init__(self, folder: Path | None) -> None:
        """Keep what is written in `folder`."""
        self._files = None if folder is None else KeptFiles(folder, ".json", what="rewritten gold")

    def rewrite(self, sql: str, snapshot: Snapshot, source: Adapter, target: Adapter) -> Rewritten:
        """Return the statement as the target has to say it: as kept, else written now and kept."""
        if self._files is None:
            return rewrite(sql, snapshot, source, target)
        digest = _digest(sql, snapshot, source.name, target.name)
        kept = _read(self._files, digest)
        if kept is None:
            kept = rewrite(sql, snapshot, source, target)
            self._files.write(digest, json.dumps({"sql": kept.sql, "reason": kept.reason}).encode())
        return kept


def _digest(sql: str, snapshot: Snapshot, source: str, target: str) -> str:
    """Return the name of everything a rewrite depends on."""
    named = [_code(source, target), version("sqlglot"), snapshot.digest, source, target, sql]
    return hashlib.sha256(json.dumps(named).encode("utf-8", "surrogatepass")).hexdigest()


@lru_cache(maxsize=16)
def _code(source: str, target: str) -> str:
    """Return the sha256 of the code that reads one dialect and writes another."""
    room = Path(dialect_adapters.__file__).parent
    found = hashlib.sha256()
    for folder in ("transpile", source, target):
        for file in sorted((room / folder).glob("*.py")):
            found.update(file.read_bytes())
    return found.hexdigest()


def _read(files: KeptFiles, digest: str) -> Rewritten | None:
    """Return a kept rewrite, None where there is none or its file is damaged."""
    content = files.read(digest)
    if content is None:
        return None
    try:
        return Rewritten(**json.loads(content))
    except (ValueError, TypeError) as error:
        files.damaged(digest, error)
        return None
