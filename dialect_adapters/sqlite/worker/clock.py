"""Pin the clock of a session: every SQL function that reads it answers for one moment."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any

CLOCK_ARGUMENT = {"date": 0, "time": 0, "datetime": 0, "julianday": 0, "unixepoch": 0, "strftime": 1}
CLOCK_WORDS = {"current_date": "date", "current_time": "time", "current_timestamp": "datetime"}


def pin_clock(db: sqlite3.Connection, clock: str) -> None:
    """Replace every function that reads the clock by one that answers for `clock`."""
    engine = sqlite3.connect(":memory:", isolation_level=None)
    known = {str(row[0]) for row in engine.execute("SELECT name FROM pragma_function_list")}
    for name, place in CLOCK_ARGUMENT.items():
        if name in known:
            db.create_function(name, -1, pinned(engine, name, place, clock), deterministic=True)
    for word, name in CLOCK_WORDS.items():
        (value,) = engine.execute(f"SELECT {name}(?)", (clock,)).fetchone()
        db.create_function(word, 0, lambda value=value: value, deterministic=True)


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
