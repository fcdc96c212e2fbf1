"""Rows of gold that are too many to wait in memory for their case: they wait in a file without a name.

Nobody can open that file by a path, and it is gone with the process, whatever ends it.
"""

from __future__ import annotations

import os
import pickle
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO

from sqlassay.cases.errors import InfrastructureError
from sqlassay.cases.relation import Relation
from sqlassay.harness.results.evidence import GoldAnswer

MOST_CELLS = 1_000_000
"""How many cells of gold wait in memory, about 100 MB; what comes after them goes to disk."""


class GoldShelf:
    """Where gold answers wait between the gold phase and their case. Safe between threads."""

    def __init__(self, folder: Path, *, most_cells: int = MOST_CELLS) -> None:
        """Open nothing before the first answer that is too large."""
        self._folder = folder
        self._left = most_cells
        self._file: IO[bytes] | None = None
        self._end = 0
        self._lock = threading.Lock()  # guards the budget and the end of the file

    def put(self, answers: Sequence[GoldAnswer]) -> tuple[GoldAnswer, ...]:
        """Return the answers as they wait: those past the budget without their rows, which `whole` brings back.

        Raises:
            InfrastructureError: the disk does not take them.
        """
        return tuple(map(self._put, answers))

    def whole(self, answers: Sequence[GoldAnswer]) -> tuple[GoldAnswer, ...]:
        """Return the answers with their rows."""
        return tuple(map(self._whole, answers))

    def close(self) -> None:
        """Let the file go; idempotent."""
        with self._lock:
            file, self._file = self._file, None
        if file is not None:
            file.close()

    def _put(self, answer: GoldAnswer) -> GoldAnswer:
        """Return one answer as it waits."""
        if answer.relation is None:
            return answer
        rows, columns = answer.relation.shape
        cells = rows * columns * (1 if answer.probe is None else 2)
        with self._lock:
            if cells <= self._left:
                self._left -= cells
                return answer
        content = pickle.dumps((answer.relation.rows, answer.probe), pickle.HIGHEST_PROTOCOL)
        with self._lock:
            try:
                if self._file is None:
                    self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 (open until `close`)
                place = self._end
                written = 0
                while written < len(content):
                    written += os.pwrite(self._file.fileno(), content[written:], place + written)
            except OSError as error:
                message = f"gold rows cannot wait in '{self._folder}' ({error.strerror or error})"
                raise InfrastructureError(message, remedy="Free space there, or set XDG_CACHE_HOME") from error
            self._end += len(content)
        empty = Relation(answer.relation.columns, ())
        return replace(answer, relation=empty, probe=None, shelved=(place, len(content)))

    def _whole(self, answer: GoldAnswer) -> GoldAnswer:
        """Return one answer with its rows."""
        if answer.shelved is None or answer.relation is None or self._file is None:
            return answer
        place, size = answer.shelved
        content = b""
        while len(content) < size:
            part = os.pread(self._file.fileno(), size - len(content), place + len(content))
            if not part:
                raise InfrastructureError("gold rows that waited on disk are gone", remedy="Start the run again")
            content += part
        rows, probe = pickle.loads(content)  # noqa: S301 (this process wrote it, to a file that has no name)
        return replace(answer, relation=Relation(answer.relation.columns, rows), probe=probe, shelved=None)
