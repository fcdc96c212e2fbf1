"""The foreign keys a catalogue's own CREATE TABLE statements declare."""

from __future__ import annotations

import re
from collections.abc import Iterator

Key = tuple[str, str, str, str]
"""Table, column, table referred to, its column, all lower-cased."""

_TOKEN = re.compile(
    r"""--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\[[^]]*]|[^\W\d][\w$]*|[(),;.]""", re.DOTALL
)


def foreign_keys(ddl: str) -> list[Key]:
    """Return the keys table by table, the last declared first, as SQLite lists them and Spider's files do."""
    if "references" not in ddl.lower():
        return []
    words = [found for found in _TOKEN.findall(ddl) if not found.startswith(("--", "/*"))]
    found: list[Key] = []
    for at, word in enumerate(words):
        if word.lower() == "create":
            found += _of_table(words, at)
    return found


def _of_table(words: list[str], at: int) -> list[Key]:
    """Return the keys of the CREATE TABLE statement that begins at a place, none where another one does."""
    head = words[at : at + 12]
    if "table" not in [word.lower() for word in head[:4]] or "(" not in head:
        return []
    start = at + head.index("(")
    items = list(_items(words, start))
    keys = [list(_of_item(item, _name(words[start - 1]))) for item in items]
    return [key for each in reversed(keys) for key in each]


def _items(words: list[str], start: int) -> Iterator[list[str]]:
    """Yield the words of each column and constraint between a parenthesis and the one that closes it."""
    depth, item = 0, list[str]()
    for word in words[start:]:
        depth += (word == "(") - (word == ")")
        if depth == 0 or word == ";":
            break
        if depth == 1 and word == ",":
            yield item
            item = []
        elif depth > 1 or word != "(" or item:
            item.append(word)
    yield item


def _of_item(item: list[str], table: str) -> Iterator[Key]:
    """Yield the keys of one column or constraint: one for each pair of columns it names."""
    lower = [word.lower() for word in item]
    if "references" not in lower:
        return
    at = lower.index("references")
    own = _columns(item, lower.index("foreign") + 2) if "foreign" in lower[:at] else [_name(item[0])]
    after = at + 2
    while lower[after : after + 1] == ["."]:  # a schema stood before the table
        after += 2
    for column, referred in zip(own, _columns(item, after), strict=False):
        yield table, column, _name(item[after - 1]), referred


def _columns(item: list[str], at: int) -> list[str]:
    """Return the names in the parentheses that open at a place, none where there are none."""
    if item[at : at + 1] != ["("]:
        return []
    end = item.index(")", at) if ")" in item[at:] else len(item)
    return [_name(word) for word in item[at + 1 : end] if word != ","]


def _name(word: str) -> str:
    """Return a name without its quotes, lower-cased."""
    return word[1:-1].lower() if word[:1] in ('"', "`", "[") else word.lower()
