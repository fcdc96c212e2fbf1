"""A login to MySQL or a server like it: READ ONLY transaction, one statement, cancelled from another login."""

from __future__ import annotations

import contextlib
import hashlib
import re
import socket
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pymysql

from sqlassay.cases.errors import InputError
from sqlassay.cases.relation import Relation
from sqlassay.dialect_adapters.contract import Endpoint, Limits, Pins, Role, SessionLostError, StatementError
from sqlassay.dialect_adapters.mysql.flavour import Flavour
from sqlassay.dialect_adapters.mysql.values import relation_of
from sqlassay.dialect_adapters.mysql.wire import Wire

if TYPE_CHECKING:
    from pymysql.connections import Connection
    from pymysql.cursors import Cursor

ADMIN = "root"
COLLATION = "utf8mb4_0900_bin"
"""Compares text code point by code point, on every server of the family."""
_LATER = 0.4
"""Seconds past our own deadline at which the engine's is set."""
_GRACE = 1.6
"""Seconds past our own deadline after which a silent socket counts as lost: within the promised two."""
_ANSWER_SECONDS = 10.0
"""Patience with a login: a server that is frozen must not freeze us."""
_LONGEST_LOGIN = 32
_ZONE = re.compile(r"[A-Za-z0-9_+:/-]+")
_UNKNOWN_ZONE = "(1298)"


class MysqlSession:
    """One fresh login; see `sqlassay.dialect_adapters.contract.Session`."""

    def __init__(self, connection: Connection[Cursor], endpoint: Endpoint, pins: Pins, flavour: Flavour) -> None:
        """Take over a logged-in connection."""
        self._connection = connection
        self._endpoint = endpoint
        self._pins = pins
        self._flavour = flavour
        self._time_zone = _zone(pins.time_zone)
        self._thread: int = connection.thread_id()  # type: ignore[no-untyped-call]
        self._wire = Wire(connection)

    def begin_read(self, limits: Limits) -> None:
        """Open the transaction; whatever would end it finds the session READ ONLY as well."""
        self._begin(limits, read_only=True)

    def begin_write(self, limits: Limits) -> None:
        """Open a transaction that may write as far as the login's rights go."""
        self._begin(limits, read_only=False)

    def _begin(self, limits: Limits, *, read_only: bool) -> None:
        """Open a transaction with the engine's own limits."""
        self._wire.deadline(limits.timeout + _GRACE)
        settings = [
            *pinned(self._pins),
            self._flavour.time_limit(limits.timeout + _LATER),
            f"transaction_read_only = {'ON' if read_only else 'OFF'}",
        ]
        try:
            self._wire.query("SET SESSION " + ", ".join(settings), Limits())
        except StatementError as error:
            if error.message.endswith(_UNKNOWN_ZONE):
                raise _unknown_zone(self._time_zone) from None
            raise
        self._wire.query(f"START TRANSACTION READ {'ONLY' if read_only else 'WRITE'}", Limits())

    def fetch(self, sql: str, limits: Limits) -> Relation:
        """Run exactly one statement and return its whole result as typed values."""
        self._wire.deadline(limits.timeout + _GRACE)
        return relation_of(self._wire.query(sql, limits))

    def commit(self) -> None:
        """Keep what was done; a DDL statement has committed itself already."""
        self._wire.query("COMMIT", Limits())

    def rollback(self) -> None:
        """Undo everything. A connection given up at a limit is undone by the server when it is closed."""
        if self._wire.broken:
            self.cancel()
            return
        self._wire.deadline(1.0)
        self._wire.query("ROLLBACK", Limits())

    def reset(self) -> bool:
        """Return False: a fresh login takes a millisecond."""
        return False

    def cancel(self) -> None:
        """Ask the server to stop the running statement, over a login of our own."""
        with contextlib.suppress(pymysql.Error, SessionLostError, OSError):
            other = connect(self._endpoint, None, ADMIN, seconds=0.5, patience=0.5)
            try:
                other.query(f"KILL QUERY {self._thread}")
            finally:
                other._force_close()  # type: ignore[attr-defined] # close() would wait to say goodbye

    def close(self) -> None:
        """Close the socket without waiting."""
        with contextlib.suppress(pymysql.Error, OSError):
            self._connection._force_close()  # type: ignore[attr-defined] # close() would wait to say goodbye


def pinned(pins: Pins) -> list[str]:
    """Return the session settings that pin time zone, clock and mode, and let constants compare as the database's text.

    Raises:
        InputError: nothing that could name a zone.
    """
    clock = [] if pins.clock is None else [f"timestamp = {_seconds(pins.clock)}"]
    mode = [] if pins.sql_mode is None else [f"sql_mode = '{pins.sql_mode}'"]
    # As a client of that server has it: a constant compared with a constant follows the connection.
    return [f"time_zone = '{_zone(pins.time_zone)}'", *clock, *mode, "collation_connection = @@collation_database"]


def login_name(database: str, role: Role) -> str:
    """Return who logs in to one database for a role; MySQL allows 32 characters, so long names are hashed."""
    if role is Role.HARNESS:
        return ADMIN
    name = f"{role.value[0]}_{database}"
    if len(name) <= _LONGEST_LOGIN:
        return name
    return f"{name[:23]}_{hashlib.sha256(database.encode()).hexdigest()[:8]}"


def connect(
    endpoint: Endpoint,
    database: str | None,
    user: str,
    *,
    password: str | None = None,
    seconds: float = 10.0,
    patience: float | None = None,
    local_infile: bool = False,
) -> Connection[Cursor]:
    """Log in over the unix socket (without TLS: 1 ms instead of 40), or TCP where there is none.

    `patience` bounds each later wait for the server; None where a load may take its time.

    Raises:
        SessionLostError: the server does not answer or refuses the login.
    """
    connection = pymysql.connect(
        user=user,
        password=endpoint.password if password is None else password,
        database=database,
        charset="utf8mb4",
        collation=COLLATION,
        autocommit=True,
        ssl_disabled=endpoint.socket is not None,
        local_infile=local_infile,
        read_timeout=patience,
        write_timeout=patience,
        defer_connect=True,
    )
    # Private, but said of every unix socket PyMySQL opens itself: a password may travel in the clear.
    connection._secure = endpoint.socket is not None  # type: ignore[attr-defined]
    try:
        # PyMySQL leaves its own socket open where the connection is refused, and a booting server refuses often.
        connection.connect(_socket(endpoint, seconds))
    except (pymysql.Error, OSError) as error:
        code = error.args[0] if error.args and isinstance(error.args[0], int) else type(error).__name__
        raise SessionLostError(f"login as {user} to database {database} failed ({code})") from None
    return connection


def _socket(endpoint: Endpoint, seconds: float) -> socket.socket:
    """Return a connected socket, or none left open."""
    if endpoint.socket is None:
        return socket.create_connection((endpoint.host, endpoint.port), seconds)
    made = socket.socket(socket.AF_UNIX)
    try:
        made.settimeout(seconds)
        made.connect(str(endpoint.socket))
    except OSError:
        made.close()
        raise
    return made


def open_session(endpoint: Endpoint, database: str, role: Role, pins: Pins, flavour: Flavour) -> MysqlSession:
    """Return a fresh session."""
    folded = database.lower()
    connection = connect(endpoint, folded, login_name(folded, role), patience=_ANSWER_SECONDS)
    return MysqlSession(connection, endpoint, pins, flavour)


def answers(endpoint: Endpoint) -> bool:
    """Return True once a real query is answered, before and after `load` gave the administrator a password."""
    return any(_answers(endpoint, password) for password in (endpoint.password, ""))


def _answers(endpoint: Endpoint, password: str) -> bool:
    """Return whether the administrator's query is answered with this password."""
    try:
        with connect(endpoint, None, ADMIN, password=password, seconds=2, patience=2) as connection:
            return connection.query("SELECT 1") == 1
    except (SessionLostError, pymysql.Error, OSError):
        return False


def settle(endpoint: Endpoint) -> None:
    """Ask for a shutdown that leaves nothing to purge or recover: a read-only boot could do neither."""
    with connect(endpoint, None, ADMIN) as connection:
        connection.query("SET GLOBAL innodb_fast_shutdown = 0")


def _seconds(clock: datetime) -> str:
    """Return a pinned clock as seconds since 1970; a clock without a zone is UTC."""
    return f"{(clock if clock.tzinfo else clock.replace(tzinfo=UTC)).timestamp():.6f}"


def _zone(time_zone: str) -> str:
    """Return a time zone as MySQL takes it: UTC is an offset, which needs no zone tables.

    Raises:
        InputError: nothing that could name a zone.
    """
    if time_zone.upper() == "UTC":
        return "+00:00"
    if not _ZONE.fullmatch(time_zone):
        raise _unknown_zone(time_zone)
    return time_zone


def _unknown_zone(time_zone: str) -> InputError:
    """Return the error of a zone the server does not know."""
    return InputError(
        f"MySQL knows no time zone '{time_zone}'", field="time_zone", remedy="Give UTC or an offset like +02:00."
    )
