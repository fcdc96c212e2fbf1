"""Pin the clock of a session: every SQL function that reads it is shadowed by a macro that answers for one moment."""

from __future__ import annotations

import duckdb

_MACROS = {
    "TIMESTAMPTZ '{clock}+00'": ("now", "get_current_timestamp", "transaction_timestamp", "current_timestamp"),
    "TIMESTAMP '{clock}'": ("current_localtimestamp", "localtimestamp"),
    "DATE '{date}'": ("current_date", "today"),
    "TIMETZ '{time}+00'": ("get_current_time", "current_time"),
    "TIME '{time}'": ("current_localtime", "localtime"),
}
"""What each of the engine's words for now is, as macros of the same names; the parser turns key words into these."""

_AGE = "CREATE TEMP MACRO age(a) AS system.main.age(TIMESTAMP '{date}', a), (a, b) AS system.main.age(a, b)"
_AGO = "CREATE TEMP MACRO ago(i) AS TIMESTAMPTZ '{clock}+00' - CAST(i AS INTERVAL)"


def pin_clock(db: duckdb.DuckDBPyConnection, clock: str) -> None:
    """Make every function that reads the clock answer for `clock`, a moment in UTC without its zone."""
    date, _, time = clock.partition(" ")
    for value, names in _MACROS.items():
        for name in names:
            db.execute(f"CREATE TEMP MACRO {name}() AS {value.format(clock=clock, date=date, time=time)}")
    for text in (_AGE, _AGO):
        db.execute(text.format(clock=clock, date=date))
