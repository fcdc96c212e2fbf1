"""What a source of data is: something recognised by its name or content that can be taken into a pack's folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Taken:
    """What a source gave: the snapshot as pack.yaml spells it, the dialect its SQL is of, and what to tell of it.

    `tables` are the names a query may use, the first one fit for a first question; `rows` is None where they were not
    counted. `notes` say what could not be carried, a line each.
    """

    dialect: str
    snapshot: Mapping[str, Any]
    tables: tuple[str, ...]
    rows: int | None = None
    notes: tuple[str, ...] = ()


class Source(Protocol):
    """One kind of source. A new kind is one file here and one line in the registry."""

    name: str
    """What it is, in the words of a list: "a SQLite file"."""

    def recognises(self, source: str) -> bool:
        """Return whether this is a source of the kind; cheap, never raises."""
        ...

    def speaks(self, source: str) -> str:
        """Return the dialect that gold for this source is most likely written in, where nobody says.

        Raises:
            InputError: a source of no engine that is known here.
        """
        ...

    def take(self, source: str, folder: Path, *, tables: tuple[str, ...] = ()) -> Taken:
        """Write the data into `folder`, an empty pack, and return what pack.yaml is to say of it.

        `tables` limits it to those named; all where there are none.

        Raises:
            InputError: a malformed source, or a table that is not there.
            InfrastructureError: a server that does not answer, or a folder that cannot be written.
        """
        ...
