"""What the parser took each character for, and how deep the text nests."""

from __future__ import annotations

from typing import Any

from sqlglot.tokenizer_core import Token, TokenType

_STRINGS = frozenset(kind for kind in TokenType if kind.name.endswith("STRING") or kind.name == "STRING")


def lexmap(sql: str, tokens: list[Token]) -> str:
    """Return one letter per character: s string, i quoted identifier, c code, blank elsewhere."""
    letters = [" "] * len(sql)
    for token in tokens:
        start, end = token.start, token.end + 1
        letters[start:end] = _letter(sql[start:end], token.token_type) * (end - start)
    for index, character in enumerate(sql):
        if letters[index] == "c" and character.isspace():
            letters[index] = " "
    return "".join(letters[: len(sql)])


def _letter(text: str, kind: Any) -> str:
    """Return the letter of one token; hexadecimal numbers without quotes are code."""
    quoted = bool(text) and text[-1] in "'\"`]$"
    if kind in _STRINGS and quoted:
        return "s"
    return "i" if kind is TokenType.IDENTIFIER and quoted else "c"


def nesting(tokens: list[Token]) -> int:
    """Return the deepest nesting of brackets and CASE."""
    depth = deepest = 0
    for token in tokens:
        kind = token.token_type
        if kind in {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE}:
            depth += 1
            deepest = max(deepest, depth)
        elif kind in {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END}:
            depth = max(0, depth - 1)
    return deepest
