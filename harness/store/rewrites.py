"""Rewritten gold kept on the host between runs: writing it anew costs more than running it.

Only gold is kept. A statement is named by its text, what its snapshot holds, both engines, and the code that writes it.
"""

from __future__ import annotations

import hashlib
import json
import logging
import secrets
from contextlib import suppress
from dataclasses import asdict
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path

import dialect_adapters
from cases.snapshot import Snapshot
from dialect_adapters.contract import Adapter
from dialect_adapters.transpile.rewrite import Rewritten, rewrite

_log = logging.getLogger("sqlassay.gold")


class Rewrites:
    """Files under one folder, or nothing kept where none is given. Safe between threads and processes."""

    def __init__(self, folder: Path | None) -> None:
        """Keep what is written in `folder`."""
        self._folder = folder

    def rewrite(self, sql: str, snapshot: Snapshot, source: Adapter, target: Adapter) -> Rewritten:
        """Return the statement as the target has to say it: as kept, else written now and kept."""
        if self._folder is None:
            return rewrite(sql, snapshot, source, target)
        path = self._folder / f"{_digest(sql, snapshot, source.name, target.name)}.json"
        kept = _read(path)
        if kept is None:
            kept = rewrite(sql, snapshot, source, target)
            _write(path, kept)
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


def _read(path: Path) -> Rewritten | None:
    """Return a kept rewrite, None where there is none or its file is damaged."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
        return Rewritten(**value)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as error:
        _log.warning("kept rewrite %s is damaged and will be written again: %s", path.name, error)
        return None


def _write(path: Path, made: Rewritten) -> None:
    """Keep a rewrite; a folder that cannot be written costs speed, not the run."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft.write_text(json.dumps(asdict(made)), encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        _log.warning("a rewrite could not be kept for the next run: %s", error)
        with suppress(OSError):
            draft.unlink(missing_ok=True)
