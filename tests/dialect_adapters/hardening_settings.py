"""Every setting the engines are hardened or tuned with, read from what the adapters say, by a name of its own."""

from __future__ import annotations

import re
import resource
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from sqlassay.dialect_adapters.contract import Endpoint, Limits, Pins
from sqlassay.dialect_adapters.mysql import load as mysql_load
from sqlassay.dialect_adapters.mysql.own import MYSQL as MYSQL_WORDS
from sqlassay.dialect_adapters.mysql.recipe import RECIPE as MYSQL
from sqlassay.dialect_adapters.mysql.session import MysqlSession
from sqlassay.dialect_adapters.postgres import harden
from sqlassay.dialect_adapters.postgres.recipe import RECIPE as POSTGRES
from sqlassay.dialect_adapters.postgres.session import PostgresSession
from sqlassay.dialect_adapters.sqlite.worker import child

_CATEGORIES = {
    value: name.removeprefix("SQLITE_LIMIT_")
    for name, value in vars(sqlite3).items()
    if name.startswith("SQLITE_LIMIT")
}
_RLIMITS = {
    value: name for name, value in vars(resource).items() if name.startswith("RLIMIT_") and name != "RLIMIT_OFILE"
}


def settings(dialect: str, folder: Path) -> frozenset[str]:
    """Return the settings of one dialect; `folder` is a place to try things in."""
    readers: Mapping[str, Callable[[Path], frozenset[str]]] = {
        "postgres": _postgres,
        "mysql": _mysql,
        "sqlite": _sqlite,
    }
    return readers[dialect](folder)


class _Heard:
    """Stands in for whatever the adapters talk to, and keeps what is said."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def __enter__(self) -> _Heard:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def deadline(self, _: float) -> None:
        """Wait for nothing."""

    def simple(self, sql: str) -> None:
        """Keep a Postgres text of several statements."""
        self.said += sql.split(";")

    def query(self, sql: str, _: object = None) -> None:
        """Keep a MySQL text."""
        self.said.append(sql)

    execute = query

    def cursor(self) -> _Heard:
        """Talk through oneself."""
        return self


def _postgres(_: Path) -> frozenset[str]:
    """Return the settings of Postgres: server, login, rights, functions and session."""
    argv = [part for serve in POSTGRES.serve.values() for part in serve]
    server = {f"server {part.split('=')[0]}" for before, part in zip(argv, argv[1:], strict=False) if before == "-c"}
    made = harden.role('"r"', "'p'", reads_only=True)
    words = re.search(r'CREATE ROLE "r" (.*?) PASSWORD', made, re.DOTALL)
    assert words is not None
    options = re.sub(r"CONNECTION LIMIT \d+", "CONNECTION_LIMIT", words[1]).split()
    login = {f"login {option.replace('_', ' ')}" for option in options}
    login |= {f"login {name}" for name in re.findall(r"SET (\w+) =", made)}
    heard: Any = _Heard()
    session = PostgresSession.__new__(PostgresSession)
    session._wire = heard
    session.begin_read(Limits())
    said = [re.sub(r"SET LOCAL (\w+).*", r"\1", text.strip()) for text in heard.said]
    begun = {f"session {re.sub('TRANSACTION .* (READ ONLY)', chr(92) + '1', text)}" for text in said}
    return frozenset(server | login | begun | _postgres_rights())


def _postgres_rights() -> set[str]:
    """Return what PUBLIC loses, and what of the functions it loses."""
    template = harden.template_statements()
    grants = harden.reader_grants("d", "r", ["s"])
    lines = [*template.split("DO $harden$")[0].splitlines(), harden.database_statements("d"), *grants.splitlines()]
    rights = set()
    for line in lines:
        name = re.sub(r" (?:FROM|TO) \w+;$", "", line.strip())
        name = re.sub(r"( IN SCHEMA s| d| s)$", "", name).replace(" REVOKE EXECUTE ON ROUTINES", "")
        if name.startswith(("REVOKE", "ALTER")) or "ON ALL TABLES" in name and not name.endswith(("catalog", "schema")):
            rights.add(f"rights {name}")
    functions = {f"functions {pattern}" for pattern in re.findall(r"proname LIKE '([^']+)'", template)}
    functions = {name.replace("\\", "") for name in functions}
    functions |= {"functions volatile"} if "provolatile = 'v'" in template else set()
    functions |= {"functions listed"} if harden.STABLE_DENIED[0] in template else set()
    return rights | functions


def _mysql(_: Path) -> frozenset[str]:
    """Return the settings of MySQL: server, login and session."""
    argv = [part for serve in MYSQL.serve.values() for part in serve if part.startswith("--")]
    server = {f"server {part.removeprefix('--').split('=')[0]}" for part in argv}
    heard: Any = _Heard()
    mysql_load._logins(heard, "shop", "p")
    login = {f"login GRANT {found[1]}" for text in heard.said if (found := re.match(r"GRANT (SELECT) ON", text))}
    login |= {
        f"login {name}" for text in heard.said for name in re.findall(r"MAX_USER_CONNECTIONS|PASSWORD EXPIRE", text)
    }
    spoken: Any = _Heard()
    session = MysqlSession.__new__(MysqlSession)
    session._wire, session._pins, session._time_zone = spoken, Pins(), "+00:00"
    session._flavour = MYSQL_WORDS
    session._endpoint = Endpoint(None)
    session.begin_read(Limits())
    begun = {
        f"session {name}" for text in spoken.said if text.startswith("SET") for name in re.findall(r"(\w+) = ", text)
    }
    begun |= {f"session {text}" for text in spoken.said if not text.startswith("SET")}
    return frozenset(server | login | begun)


class _Watched(sqlite3.Connection):
    """A connection that tells which limits it was given."""

    given: set[str]

    def setlimit(self, category: int, limit: int, /) -> int:
        """Keep the limit's name."""
        self.given.add(f"limit {_CATEGORIES[category]}")
        return super().setlimit(category, limit)


def _sqlite(folder: Path) -> frozenset[str]:
    """Return the settings of SQLite: how the file is opened, pragmas, limits of the library and of the process."""
    path = folder / "watched.sqlite"
    sqlite3.connect(path).close()
    found: set[str] = set()
    modes: list[str] = []

    def opened(file: Path, mode: str) -> sqlite3.Connection:
        """Open the file as it is asked for, and keep what is said."""
        modes.append(mode)
        db = sqlite3.connect(f"file:{file}?mode={mode}", uri=True, isolation_level=None, factory=_Watched)
        db.given = found
        db.set_trace_callback(lambda sql: found.update(f"pragma {name}" for name in re.findall(r"^PRAGMA (\w+)=", sql)))
        return db

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(child, "connect", opened)
        patch.setattr(child.resource, "setrlimit", lambda limit, _: found.add(f"process {_RLIMITS[limit]}"))
        db, policy = child.open_database(path, role="reader", shared=False, clock=None, heap=256 * 1024 * 1024)
        child.limit_process(1 << 30, 0)
    db.close()
    found.update(f"file {part.partition('=')[0]}" for mode in modes for part in mode.split("&"))
    return frozenset(found | {f"authorizer {type(policy).__name__}"})
