r"""The regular expressions of Postgres that every engine's own library reads as the same language, or SQLite's GLOB.

Postgres' `.` and `[^a]` take a line's end too, and `$` is the end of the text alone: others are told so. What is not
known to mean one thing in ICU (MySQL), PCRE (MariaDB), RE2 (DuckDB) and Postgres is refused: letters of a class of
their own (`\d`), ranges over other letters than ASCII's, lazy and nested quantifiers, flags, back references.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlassay.dialect_adapters.transpile.facts import Refused

_TOKEN = re.compile(
    r"""(?P<escaped>\\[-.^$*+?()\[\]{}|\\/])
    | (?P<set>\[\^?(?:[a-z]-[a-z] | [A-Z]-[A-Z] | [0-9]-[0-9] | [A-Za-z0-9\ _,;:@%=<>!/.'"+*?()$])+\])
    | (?P<any>\.) | (?P<start>\^) | (?P<end>\$) | (?P<open>\((?:\?:)?) | (?P<close>\)) | (?P<or>\|)
    | (?P<many>[*+?](?![*+?{]) | \{\d{1,2}(?:,\d{0,2})?\}(?![*+?{]))
    | (?P<letter>[A-Za-z0-9\ _,;:@%=<>!/'"&~-] | [^\x00-\x7f])""",
    re.VERBOSE,
)
_REPEATED = ("escaped", "set", "any", "close", "letter")


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern that is the same for all: for libraries of regular expressions, and as GLOB patterns of which one fits.

    `globs` is None where GLOB cannot say it.
    """

    text: str
    globs: tuple[str, ...] | None


def read(given: str) -> Pattern:
    """Return a pattern of Postgres; raises Refused where engines may read it in different ways."""
    tokens = _tokens(given)
    depth, before, text = 0, "or", []
    for kind, word in tokens:
        depth += (kind == "open") - (kind == "close")
        empty = kind in ("or", "close", "end") and before in ("or", "open", "start")
        misplaced = (kind == "many" and before not in _REPEATED) or (kind == "start" and before not in ("or", "open"))
        misplaced = misplaced or (before == "end" and kind not in ("or", "close"))
        if depth < 0 or empty or misplaced:
            raise _refusal(given)
        text.append({"any": "(?s:.)", "end": r"\z"}.get(kind, word))
        before = kind
    if depth or before in ("or", "start"):
        raise _refusal(given)
    return Pattern("".join(text), _globs(tokens))


def _refusal(given: str) -> Refused:
    """Return why a pattern is refused."""
    return Refused(f"the regular expression '{given}', which engines may read in different ways")


def _tokens(given: str) -> list[tuple[str, str]]:
    """Return a pattern's parts with their kinds."""
    found, place = [], 0
    while place < len(given):
        match = _TOKEN.match(given, place)
        if match is None or match.lastgroup is None:
            raise _refusal(given)
        found.append((match.lastgroup, match[0]))
        place = match.end()
    return found


def _globs(tokens: list[tuple[str, str]]) -> tuple[str, ...] | None:
    """Return a pattern as GLOB patterns, one for each of its branches; None where it has more than GLOB knows."""
    made, branch = [], "*"
    left = list(tokens)
    while left:
        kind, word = left.pop(0)
        if kind == "any" and left and left[0] == ("many", "*"):
            left.pop(0)
            branch += "*"
        elif kind == "start":
            branch = branch.removesuffix("*")
        elif kind in ("letter", "escaped"):
            branch += _letter(word[-1])
        elif kind in ("any", "set"):
            branch += "?" if kind == "any" else word
        elif kind == "or":
            made.append(branch + "*")
            branch = "*"
        elif kind == "end":
            made.append(branch)
            branch = "*"
            left = left[1:]
            if not left:
                return tuple(made)
        else:
            return None
    return (*made, branch + "*")


def _letter(one: str) -> str:
    """Return a letter that stands for itself in GLOB."""
    return f"[{one}]" if one in "*?[" else one
