"""Comments that some versions of an engine run, `/*!80000 … */`: the text as each kind of version reads it."""

from __future__ import annotations

import re
from collections.abc import Callable

_PIECE = re.compile(
    r"""'(?:[^'\\]|\\.|'')*+(?:'|\\?\Z) | "(?:[^"\\]|\\.|"")*+(?:"|\\?\Z) | `[^`]*+(?:`|\Z)
    | --(?=[ \t\r\n]|\Z)[^\n]*+ | \#[^\n]*+
    | (?P<gated>/\*!(?:(?P<version>\d{5,6})(?=\s))?(?P<text>[^'"`\#*/\\;]*+)\*/) | /\*(?:(?!\*/).)*+(?:\*/|\Z)""",
    re.VERBOSE | re.DOTALL,
)
"""Strings, names and comments, so that what looks like a comment inside them is left alone.

One that does not end takes the rest of the text: no text is read twice.
"""

MOST = 4
"""Of so many versions at most the readings are worked out."""


def readings(sql: str) -> tuple[str, ...]:
    """Return the text with none of these comments read, then with those of the oldest version, up to all; places kept.

    Empty where there is no such comment, or more versions than anybody writes. A comment that holds quotes, marks of
    other comments or several statements is left as it is: engines do not agree where it ends.
    """
    gated = [found for found in _PIECE.finditer(sql) if found["gated"] is not None]
    versions = sorted({_version(found) for found in gated})
    if not versions or len(versions) > MOST:
        return ()
    return tuple(_PIECE.sub(_reader(newest), sql) for newest in (-1, *versions))


def _version(found: re.Match[str]) -> int:
    """Return the version a comment is for, 0 where it names none."""
    return int(found["version"] or 0)


def _reader(newest: int) -> Callable[[re.Match[str]], str]:
    """Return what replaces each piece of the text for a server of a version."""

    def read(found: re.Match[str]) -> str:
        """Return a comment's text in its place, or blanks where this version skips it."""
        if found["gated"] is None:
            return found[0]
        if _version(found) > newest:
            return re.sub(r"[^\n]", " ", found[0])
        start, end = found.start("text") - found.start(), found.end("text") - found.start()
        return " " * start + found["text"] + " " * (len(found[0]) - end)

    return read
