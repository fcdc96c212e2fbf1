"""Bounds for reading somebody's SQLite file inside the harness: its views, virtual tables and columns can compute.

A view of endless recursion behind a virtual table hangs whoever counts that table, and the library lets no signal
through while it steps.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from time import monotonic

READ_SECONDS = 300.0
"""Seconds that the engine may work on somebody's file without giving a row."""

_STEPS = 20_000
_LEAST_BYTES = 1 << 20
_MOST_BYTES = 1_000_000_000


class Bounds:
    """Ends a connection's work at a deadline and upon an interrupt, and bounds what one function can be given.

    No value of a file is longer than the file, so only what is computed can meet the limit of length: a function's
    work on one value cannot be interrupted, and grows with it.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        """Bind a connection that reads the file `path`."""
        self._until = monotonic() + READ_SECONDS
        self._late = False
        connection.set_progress_handler(self._is_late, _STEPS)
        size = path.stat().st_size
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, min(max(_LEAST_BYTES, 2 * size), _MOST_BYTES))

    def restart(self) -> None:
        """Start the clock anew: a row has come."""
        self._until = monotonic() + READ_SECONDS

    def said(self, error: sqlite3.Error) -> str:
        """Return what an error means, in words.

        Raises:
            KeyboardInterrupt: the work was ended by a signal, which the library makes an error of its own.
        """
        if getattr(error, "sqlite_errorcode", None) != sqlite3.SQLITE_INTERRUPT:
            return str(error)
        if not self._late:
            raise KeyboardInterrupt from error
        return f"what it computes did not end within {READ_SECONDS:g} s"

    def _is_late(self) -> bool:
        """Return True past the deadline; a signal's exception is raised in here and ends the work too."""
        self._late = monotonic() > self._until
        return self._late
