"""Pin the clock of a session: every SQL function that reads it is shadowed by a macro that answers for one moment."""

from __future__ import annotations

import duckdb

_MOMENT = "TIMESTAMPTZ '{clock}+00'"
_MACROS = {
    "now": "()",
    "get_current_timestamp": "()",
    "transaction_timestamp": "()",
    "current_timestamp": "()",
} | {
    "current_date": "()::DATE",
    "today": "()::DATE",
    "current_localtimestamp": "()::TIMESTAMP",
    "localtimestamp": "()::TIMESTAMP",
    "get_current_time": "()::TIMETZ",
    "current_time": "()::TIMETZ",
    "current_localtime": "()::TIME",
    "localtime": "()::TIME",
}
_AGE = "CREATE TEMP MACRO age(a) AS system.main.age(CAST({date} AS TIMESTAMP), a), (a, b) AS system.main.age(a, b)"


def pin_clock(db: duckdb.DuckDBPyConnection, clock: str) -> None:
    """Make every function that reads the clock answer for `clock`, a moment in UTC without its zone."""
    moment = _MOMENT.format(clock=clock)
    for name, cast in _MACROS.items():
        db.execute(f"CREATE TEMP MACRO {name}() AS {moment}{cast.removeprefix('()')}")
    db.execute(_AGE.format(date=f"DATE '{clock[:10]}'"))
