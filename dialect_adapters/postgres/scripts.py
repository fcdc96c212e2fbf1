"""Run a snapshot's SQL scripts on Postgres: what pg_dump writes, with what belongs to its server left out and told."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import psycopg
from psycopg.pq import DiagnosticField, ExecStatus

from sqlassay.cases.counting import counted
from sqlassay.cases.errors import InputError
from sqlassay.cases.sources.scripts import script_text

Connection: TypeAlias = psycopg.Connection[tuple[object, ...]]

_TOKEN = re.compile(
    r"""'(?:[^']|'')*' | [eE]'(?:[^'\\]|\\.|'')*' | "(?:[^"]|"")*" | \$(?:[A-Za-z_][A-Za-z0-9_]*)?\$
      | --[^\n]* | /\* | [;()\\] | [bB][eE][gG][iI][nN]\b | [cC][aA][sS][eE]\b | [eE][nN][dD]\b""",
    re.VERBOSE | re.DOTALL,
)
_COMMENT = re.compile(r"/\*|\*/")
_BLANK = re.compile(r"(?>\s|--[^\n]*)*+(/\*)?")
_ROUTINE = re.compile(r"CREATE\s+(?:OR\s+REPLACE\s+)?(?:FUNCTION|PROCEDURE)\b", re.IGNORECASE)
_COPY = re.compile(r"COPY\s.+\sFROM\s+stdin\b[^;]*;", re.IGNORECASE | re.DOTALL)
_CONNECT = re.compile(r"\\c(?:onnect)?\s+(?:-reuse-previous=\w+\s+)?(?P<name>\S.*)?")
_QUIET = ("\\restrict", "\\unrestrict", "\\encoding UTF8", "\\encoding 'UTF8'")
_SYSTEM = frozenset({"postgres", "template1"})

_NAME = r'(?:"(?:[^"]|"")+"|[^\s;"]+)'
_LEFT_OUT: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (what, re.compile(pattern, re.IGNORECASE | re.DOTALL))
    for what, pattern in (
        ("owner", rf"ALTER\s[^;']*\sOWNER\s+TO\s+{_NAME}\s*;?$"),
        ("grant", r"(?:GRANT|REVOKE)\s|ALTER\s+DEFAULT\s+PRIVILEGES\s"),
        ("role", r"(?:CREATE|ALTER|DROP)\s+(?:ROLE|USER|GROUP)\s|SET\s+(?:SESSION\s+AUTHORIZATION|ROLE)\b"),
        ("database statement", r"(?:CREATE|ALTER|DROP)\s+DATABASE\s|COMMENT\s+ON\s+(?:DATABASE|ROLE|EXTENSION)\s"),
        (
            "row security rule",
            r"(?:CREATE|ALTER|DROP)\s+POLICY\s|ALTER\s+TABLE\s[^;']*\sROW\s+LEVEL\s+SECURITY\s*;?$",
        ),
        ("security label", r"SECURITY\s+LABEL\s"),
        (
            "replication statement",
            r"(?:CREATE|ALTER|DROP)\s+(?:PUBLICATION|SUBSCRIPTION)\s|ALTER\s+TABLE\s[^;']*\sREPLICA\s+IDENTITY\s",
        ),
        ("event trigger", r"(?:CREATE|ALTER|DROP)\s+EVENT\s+TRIGGER\s"),
        ("tablespace setting", r"SET\s+default_tablespace\b|(?:CREATE|ALTER|DROP)\s+TABLESPACE\s"),
    )
)
"""What is of the server and its logins, not of the data: the sandbox has its own."""

_EXTENSION = re.compile(r'CREATE\s+EXTENSION\s+(?:IF\s+NOT\s+EXISTS\s+)?"?(?P<name>[\w-]+)', re.IGNORECASE)
_OF_OPERATION = frozenset(
    {
        "adminpack",
        "aws_commons",
        "aws_s3",
        "dblink",
        "file_fdw",
        "google_vacuum_mgmt",
        "hypopg",
        "pageinspect",
        "pg_buffercache",
        "pg_cron",
        "pg_freespacemap",
        "pg_prewarm",
        "pg_repack",
        "pg_stat_statements",
        "pg_visibility",
        "pgaudit",
        "pglogical",
        "pgrowlocks",
        "pgstattuple",
        "postgres_fdw",
        "sslinfo",
    }
)
"""Extensions for those who run a server: no query of the data needs them."""

_UNKNOWN_SETTING = "42704"
_SCHEMA_THERE = "42P06"
_LINE = re.compile(r"COPY .*?, line (\d+)")


@dataclass(frozen=True, slots=True)
class Part:
    """One statement that starts at a line; `data` holds the lines that its COPY … FROM stdin reads."""

    line: int
    sql: str
    data: str | None = None


def run_script(connection: Connection, script: Path) -> tuple[str, ...]:
    """Run one script, a statement at a time; return a line for each kind of statement that was left out.

    Raises:
        InputError: the statement that failed, by line.
    """
    left_out: Counter[str] = Counter()
    databases: list[str] = []
    for part in parts_of(script_text(script)):
        if part.sql.startswith("\\"):
            _obey(script, part, databases)
        elif what := next((what for what, pattern in _LEFT_OUT if pattern.match(part.sql)), None):
            left_out[what] += 1
        elif part.data is not None:
            _copy(connection, script, part)
        else:
            what = _run(connection, script, part)
            left_out.update([what] if what else [])
    few = ", ".join(counted(count, what) for what, count in left_out.items())
    return (f"{script.name}: left out as the server's own, which the sandbox replaces: {few}",) if few else ()


def parts_of(text: str) -> Iterator[Part]:
    """Yield the script's statements, each with the line it starts on; psql's own lines stand alone."""
    start = position = line = 0
    counted_to = depth = body = 0
    while token := _TOKEN.search(text, position):
        mark, position = token[0], token.end()
        if mark[0] == "$":
            position = _behind(text, token)
        elif mark == "/*":
            position = _behind_comment(text, position)
        elif mark in ("(", ")"):
            depth = max(0, depth + (1 if mark == "(" else -1))
        elif mark[0].isalpha() and mark[-1] != "'":
            if _word(text, token) and _ROUTINE.match(text, _begun(text, start)):
                body = max(0, body + (-1 if mark.lower() == "end" else 1))
        elif mark == "\\":
            if _begun(text, start) == token.start():
                position = _end_of_line(text, position)
                line, counted_to = line + text.count("\n", counted_to, token.start()), token.start()
                yield Part(line + 1, text[token.start() : position].strip())
                start = position
        elif mark == ";" and not depth and not body:
            part, counted_to, position = _part(text, start, position, line, counted_to)
            if part is not None:
                yield part
                line = part.line - 1
            start = position
    part, _, _ = _part(text, start, len(text), line, counted_to)
    if part is not None:
        yield part


def _part(text: str, start: int, end: int, line: int, counted_to: int) -> tuple[Part | None, int, int]:
    """Return the statement between two places, up to where lines are counted then, and where reading goes on."""
    first = _begun(text, start)
    if first >= end or text[first:end].strip() in ("", ";"):
        return None, counted_to, end
    number = line + text.count("\n", counted_to, first) + 1
    sql = text[first:end].strip()
    if not _COPY.fullmatch(sql):
        return Part(number, sql), first, end
    begins = _end_of_line(text, end)
    over = re.compile(r"^\\\.\r?$", re.MULTILINE).search(text, begins)
    ends = over.start() if over else len(text)
    return Part(number, sql, text[begins:ends]), first, over.end() if over else len(text)


def _begun(text: str, start: int) -> int:
    """Return where a statement's first word is, behind blanks and comments."""
    while (blank := _BLANK.match(text, start)) and blank[1]:
        start = _behind_comment(text, blank.end())
    return blank.end() if blank else start


def _word(text: str, token: re.Match[str]) -> bool:
    """Return whether a word stands alone, not as the end of a longer one."""
    before = text[token.start() - 1 : token.start()]
    return not (before.isalnum() or before in ("_", "$", '"', "."))


def _behind(text: str, token: re.Match[str]) -> int:
    """Return the place behind a dollar-quoted text, or behind the mark where it quotes nothing."""
    before = text[token.start() - 1 : token.start()]
    if before.isalnum() or before in ("_", "$"):
        return token.end()
    end = text.find(token[0], token.end())
    return len(text) if end < 0 else end + len(token[0])


def _behind_comment(text: str, position: int) -> int:
    """Return the place behind a comment, in which others may stand."""
    depth = 1
    while depth and (mark := _COMMENT.search(text, position)):
        depth += 1 if mark[0] == "/*" else -1
        position = mark.end()
    return len(text) if depth else position


def _end_of_line(text: str, position: int) -> int:
    """Return the start of the next line."""
    end = text.find("\n", position)
    return len(text) if end < 0 else end + 1


def _obey(script: Path, part: Part, databases: list[str]) -> None:
    """Pass over a line of psql's own; a second database ends the script.

    Raises:
        InputError: a dump of several databases, or a line that psql would act on.
    """
    if part.sql.startswith(_QUIET):
        return
    connect = _CONNECT.match(part.sql)
    if connect is None:
        message = f"psql's own command {part.sql.split()[0]} is not obeyed"
        raise InputError(message, file=script, line=part.line, remedy="Take the line out, or dump by pg_dump")
    name = (connect["name"] or "").strip().strip("'\"")
    if name not in _SYSTEM and name not in databases:
        databases.append(name)
    if len(databases) > 1:
        message = f"the script holds several databases: {', '.join(databases)}"
        raise InputError(message, file=script, line=part.line, remedy="Dump one database: pg_dump NAME")


def _run(connection: Connection, script: Path, part: Part) -> str:
    """Run a statement; return what it was where it is left out after all."""
    result = connection.pgconn.exec_(part.sql.encode())
    if result.status in (ExecStatus.COPY_IN, ExecStatus.COPY_OUT):
        raise _failed("COPY without inline data", script, part.line)
    if result.status != ExecStatus.FATAL_ERROR:
        return ""
    state = (result.error_field(DiagnosticField.SQLSTATE) or b"").decode()
    if state == _UNKNOWN_SETTING and part.sql[:4].upper() == "SET ":
        return "setting of another version"
    if state == _SCHEMA_THERE and part.sql.split()[2].strip(';"') == "public":
        return ""
    message = result.get_error_message().strip()
    extension = _EXTENSION.match(part.sql)
    if extension and "is not available" in message:
        if extension["name"].lower() in _OF_OPERATION:
            return f"extension of the server's operation ({extension['name']})"
        remedy = f"Take {extension['name']} and what needs it out of the script: the image does not have it"
        raise InputError(message.splitlines()[0], file=script, line=part.line, remedy=remedy)
    position = result.error_field(DiagnosticField.STATEMENT_POSITION)
    offset = int(position) - 1 if position else 0
    raise _failed(message, script, part.line + part.sql[:offset].count("\n"))


def _copy(connection: Connection, script: Path, part: Part) -> None:
    """Run a COPY with the data that followed it."""
    try:
        with connection.cursor() as cursor, cursor.copy(part.sql.rstrip(";").encode()) as copy:
            copy.write(part.data or "")
    except psycopg.Error as error:
        row = _LINE.search(error.diag.context or "")
        line = part.line + part.sql.count("\n") + int(row[1]) if row else part.line
        raise _failed(str(error).strip(), script, line) from None


def _failed(message: str, script: Path, line: int) -> InputError:
    """Return the error of a script at a line."""
    return InputError(message.splitlines()[0], file=script, line=line, remedy="Correct the script for Postgres.")
