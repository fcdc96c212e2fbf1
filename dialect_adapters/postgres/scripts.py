"""Run a snapshot's SQL scripts on Postgres, pg_dump output with inline COPY data included."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import psycopg
from psycopg.pq import ExecStatus

from cases.errors import InputError

Connection: TypeAlias = psycopg.Connection[tuple[object, ...]]

_COPY = re.compile(r"^\s*COPY\s.+\sFROM\s+stdin\b[^;]*;\s*$", re.IGNORECASE)
_HARMLESS_META = ("\\restrict", "\\unrestrict")


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of SQL that starts at a line; `data` holds the lines a COPY … FROM stdin at its end reads."""

    line: int
    sql: str
    data: str | None = None


def run_script(connection: Connection, script: Path) -> None:
    """Run one script; the simple protocol takes many statements at once, so nothing has to split them.

    Raises:
        InputError: the statement that failed, by line.
    """
    try:
        text = script.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read: {error}", file=script, remedy="Give a UTF-8 SQL file.") from None
    for part in parts_of(text):
        if part.data is None:
            _run(connection, script, part)
        else:
            _copy(connection, script, part)


def parts_of(text: str) -> Iterator[Part]:
    """Yield the script in parts, cut only around inline COPY data; psql's own harmless lines are left out."""
    lines = text.split("\n")
    start, pending, position = 1, [], 0
    while position < len(lines):
        line = lines[position]
        position += 1
        if line.startswith(_HARMLESS_META):
            pending.append("")
        elif not _COPY.match(line):
            pending.append(line)
        else:
            end = next((n for n in range(position, len(lines)) if lines[n].rstrip("\r") == "\\."), len(lines))
            yield Part(start, "\n".join(pending))
            yield Part(position, line, "".join(f"{row}\n" for row in lines[position:end]))
            start, pending, position = end + 2, [], end + 1
    yield Part(start, "\n".join(pending))


def _run(connection: Connection, script: Path, part: Part) -> None:
    """Run a part without data."""
    if not part.sql.strip():
        return
    result = connection.pgconn.exec_(part.sql.encode())
    if result.status == ExecStatus.FATAL_ERROR:
        position = result.error_field(psycopg.pq.DiagnosticField.STATEMENT_POSITION)
        offset = int(position) - 1 if position else 0
        raise _failed(result.get_error_message().strip(), script, part.line + part.sql[:offset].count("\n"))
    if result.status in (ExecStatus.COPY_IN, ExecStatus.COPY_OUT):
        raise _failed("COPY without inline data", script, part.line)


def _copy(connection: Connection, script: Path, part: Part) -> None:
    """Run a COPY with the data that followed it."""
    try:
        with connection.cursor() as cursor, cursor.copy(part.sql.strip().rstrip(";").encode()) as copy:
            copy.write(part.data or "")
    except psycopg.Error as error:
        raise _failed(str(error).strip(), script, part.line) from None


def _failed(message: str, script: Path, line: int) -> InputError:
    """Return the error of a script at a line."""
    return InputError(message.splitlines()[0], file=script, line=line, remedy="Correct the script for Postgres.")
