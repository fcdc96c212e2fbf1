"""Stop a Postgres server's clock at one instant: now() and CURRENT_DATE say it, timeouts of the harness do not care.

Postgres has no setting for its clock, so the server runs with libfaketime preloaded, which reads the time from a file
beside the socket (`RECIPE.env`). Without the file the clock runs freely. The harness alone reaches that folder, and a
server has one worker, so one session at a time decides what the clock says.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import psycopg

from sqlassay.cases.errors import InputError
from sqlassay.dialect_adapters.contract import Endpoint
from sqlassay.dialect_adapters.postgres.recipe import CLOCK_FILE


def set_clock(endpoint: Endpoint, clock: datetime | None) -> None:
    """Write what the next login's clock says, or let it run freely.

    Raises:
        InputError: a clock is wanted where the server's folder is not shared with the harness.
    """
    path = _file(endpoint)
    if clock is None:
        if path is not None:
            path.unlink(missing_ok=True)
        return
    if path is None:
        raise _cannot("a server reached by a port shares no clock file")
    _write(path, f"{as_utc(clock):%Y-%m-%d %H:%M:%S}\n")


def _write(path: Path, text: str) -> None:
    """Write the file anew: the server may write in this folder too, so nothing that it laid there is followed."""
    draft = path.with_name(f".{CLOCK_FILE}")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
    with os.fdopen(descriptor, "w", encoding="ascii") as stream:
        stream.write(text)
        os.fchmod(descriptor, 0o644)
    draft.replace(path)


def check_clock(connection: psycopg.Connection[tuple[object, ...]], clock: datetime) -> None:
    """Make sure that the server says the wanted second.

    Raises:
        InputError: it does not: its image has no libfaketime.
    """
    row = connection.execute("SELECT extract(epoch FROM now())::bigint").fetchone()
    if row is None or row[0] != int(as_utc(clock).timestamp()):
        raise _cannot("its image lacks libfaketime")


def as_utc(clock: datetime) -> datetime:
    """Return the instant in UTC; a clock without a zone means UTC."""
    return clock.replace(tzinfo=UTC) if clock.tzinfo is None else clock.astimezone(UTC)


def _file(endpoint: Endpoint) -> Path | None:
    """Return the host path of the clock file."""
    return None if endpoint.socket is None else endpoint.socket.parent / CLOCK_FILE


def _cannot(why: str) -> InputError:
    """Return the error of a clock that cannot be set."""
    return InputError(
        f"this Postgres server's clock cannot be set: {why}",
        field="clock",
        remedy="Use a base image built from Debian packages on a local engine, or leave `clock` out for Postgres",
    )
