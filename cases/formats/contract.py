"""What a pack format supplies: recognise a path, and read it into a Pack."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from sqlassay.cases.pack import Pack


class Format(Protocol):
    """A way to write cases down, registered under `sqlassay.formats`.

    Those with a `fallback` are asked last, in the order of its number.
    """

    name: str

    def detect(self, path: Path) -> bool:
        """Return True where `path` looks like this format; cheap, never raises."""
        ...

    def load(self, path: Path) -> Pack:
        """Return the pack at `path`.

        Raises:
            InputError: anything malformed, as file:line:field with the remedy.
        """
        ...
