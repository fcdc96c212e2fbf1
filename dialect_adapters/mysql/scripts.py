"""Run a snapshot's SQL scripts: a splitter that knows MySQL's quotes, comments and DELIMITER."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pymysql

from cases.errors import InputError
from dialect_adapters.mysql.flavour import Flavour

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


@cache
def _nothing(executable: str) -> re.Pattern[str]:
    """Return the pattern of blanks and comments alone, those left out that the server runs."""
    return re.compile(rf"(?>\s|--(?=\s|$)[^\n]*|\#[^\n]*|/\*(?!{executable}).*?\*/)*+", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement and the line it starts on."""

    line: int
    sql: str


def statements_of(text: str, executable: str = "!") -> Iterator[Statement]:
    """Yield each statement without its delimiter; stretches of comments alone are left out."""
    delimiter, start, position = ";", 0, 0
    while position < len(text):
        token = _TOKEN.search(text, position)
        end = text.find(delimiter, position, token.start() if token else len(text))
        if end >= 0:
            yield from _statement(text, start, end, executable)
            start = position = end + len(delimiter)
        elif token is None:
            break
        elif token["delimiter"]:
            yield from _statement(text, start, token.start(), executable)
            delimiter = token["delimiter"]
            start = position = token.end()
        else:
            position = token.end()
    yield from _statement(text, start, len(text), executable)


def _statement(text: str, start: int, end: int, executable: str) -> Iterator[Statement]:
    """Yield one statement unless it is nothing but comments."""
    piece = text[start:end]
    if not _nothing(executable).fullmatch(piece):
        leading = len(piece) - len(piece.lstrip())
        yield Statement(text.count("\n", 0, start + leading) + 1, piece.strip())


def run_statement(connection: Connection[Cursor], statement: Statement) -> None:
    """Run one statement; one that only other versions of the server run is no fault."""
    try:
        connection.query(statement.sql)
    except pymysql.Error as error:
        if not error.args or error.args[0] != _EMPTY_QUERY:
            raise


def run_script(connection: Connection[Cursor], script: Path, flavour: Flavour) -> None:
    """Run one script statement by statement.

    Raises:
        InputError: the statement that failed, by line.
    """
    try:
        text = script.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read: {error}", file=script, remedy="Give a UTF-8 SQL file.") from None
    for statement in statements_of(text, flavour.executable):
        try:
            run_statement(connection, statement)
        except pymysql.Error as error:
            message = str(error.args[-1]) if error.args else type(error).__name__
            remedy = f"Correct the script for {flavour.engine}."
            raise InputError(message, file=script, line=statement.line, remedy=remedy) from None
