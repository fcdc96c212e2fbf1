"""A Postgres login: READ ONLY from its first statement, one statement by protocol, cancelled from outside."""

from __future__ import annotations

import contextlib
import re

import psycopg

from sqlassay.cases.errors import InputError
from sqlassay.cases.relation import Relation
from sqlassay.cases.verdicts import FailureKind
from sqlassay.dialect_adapters.contract import Endpoint, Limits, Pins, Role, SessionLostError, StatementError
from sqlassay.dialect_adapters.postgres.clock import check_clock, set_clock
from sqlassay.dialect_adapters.postgres.plan import TIMED, seconds_of
from sqlassay.dialect_adapters.postgres.values import relation_of
from sqlassay.dialect_adapters.postgres.wire import Wire

ADMIN = "sqlassay_admin"
MAINTENANCE = "postgres"
_ZONE = re.compile(r"[A-Za-z0-9_+:/-]+")
_STRATEGIES = 150_000
_WHOLE_TRANSACTIONS = 170_000
"""From which versions CREATE DATABASE has a choice of how to copy, and a transaction as a whole a time limit."""

_GRACE = 1.6
"""Seconds past our own deadline after which a silent socket counts as lost: within the promised two."""


class PostgresSession:
    """One fresh login; see `sqlassay.dialect_adapters.contract.Session`."""

    _bounds_transactions = True

    def __init__(self, connection: psycopg.Connection[tuple[object, ...]]) -> None:
        """Take over a logged-in connection."""
        self._connection = connection
        self._wire = Wire(connection.pgconn.socket)
        self._bounds_transactions = connection.info.server_version >= _WHOLE_TRANSACTIONS

    def begin_read(self, limits: Limits) -> None:
        """Open the transaction; the SELECT closes the door on SET TRANSACTION READ WRITE."""
        self._begin("READ ONLY", limits)

    def begin_write(self, limits: Limits) -> None:
        """Open a transaction that may write as far as the login's rights go."""
        self._begin("READ WRITE", limits)

    def _begin(self, access: str, limits: Limits) -> None:
        """Open a transaction with the engine's own limits."""
        milliseconds = round(limits.timeout * 1000)
        whole = f"SET LOCAL transaction_timeout = {milliseconds + 700};" if self._bounds_transactions else ""
        self._wire.deadline(limits.timeout + _GRACE)
        self._wire.simple(
            f"BEGIN TRANSACTION ISOLATION LEVEL READ COMMITTED {access};"
            f"SET LOCAL statement_timeout = {milliseconds + 400};"
            f"{whole}"
            f"SET LOCAL lock_timeout = {milliseconds + 200};"
            "SELECT 1"
        )

    def fetch(self, sql: str, limits: Limits) -> Relation:
        """Run exactly one statement and return its whole result as typed values."""
        self._wire.deadline(limits.timeout + _GRACE)
        raw = self._wire.extended(sql, limits)
        return relation_of(raw)

    def seconds(self, sql: str, limits: Limits) -> float:
        """Run exactly one query and return the seconds of the engine's own clock, its rows dropped by the server."""
        try:
            return seconds_of(self.fetch(TIMED + sql, limits))
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise StatementError(FailureKind.ERROR, f"the engine gave no times: {error}") from error

    def commit(self) -> None:
        """Keep what was done; deferred constraints are checked here."""
        self._wire.simple("COMMIT")

    def rollback(self) -> None:
        """Undo everything. A connection given up at a byte limit is undone by the server when it is closed."""
        if self._wire.broken:
            self.cancel()
            return
        self._wire.deadline(1.0)
        self._wire.simple("ROLLBACK")

    def reset(self) -> bool:
        """Discard what a session can hold: settings, plans, cursors, temporary tables, locks, sequence values.

        What DISCARD ALL leaves, as the state of random(), only a function that the guard flags could have changed.
        """
        if self._wire.broken:
            return False
        try:
            self._wire.deadline(1.0)
            self._wire.simple("DISCARD ALL")
        except (SessionLostError, StatementError):
            return False
        return True

    def cancel(self) -> None:
        """Ask the server to stop the running statement, over a connection of its own."""
        with contextlib.suppress(psycopg.Error, OSError):
            self._connection.cancel_safe(timeout=0.5)

    def close(self) -> None:
        """Close both ends of the socket without waiting."""
        with contextlib.suppress(psycopg.Error, OSError, ValueError):
            self._wire.close()
        with contextlib.suppress(psycopg.Error, OSError):
            self._connection.close()


def login_name(database: str, role: Role) -> str:
    """Return who logs in to one database for a role; Postgres cuts names at 63 bytes, so ours stay below."""
    return ADMIN if role is Role.HARNESS else f"{role.value}_{database}"


def file_copy(connection: psycopg.Connection[tuple[object, ...]]) -> str:
    """Return what CREATE DATABASE is told so that it copies files; before Postgres 15 it did nothing else."""
    return " STRATEGY FILE_COPY" if connection.info.server_version >= _STRATEGIES else ""


def connect(
    endpoint: Endpoint, database: str, user: str, *, time_zone: str = "UTC", seconds: int = 10
) -> psycopg.Connection[tuple[object, ...]]:
    """Log in over the unix socket, or TCP where there is none; plain text, as both stay on this machine.

    Raises:
        InputError: a time zone the server does not know.
        SessionLostError: the server does not answer or refuses the login.
    """
    host = str(endpoint.socket.parent) if endpoint.socket else endpoint.host
    try:
        return psycopg.connect(
            host=host,
            port=_port(endpoint),
            user=user,
            password=endpoint.password,
            dbname=database,
            autocommit=True,
            prepare_threshold=None,
            sslmode="disable",
            gssencmode="disable",
            client_encoding="UTF8",
            connect_timeout=seconds,
            options=f"-c TimeZone={time_zone}",
        )
    except psycopg.Error as error:
        if "TimeZone" in str(error):
            raise _unknown_zone(time_zone) from None
        raise SessionLostError(f"login as {user} to database {database} failed ({type(error).__name__})") from None


def open_session(endpoint: Endpoint, database: str, role: Role, pins: Pins) -> PostgresSession:
    """Return a fresh session.

    Raises:
        InputError: a pinned clock that this server cannot keep, or an unknown time zone.
        SessionLostError: no login.
    """
    if not _ZONE.fullmatch(pins.time_zone):
        raise _unknown_zone(pins.time_zone)
    folded = database.lower()
    with _lenient(pins):
        set_clock(endpoint, pins.clock)
    connection = connect(endpoint, folded, login_name(folded, role), time_zone=pins.time_zone)
    if pins.clock is not None:
        with _lenient(pins):
            check_clock(connection, pins.clock)
    return PostgresSession(connection)


def _lenient(pins: Pins) -> contextlib.AbstractContextManager[None]:
    """Let a clock that nobody asked for run freely where it cannot be set."""
    return contextlib.nullcontext() if pins.clock_required else contextlib.suppress(InputError)


def _unknown_zone(time_zone: str) -> InputError:
    """Return the error of a zone the server does not know."""
    return InputError(
        f"Postgres knows no time zone '{time_zone}'", field="time_zone", remedy="Give a name like Europe/Paris."
    )


def _port(endpoint: Endpoint) -> int:
    """Return the TCP port, or the number a unix socket's file name ends with (`.s.PGSQL.5432`)."""
    if endpoint.socket is None:
        return endpoint.port
    return int(endpoint.socket.suffix[1:])
