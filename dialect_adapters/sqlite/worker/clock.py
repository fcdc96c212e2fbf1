"""Pin the clock of a session: whatever asks SQLite for the time is told one moment, however it is spelled.

SQLite asks its VFS, whose clock is replaced in this process alone: no function is slower and every spelling is met, in
views too. A Python without ctypes, or with a library that hides its VFS, has the functions replaced instead.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

ctypes: Any
try:
    import _sqlite3
    import ctypes
except ImportError:  # a Python without ctypes
    ctypes = None

CLOCK_ARGUMENT = {"date": 0, "time": 0, "datetime": 0, "julianday": 0, "unixepoch": 0, "strftime": 1}
CLOCK_WORDS = {"current_date": "date", "current_time": "time", "current_timestamp": "datetime"}
EPOCH = 210_866_760_000_000
"""The milliseconds from SQLite's day 0 to 1970."""

_BEFORE_CLOCK = 12
"""The functions of a VFS before the one that tells the time."""

_kept: list[object] = []
"""What SQLite calls by its address: it must outlive every call."""


def pin_clock(db: sqlite3.Connection, clock: str) -> bool:
    """Make `clock` the time for as long as the process lives; False where only the connection's functions tell it."""
    with contextlib.suppress(AttributeError, OSError, MemoryError, ValueError):
        if ctypes is not None and _replace_clock(datetime.fromisoformat(clock)):
            return True
    engine = sqlite3.connect(":memory:", isolation_level=None)
    known = {str(row[0]) for row in engine.execute("SELECT name FROM pragma_function_list")}
    for name, place in CLOCK_ARGUMENT.items():
        if name in known:
            db.create_function(name, -1, pinned(engine, name, place, clock), deterministic=True)
    for word, name in CLOCK_WORDS.items():
        (value,) = engine.execute(f"SELECT {name}(?)", (clock,)).fetchone()
        db.create_function(word, 0, lambda value=value: value, deterministic=True)
    return False


def _replace_clock(moment: datetime) -> bool:
    """Put a clock of our own in the place of the default VFS's; False where it has none that could be replaced.

    Raises:
        AttributeError, OSError, MemoryError: the library hides its VFS, or nothing may be called back here.
    """
    told = EPOCH + round(moment.replace(tzinfo=UTC).timestamp() * 1000)
    clock_type = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int64))

    class Vfs(ctypes.Structure):  # type: ignore[misc]
        """The head of `sqlite3_vfs`, as its header file has it."""

        _fields_ = (
            ("version", ctypes.c_int),
            ("file_size", ctypes.c_int),
            ("longest_path", ctypes.c_int),
            ("following", ctypes.c_void_p),
            ("name", ctypes.c_char_p),
            ("data", ctypes.c_void_p),
            ("functions", ctypes.c_void_p * _BEFORE_CLOCK),
            ("clock", clock_type),
        )

    library = ctypes.CDLL(_sqlite3.__file__)
    library.sqlite3_vfs_find.restype = ctypes.c_void_p
    library.sqlite3_vfs_find.argtypes = [ctypes.c_char_p]
    address = library.sqlite3_vfs_find(None)
    vfs = Vfs.from_address(address) if address else None
    if vfs is None or vfs.version < 2:  # noqa: PLR2004 - the version that brought this clock
        return False

    def tell(_vfs: int, answer: Any) -> int:
        """Answer one question for the time."""
        answer[0] = told
        return 0

    asked = clock_type(tell)
    _kept.append(asked)
    vfs.clock = asked
    with contextlib.closing(sqlite3.connect(":memory:")) as probe:
        (shown,) = probe.execute("SELECT CAST(strftime('%s', 'now') AS INT)").fetchone()
    return bool(shown == (told - EPOCH) // 1000)


def pinned(engine: sqlite3.Connection, name: str, place: int, clock: str) -> Callable[..., Any]:
    """Return SQLite's own function `name` with 'now', spelled out or left out, standing for `clock`."""

    def call(*arguments: Any) -> Any:
        """Answer one call through the engine's own function."""
        given = list(arguments)
        moment = given[place].lower() if len(given) > place and isinstance(given[place], str) else None
        if len(given) == place or moment in ("subsec", "subsecond"):
            given.insert(place, clock)
        elif moment == "now":
            given[place] = clock
        marks = ",".join("?" * len(given))
        return engine.execute(f"SELECT {name}({marks})", given).fetchone()[0]

    return call
