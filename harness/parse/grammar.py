"""How texts are handed to the parser: its readings that none of our engines shares are switched off."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Any

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

_SEEN_TOKEN = re.compile(r" but got <Token .*", re.DOTALL)
_QUERY = frozenset(
    {
        "select",
        "table",
        "from",
        "with",
        "values",
        "all",
        "distinct",
        "pivot",
        "unpivot",
        "show",
        "describe",
        "summarize",
    }
)
_COLOUR = re.compile(r"\x1b\[\d*m")


@cache
def _spoken(dialect: str) -> Dialect:
    """Return one dialect's reader, built once."""
    return Dialect.get_or_raise(dialect)


def tokenize(text: str, dialect: str) -> list[Token]:
    """Return the tokens of a text.

    Raises:
        TokenError: a quote that does not end, or a character no token begins with.
    """
    tokens: list[Token] = _spoken(dialect).tokenize(text)
    return tokens


def parse(tokens: list[Token], text: str, dialect: str) -> list[exp.Expr | None]:
    """Return one tree a statement.

    Inside a call `a -> b` is JSON's arrow, not a function without a name; `%` after LIMIT divides, it is no percentage;
    and EXCEPT after a star joins two queries but where the engine leaves out columns so.

    Raises:
        ParseError: the text is not in this dialect's grammar.
    """
    parser = _parser_class(dialect)(dialect=_spoken(dialect))
    trees: list[exp.Expr | None] = parser.parse(tokens, text)
    return trees


@cache
def _parser_class(dialect: str) -> Any:
    """Return the dialect's parser class without the readings that are not our engines'."""
    base: Any = _spoken(dialect).parser_class

    def term(self: Any, parse_mod: bool = True) -> Any:  # noqa: ARG001, FBT001, FBT002 (the signature is the parser's)
        """Parse sums and products, `%` always among them."""
        return base._parse_term(self)

    excludes = _spoken(dialect).generator_class.STAR_EXCEPT == "EXCLUDE"

    def star(self: Any, *keywords: str) -> Any:
        """Parse what leaves out or replaces columns after a star, where the engine has that and no query begins."""
        first = self._tokens[self._index + 1 : self._index + 2]
        words = self._tokens[self._index + 1 : self._index + 3]
        begins = [one for one in (words if first and first[0].text == "(" else first) if one.text != "("]
        if not excludes or not begins or begins[0].text.lower() in _QUERY:
            return None
        return base._parse_star_op(self, *keywords)

    lambdas = {kind: rule for kind, rule in base.LAMBDAS.items() if kind is not TokenType.ARROW}
    return type(base)("Parser", (base,), {"LAMBDAS": lambdas, "_parse_term": term, "_parse_star_op": star})


def spell(node: exp.Expr, dialect: str) -> str:
    """Return an expression as the dialect spells it, without comments."""
    if type(node) is exp.Column and _is_bare(node):
        return _spelled_name(node.this.this, dialect)
    return str(node.sql(dialect=dialect, comments=False))


def _is_bare(column: exp.Column) -> bool:
    """Return True for a column of one unquoted name: what most expressions in normal form are."""
    name = column.this
    unqualified = not any(value for key, value in column.args.items() if key != "this")
    return unqualified and type(name) is exp.Identifier and isinstance(name.this, str) and not name.args.get("quoted")


@lru_cache(maxsize=4096)
def _spelled_name(name: str, dialect: str) -> str:
    """Return how the dialect spells a column of one name."""
    return str(exp.Column(this=exp.Identifier(this=name, quoted=False)).sql(dialect=dialect, comments=False))


def message(error: Exception, text: str) -> str:
    """Return one clean line for a person: where it went wrong and why, without the parser's own notation."""
    if isinstance(error, ParseError) and error.errors:
        first = error.errors[0]
        why = _SEEN_TOKEN.sub("", str(first.get("description") or "not understood"))
        line, column = int(first.get("line") or 1), int(first.get("col") or 1)
        near = " ".join(_COLOUR.sub("", str(first.get("highlight") or "")).split())[:40]
        return f"line {line}, column {max(1, column - len(near) + 1)}: {_sentence(why)}" + (
            f" (at '{near}')" if near else ""
        )
    start = getattr(error, "start", None)
    place = min(start, len(text)) if isinstance(error, TokenError) and isinstance(start, int) else len(text)
    line = text.count("\n", 0, place) + 1
    column = place - (text.rfind("\n", 0, place) + 1) + 1
    return f"line {line}, column {column}: a quote or comment does not end, or a character is not understood"


def _sentence(why: str) -> str:
    """Return the parser's own wording as one short line."""
    plain = " ".join(_COLOUR.sub("", why).split("\n", 1)[0].split()).rstrip(".")
    return "unexpected text" if plain.startswith("Invalid expression") else plain[:1].lower() + plain[1:120]
