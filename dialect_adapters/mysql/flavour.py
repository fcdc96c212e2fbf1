"""What tells the servers of MySQL's family apart, as data, for the code that they share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlassay.dialect_adapters.contract import StateRules


@dataclass(frozen=True, slots=True)
class Flavour:
    """One server's own words.

    `dialect` is what scripts are filed under, `engine` how messages call the server, `driver` SQLAlchemy's name of it.
    `time_limit` turns seconds into the session setting that bounds a statement. `described` are the questions for the
    schema of one database, `changed` those for what was set or made on the whole server since it started, `tables` the
    one for the tables with rows.
    `settled` is run once an image's administrator has its password. `state` is how a state is read,
    `executable` a regex of what makes a comment one that the server runs.
    """

    dialect: str
    engine: str
    driver: str
    time_limit: Callable[[float], str]
    described: tuple[str, ...]
    changed: tuple[str, ...]
    tables: str
    state: StateRules
    settled: tuple[str, ...] = ()
    executable: str = "!"
