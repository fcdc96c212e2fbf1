"""Put a database back to how it was by copying its files: some 30 ms, where a fresh server takes 400.

For servers that only trusted text has touched (docs/decisions/0041): clones share everything but their files.
"""

from __future__ import annotations

import hashlib
import logging

import psycopg
from psycopg import sql

from sqlassay.dialect_adapters.contract import Endpoint, Role, SessionLostError
from sqlassay.dialect_adapters.postgres import harden
from sqlassay.dialect_adapters.postgres.session import ADMIN, MAINTENANCE, connect, file_copy, login_name

_log = logging.getLogger("sqlassay.clones")


def renew(endpoint: Endpoint, database: str) -> bool:
    """Put a WRITE-mode server's database back to how it was at the first call, which makes the copy.

    False where it could not be done, as where the server has no room for a copy; then only a fresh server is sure.
    """
    kept = f"baked_{hashlib.sha256(database.encode()).hexdigest()[:16]}"
    try:
        with connect(endpoint, MAINTENANCE, ADMIN) as connection:
            if _exists(connection, kept):
                _run(connection, "DROP DATABASE {} WITH (FORCE)", database)
                _copy(connection, kept, database)
                _entitle(connection, database)
            else:
                _copy(connection, database, kept)
    except (psycopg.Error, SessionLostError) as error:
        _log.info("the database %s could not be put back: %s", database, error)
        return False
    return True


def _exists(connection: psycopg.Connection[tuple[object, ...]], database: str) -> bool:
    """Return whether the server has such a database."""
    return connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (database,)).fetchone() is not None


def _copy(connection: psycopg.Connection[tuple[object, ...]], source: str, target: str) -> None:
    """Copy one database's files; nobody may be logged in to the source."""
    _run(connection, f"CREATE DATABASE {{}} TEMPLATE {{}}{file_copy(connection)}", target, source)


def _entitle(connection: psycopg.Connection[tuple[object, ...]], database: str) -> None:
    """Give the copy the rights on the database itself, which are not among its files."""
    connection.execute(harden.database_statements(sql.Identifier(database).as_string(connection)).encode())
    for role in (Role.READER, Role.WRITER, Role.OWNER):
        _run(connection, "GRANT CONNECT ON DATABASE {} TO {}", database, login_name(database, role))


def _run(connection: psycopg.Connection[tuple[object, ...]], text: str, *names: str) -> None:
    """Run one statement of ours with its names quoted."""
    connection.execute(sql.SQL(text).format(*map(sql.Identifier, names)))
