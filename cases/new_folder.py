"""Write a new folder that appears whole or not at all, for its owner alone."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlassay.cases.errors import InfrastructureError, InputError
from sqlassay.cases.paths import asks


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Give a draft to write into, which becomes `folder` on the way out; on an exception nothing is left.

    Raises:
        InputError: something is there already (an empty folder may be filled).
        InfrastructureError: it cannot be written.
    """
    if asks(folder.exists) and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError("something is there already", file=folder, remedy="Name a new folder with --out")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    except OSError as error:
        raise _unwritable(folder, error) from error
    try:
        yield draft
        for path in draft.rglob("*"):
            path.chmod(0o700 if path.is_dir() else 0o600)
        if folder.exists():
            folder.rmdir()
        draft.rename(folder)
    except OSError as error:
        raise _unwritable(folder, error) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _unwritable(folder: Path, error: OSError) -> InfrastructureError:
    """Turn a refusal of the file system into one clear line."""
    message = f"{folder} cannot be written: {error.strerror}"
    return InfrastructureError(message, remedy="Free some space or name another folder with --out")
