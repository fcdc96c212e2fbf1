"""SQL scripts as a snapshot's content: one list of files a dialect, run in order by that dialect's adapter."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from cases.errors import InputError
from cases.reading import read_text


def scripts_digest(scripts: Mapping[str, tuple[Path, ...]]) -> str:
    """Return the sha256 over every script's dialect, place and text.

    Raises:
        InputError: a script that is no UTF-8 text, or empty.
    """
    digest = hashlib.sha256()
    for dialect in sorted(scripts):
        for index, path in enumerate(scripts[dialect]):
            text = read_text(path)
            if not text.strip():
                raise InputError("script is empty", file=path, remedy="Write its statements or remove it")
            digest.update(f"{dialect}\0{index}\0{len(text)}\0{text}".encode())
    return digest.hexdigest()
