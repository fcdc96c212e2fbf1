"""How a change is spelled: words of an engine's own that the parser does not know are read as plainer ones.

Only words and numbers of fixed phrases are ever left out or read otherwise, never a name, a call or a query; what is
read that way must be a change. The text that runs is the text that was given.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from itertools import accumulate
from typing import NamedTuple

from sqlglot.tokenizer_core import Token, TokenType

from sqlassay.dialect_adapters.escapes import escaped_name

Heads = Sequence[Sequence[str]]
"""Pairs of a pattern a statement begins with and what is read in its place, never longer."""

Rules = Sequence[tuple[str, Sequence[Sequence[str]]]]
"""Patterns over a statement's code with what is read in place of each of their groups."""


class Spelled(NamedTuple):
    """A dialect's spellings as they come over the socket."""

    heads: Heads
    rest: Rules
    prefixes: bool
    reads: Rules
    numbers: str
    escaped_names: bool


NONE = Spelled((), (), False, (), "", False)  # noqa: FBT003 (in the order of the socket)
CHANGES = frozenset({"insert", "update", "delete", "merge", "create", "alter", "drop", "truncatetable"})
_BEFORE = r"(?P<before>(?:\s|/\*[^*!+]*\*/|--[ \t][^\n]*\n)*)"
_MOST = 32
_ANY = "x"  # some words are taken otherwise where a text begins with them


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern once."""
    return re.compile(pattern, re.IGNORECASE)


def head(text: str, heads: Heads) -> tuple[str, tuple[int, int]]:
    """Return the text with its first words read as plainer ones of the same length, and where they stand."""
    for pattern, words in heads:
        found = _compiled(rf"{_BEFORE}(?P<head>{pattern})(?![\w$])").match(text)
        if found is not None:
            start, end = found.span("head")
            return text[:start] + words.ljust(end - start) + text[end:], (start, end)
    return text, (0, 0)


def plain(tokens: list[Token], rules: Rules, tokenize: Callable[[str], list[Token]]) -> list[Token]:
    """Return the tokens as the parser knows them; the same list where no rule applies."""
    if not rules or not tokens or tokens[0].token_type not in _FIRST:
        return tokens
    return _ruled(tokens, rules, tokenize)


def read(tokens: list[Token], text: str, spelled: Spelled, tokenize: Callable[[str], list[Token]]) -> list[Token]:
    """Return the tokens with what any statement may hold as the parser knows it: numbers, clauses of JSON_TABLE."""
    if spelled.numbers and ("_" in text or "0o" in text.lower()):
        tokens = _whole_numbers(tokens, text, _compiled(spelled.numbers))
    if spelled.reads:
        tokens = _ruled(tokens, spelled.reads, tokenize)
    return tokens


def names(tokens: list[Token], text: str) -> list[Token]:
    """Return the tokens with each `U&"…"` as the name it is; one that no engine takes stays as it is."""
    result: list[Token] = []
    for token in tokens:
        if token.token_type is TokenType.IDENTIFIER and text[token.start - 2 : token.start].lower() == "u&":
            name = escaped_name(text[token.start : token.end + 1])
            before = result[-2:]
            if name and [one.text.lower() for one in before] == ["u", "&"]:
                u = before[0]
                whole = Token(TokenType.IDENTIFIER, name, line=u.line, col=u.col, start=u.start, end=token.end)
                result[-2:] = [whole]
                continue
        result.append(token)
    return result


def _whole_numbers(tokens: list[Token], text: str, pattern: re.Pattern[str]) -> list[Token]:
    """Return the tokens with each number in one piece; pieces that do not end where it ends stay as they are."""
    result: list[Token] = []
    place = 0
    while place < len(tokens):
        first = tokens[place]
        found = pattern.match(text, first.start) if first.token_type in _NUMBERS else None
        end = place
        while found is not None and end < len(tokens) - 1 and tokens[end].end + 1 < found.end():
            end += 1
        if found is None or end == place or tokens[end].end + 1 != found.end():
            result.append(first)
            place += 1
            continue
        value = found[0].replace("_", "")
        number = str(int(value, 0)) if value[:2].lower() in {"0x", "0o", "0b"} else value
        whole = Token(TokenType.NUMBER, number, line=first.line, col=first.col, start=first.start, end=tokens[end].end)
        result.append(whole)
        place = end + 1
    return result


_NUMBERS = frozenset({TokenType.NUMBER, TokenType.HEX_STRING, TokenType.BIT_STRING})


def _ruled(tokens: list[Token], rules: Rules, tokenize: Callable[[str], list[Token]]) -> list[Token]:
    """Return the tokens with every rule applied as often as it fits."""
    for pattern, parts in rules:
        for _ in range(_MOST):
            replaced = _applied(tokens, _compiled(pattern), parts, tokenize)
            if replaced is None:
                break
            tokens = replaced
    return tokens


_FIRST = frozenset(
    {TokenType.INSERT, TokenType.UPDATE, TokenType.DELETE, TokenType.MERGE, TokenType.CREATE, TokenType.ALTER}
) | {TokenType.TRUNCATE, TokenType.WITH, TokenType.DROP}


def _applied(
    tokens: list[Token],
    pattern: re.Pattern[str],
    parts: Sequence[Sequence[str]],
    tokenize: Callable[[str], list[Token]],
) -> list[Token] | None:
    """Return the tokens with the first match read otherwise, None where there is no match at whole tokens."""
    spelled = [_spelled(token) for token in tokens if token.token_type is not TokenType.SEMICOLON]
    ends = list(accumulate(len(word) + 1 for word in spelled))
    places = {0: 0} | {end: number for number, end in enumerate(ends, 1)}
    found = pattern.search(" ".join([*spelled, ""]))
    if found is None:
        return None
    result = list(tokens)
    for group, words in sorted(parts, key=lambda part: found.start(part[0]), reverse=True):
        start, end = found.span(group)
        first, last = places.get(start), places.get(end)
        if first is None or last is None:
            return None
        at = tokens[min(first, len(tokens) - 1)]
        result[first:last] = [_moved(token, at) for token in tokenize(f"{_ANY} {words}")[1:]]
    return result


def _moved(token: Token, at: Token) -> Token:
    """Return a token that stands where another does, for messages."""
    return Token(token.token_type, token.text, line=at.line, col=at.col, start=at.start, end=at.end, comments=[])


def _spelled(token: Token) -> str:
    """Return a token as rules see it: words and marks as they are, lower-cased, anything quoted as `_`."""
    kind = token.token_type
    if kind is TokenType.IDENTIFIER or kind.name.endswith("STRING"):
        return "_"
    return " ".join(token.text.lower().split()) or "_"
