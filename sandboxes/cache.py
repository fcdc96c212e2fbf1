"""Where sqlassay keeps what outlives a run on this machine: catalogues of images, locks of runs, engine logs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def cache_dir(environment: Mapping[str, str] = os.environ) -> Path:
    """Return `$XDG_CACHE_HOME/sqlassay` or `~/.cache/sqlassay`, created with mode 0700."""
    root = environment.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return private_folder(Path(root) / "sqlassay")


def private_folder(path: Path) -> Path:
    """Create `path` for its owner alone and return it; an existing folder keeps its content and gets mode 0700."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.stat().st_mode & 0o777 != 0o700:
        path.chmod(0o700)
    return path


def write_private(path: Path, text: str) -> None:
    """Write `text` to `path` readable by its owner alone; readers see the old file or the new one, never half."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(text)
    draft.replace(path)
