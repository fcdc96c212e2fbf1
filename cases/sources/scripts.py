"""SQL scripts as a snapshot's content: one list of files a dialect, run in order by that dialect's adapter."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from sqlassay.cases.errors import InfrastructureError, InputError
from sqlassay.cases.reading import read_bytes, to_text
from sqlassay.cases.sources.archives import archive_sql, folder_sql, is_archive, is_folder
from sqlassay.cases.sources.packing import unpacked


def scripts_digest(scripts: Mapping[str, tuple[Path, ...]]) -> str:
    """Return the sha256 over every script's dialect, place and text.

    Raises:
        InputError: a script that is no UTF-8 text, or empty.
    """
    digest = hashlib.sha256()
    for dialect in sorted(scripts):
        for index, path in enumerate(scripts[dialect]):
            text = script_text(path)
            if not text.strip():
                raise InputError("script is empty", file=path, remedy="Write its statements or remove it")
            digest.update(f"{dialect}\0{index}\0{len(text)}\0{text}".encode())
    return digest.hexdigest()


def script_text(path: Path) -> str:
    """Return the SQL of a script: UTF-8 text or an archive of pg_dump's, a file packed or not, or its folder.

    Raises:
        InputError: it cannot be read, is damaged, or holds something else.
    """
    if is_folder(path):
        return folder_sql(path)
    data = unpacked(read_bytes(path), path)
    if is_archive(data[:16]):
        return archive_sql(data, path)
    return to_text(data, path).replace("\r\n", "\n").replace("\r", "\n")


def kept_script(sql: str) -> Path:
    """Return a file with this script, one for each content in the user's cache, so that no run leaves one of its own.

    Raises:
        InfrastructureError: the cache cannot be written.
    """
    data = sql.encode()
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sqlassay" / "scripts"
    path = folder / f"{hashlib.sha256(data).hexdigest()}.sql"
    try:
        if not path.is_file() or path.read_bytes() != data:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            draft = folder / f".{path.name}.{os.getpid()}"
            draft.write_bytes(data)
            draft.replace(path)
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror}"
        raise InfrastructureError(message, remedy="Free space or set XDG_CACHE_HOME") from error
    return path
