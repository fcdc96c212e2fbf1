"""Names and values folded to what they mean: case, blanks, quotes, qualifiers, an application's column mappings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal

_TOKEN = re.compile(
    r"(?P<text>'(?:[^']|'')*')|(?P<quoted>\"[^\"]+\"|`[^`]+`|\[[^\W\d][^\]]*\])|(?P<name>[^\W\d][\w$]*)|"
    r"(?P<number>\d+(?:\.\d+)?)|(?P<other>\S)"
)
_NUMBER = re.compile(r"[+-]?(?:0|[1-9]\d{0,30})(?:\.\d{1,30})?")

Scalar = bool | int | float | str


def value(given: Scalar) -> str:
    """Return a constant folded: case, blanks around and between words, and the spelling of a number mean nothing."""
    if isinstance(given, bool):
        return str(given).lower()
    text = " ".join(str(given).split()).casefold()
    if isinstance(given, float) and "e" in text:
        text = format(Decimal(text), "f")
    if not _NUMBER.fullmatch(text):
        return text
    number = Decimal(text).normalize()
    return format(number if number else Decimal(0), "f")


class Vocabulary:
    """The names of one application: what a question calls a column, and what the column is called."""

    def __init__(self, mappings: Mapping[str, str] | None = None) -> None:
        """Take the column mappings, folded on both sides."""
        self._means = {fold(name): fold(column) for name, column in (mappings or {}).items()}

    def name(self, text: str) -> str:
        """Return a name or expression folded, with every mapped name in it, or the whole, replaced by its column."""
        whole = fold(text)
        if whole in self._means:
            return self._column(whole)
        return "".join(self._column(token) if named else token for token, named in _tokens(text))

    def _column(self, name: str) -> str:
        """Follow the mappings from one name, each at most once."""
        seen = set()
        while name in self._means and name not in seen:
            seen.add(name)
            name = self._means[name]
        return name


def fold(text: str) -> str:
    """Return a name or expression without case, blanks, underscores, quotes of names and qualifiers."""
    return "".join(token for token, _ in _tokens(text))


def _tokens(text: str) -> list[tuple[str, bool]]:
    """Return the folded tokens, each with whether it is the name of a column."""
    found = list(_TOKEN.finditer(text))
    tokens: list[tuple[str, bool]] = []
    for place, token in enumerate(found):
        following = found[place + 1][0] if place + 1 < len(found) else ""
        named = token.lastgroup in {"name", "quoted"}
        if named and following == "." and place + 2 < len(found) and found[place + 2].lastgroup in {"name", "quoted"}:
            continue
        if token[0] == "." and place and found[place - 1].lastgroup in {"name", "quoted"}:
            continue
        tokens.append((_spelled(token), named and following != "("))
    return tokens


def _spelled(token: re.Match[str]) -> str:
    """Return one token folded."""
    if token.lastgroup == "text":
        return f"'{value(token[0][1:-1].replace(chr(39) * 2, chr(39)))}'"
    if token.lastgroup == "quoted":
        return re.sub(r"[\s_]+", "", token[0][1:-1]).casefold()
    return token[0].replace("_", "").casefold() if token.lastgroup == "name" else token[0]
