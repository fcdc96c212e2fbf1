"""Remove a folder so that a kill on the way leaves one that the next sweep still knows whose it was."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path


def remove_folder(folder: Path, last: str) -> None:
    """Remove a folder with all that is in it, the file that says whose it is `last` of all; never raises."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name == last:
                continue
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            else:
                with contextlib.suppress(OSError):
                    Path(entry.path).unlink()
    with contextlib.suppress(OSError):
        (folder / last).unlink(missing_ok=True)
        folder.rmdir()
