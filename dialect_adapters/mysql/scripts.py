"""Run a snapshot's SQL scripts: a splitter that knows MySQL's quotes, comments and DELIMITER."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pymysql

from sqlassay.cases.counting import counted
from sqlassay.cases.errors import InputError
from sqlassay.cases.sources.scripts import script_text
from sqlassay.dialect_adapters.mysql.flavour import Flavour

if TYPE_CHECKING:
    from pymysql.connections import Connection
    from pymysql.cursors import Cursor

_TOKEN = re.compile(
    r"""'(?:[^'\\]|\\.|'')*' | "(?:[^"\\]|\\.|"")*" | `(?:[^`]|``)*`   # quoted
      | /\*.*?\*/ | --(?=\s|$)[^\n]* | \#[^\n]*                         # comments
      | ^[ \t]*DELIMITER[ \t]+(?P<delimiter>\S+)[^\n]*""",
    re.VERBOSE | re.DOTALL | re.MULTILINE | re.IGNORECASE,
)
_EMPTY_QUERY = 1065
_HEADING = re.compile(r"\A(?>\s|--(?=\s|$)[^\n]*|#[^\n]*|/\*(?!M?!).*?\*/)*+", re.DOTALL | re.MULTILINE)
_USE = re.compile(r"USE\s+(?P<name>`[^`]+`|[^\s;`]+)\s*;?\s*$", re.IGNORECASE)
_MAKES_DATABASE = re.compile(
    r"CREATE\s+(?:OR\s+REPLACE\s+)?(?:DATABASE|SCHEMA)\s+(?:IF\s+NOT\s+EXISTS\s*(?:\*/)?\s*)?(?P<name>`[^`]+`|[^\s;`]+)",
    re.IGNORECASE,
)
_SET = re.compile(r"SET\s", re.IGNORECASE)
_MADE = re.compile(r"(?:CREATE|ALTER)\b.*?\b(?:VIEW|TRIGGER|FUNCTION|PROCEDURE|EVENT)\b", re.IGNORECASE | re.DOTALL)
_DEFINER = re.compile(
    r"\s*\bDEFINER\s*=\s*(?:CURRENT_USER(?:\(\))?|(?:`[^`]*`|'[^']*'|\w+)(?:@(?:`[^`]*`|'[^']*'|[\w.%-]+))?)\s*",
    re.IGNORECASE,
)
_LEFT_OUT: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (what, re.compile(pattern, re.IGNORECASE))
    for what, pattern in (
        ("grant", r"(?:GRANT|REVOKE)\s|FLUSH\s"),
        ("user", r"(?:CREATE|ALTER|DROP|RENAME)\s+(?:OR\s+REPLACE\s+)?(?:USER|ROLE)\s|SET\s+(?:PASSWORD|ROLE)\b"),
        ("database statement", r"(?:CREATE|ALTER|DROP)\s+(?:OR\s+REPLACE\s+)?(?:DATABASE|SCHEMA)\s"),
        (
            "replication statement",
            r"SET\s+(?:@@GLOBAL\.|GLOBAL\s|@@SESSION\.SQL_LOG_BIN|@MYSQLDUMP_TEMP_LOG_BIN)|CHANGE\s+(?:MASTER|REPLICATION)\s",
        ),
    )
)
"""What is of the server and its logins, not of the data: the sandbox has its own."""


@cache
def _nothing(executable: str) -> re.Pattern[str]:
    """Return the pattern of blanks and comments alone, those left out that the server runs."""
    return re.compile(rf"(?>\s|--(?=\s|$)[^\n]*|\#[^\n]*|/\*(?!{executable}).*?\*/)*+", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement and the line its first word is on."""

    line: int
    sql: str


def statements_of(text: str, executable: str = "!") -> Iterator[Statement]:
    """Yield each statement without its delimiter; stretches of comments alone are left out."""
    delimiter, start, position = ";", 0, 0
    lines = _Lines(text)
    while position < len(text):
        token = _TOKEN.search(text, position)
        end = text.find(delimiter, position, token.start() if token else len(text))
        if end >= 0:
            yield from _statement(text, start, end, executable, lines)
            start = position = end + len(delimiter)
        elif token is None:
            break
        elif token["delimiter"]:
            yield from _statement(text, start, token.start(), executable, lines)
            delimiter = token["delimiter"]
            start = position = token.end()
        else:
            position = token.end()
    yield from _statement(text, start, len(text), executable, lines)


class _Lines:
    """Counts lines on and on, so that a script of many statements is gone through once."""

    def __init__(self, text: str) -> None:
        """Start at the first."""
        self._text = text
        self._line = 1
        self._place = 0

    def at(self, place: int) -> int:
        """Return the line of a place behind the last one asked for."""
        self._line += self._text.count("\n", self._place, place)
        self._place = place
        return self._line


def _statement(text: str, start: int, end: int, executable: str, lines: _Lines) -> Iterator[Statement]:
    """Yield one statement unless it is nothing but comments."""
    piece = text[start:end]
    nothing = _nothing(executable).match(piece)
    leading = nothing.end() if nothing else 0
    if leading < len(piece):
        yield Statement(lines.at(start + leading), piece.strip())


def run_statement(connection: Connection[Cursor], statement: Statement) -> None:
    """Run one statement; one that only other versions of the server run is no fault."""
    try:
        connection.query(statement.sql)
    except pymysql.Error as error:
        if not error.args or error.args[0] != _EMPTY_QUERY:
            raise


def run_script(connection: Connection[Cursor], script: Path, flavour: Flavour) -> tuple[str, ...]:
    """Run one script statement by statement; return a line for what was left out.

    Raises:
        InputError: the statement that failed, by line.
    """
    left_out: Counter[str] = Counter()
    used: list[str] = []
    statements = list(statements_of(script_text(script), flavour.executable))
    entered = {found["name"].strip("`") for one in statements if (found := _USE.match(_code(one.sql)))}
    for statement in statements:
        if what := _left_out(script, statement, used, entered):
            left_out[what] += 1
            continue
        own = _without_definer(statement)
        left_out.update(["definer"] if own is not statement else [])
        try:
            run_statement(connection, _without_old_mode(own))
        except pymysql.Error as error:
            message = str(error.args[-1]) if error.args else type(error).__name__
            remedy = f"Correct the script for {flavour.engine}."
            raise InputError(message, file=script, line=statement.line, remedy=remedy) from None
    few = ", ".join(counted(count, what) for what, count in left_out.items())
    return (f"{script.name}: left out as the server's own, which the sandbox replaces: {few}",) if few else ()


def _left_out(script: Path, statement: Statement, used: list[str], entered: set[str]) -> str:
    """Return what a statement is that speaks of the server and its logins, not of the data; "" runs it.

    A database beside its own, which a script makes and does not enter, is data as well.

    Raises:
        InputError: a script of several databases.
    """
    code = _code(statement.sql)
    if found := _USE.match(code):
        name = found["name"].strip("`")
        used.extend([name] if name not in used else [])
        if len(used) > 1:
            message = f"the script holds several databases: {', '.join(used)}"
            remedy = "Dump one database, or one script a snapshot"
            raise InputError(message, file=script, line=statement.line, remedy=remedy)
        return "database statement"
    if (found := _MAKES_DATABASE.match(code)) and found["name"].strip("`") not in entered:
        return ""
    return next((what for what, pattern in _LEFT_OUT if pattern.match(code)), "")


def _code(sql: str) -> str:
    """Return the beginning of a statement as the server reads it: comments that it runs are code."""
    head = _HEADING.sub(" ", sql[:500].lstrip())
    return re.sub(r"/\*M?!\d*\s*", "", head).lstrip()


def _without_definer(statement: Statement) -> Statement:
    """Return a view, trigger or routine without the login that made it: there is no such login here."""
    if not _MADE.match(_code(statement.sql)):
        return statement
    sql = _DEFINER.sub(" ", statement.sql, count=1)
    return statement if sql == statement.sql else replace(statement, sql=sql)


def _without_old_mode(statement: Statement) -> Statement:
    """Return a SET without the mode that MySQL 8 no longer knows, as dumps of earlier servers name it."""
    if "NO_AUTO_CREATE_USER" not in statement.sql or not _SET.match(_code(statement.sql)):
        return statement
    return replace(statement, sql=re.sub(r"NO_AUTO_CREATE_USER,|,?NO_AUTO_CREATE_USER", "", statement.sql))
