"""Read a condition written as text, such as `status = 'Active'` among an application's rules, without a SQL parser."""

from __future__ import annotations

import re

LONGEST = 1000
"""Characters a condition may have: the patterns below take time with the square of it."""

_NAME = r"(?P<lhs>[^\W\d][\w$.\" `()*]*?)"
_OPERATOR = re.compile(
    rf"\s*{_NAME}\s*(?:(?P<sign><>|!=|<=|>=|==|=|<|>)|\s(?P<word>not\s+ilike|not\s+like|ilike|like)\s)\s*(?P<rhs>.+?)\s*",
    re.IGNORECASE | re.DOTALL,
)
_NULL = re.compile(rf"\s*{_NAME}\s+is\s+(?P<not>not\s+)?null\s*", re.IGNORECASE)
_IN = re.compile(rf"\s*{_NAME}\s+(?P<not>not\s+)?in\s*\((?P<items>.*)\)\s*", re.IGNORECASE | re.DOTALL)
_BETWEEN = re.compile(
    rf"\s*{_NAME}\s+(?P<not>not\s+)?between\s+(?P<low>'[^']*'|\S+)\s+and\s+(?P<high>'[^']*'|\S+)\s*", re.IGNORECASE
)
_CONSTANT = r"'(?:[^']|'')*'|[+-]?\d+(?:\.\d+)?|true|false|null"
_ITEMS = re.compile(rf"\s*(?:{_CONSTANT})\s*(?:,\s*(?:{_CONSTANT})\s*)*", re.IGNORECASE)
_ITEM = re.compile(_CONSTANT, re.IGNORECASE)
_SIGNS = {"==": "=", "<>": "!="}

Read = tuple[str, str, tuple[str, ...], bool]
"""Left side, operator, values and whether they are all constants, then without quotes."""


def read_condition(text: str) -> Read:
    """Return one condition's parts.

    Raises:
        ValueError: the text is too long, or no condition of the forms `a = b`, `a LIKE b`, `a IN (…)`,
            `a BETWEEN b AND c`, `a IS NULL` or their negations.
    """
    if len(text) > LONGEST:
        raise ValueError(f"a condition of {len(text)} characters is longer than {LONGEST}")
    if found := _NULL.fullmatch(text):
        return found["lhs"].strip(), "is not null" if found["not"] else "is null", (), True
    if found := _BETWEEN.fullmatch(text):
        (low, one), (high, other) = _constant(found["low"]), _constant(found["high"])
        return found["lhs"].strip(), _negated(found, "between"), (low, high), one and other
    if found := _IN.fullmatch(text):
        if not _ITEMS.fullmatch(found["items"]):
            raise ValueError(f"the list of '{text}' is not one of constants")
        items = tuple(_constant(item)[0] for item in _ITEM.findall(found["items"]))
        return found["lhs"].strip(), _negated(found, "in"), items, True
    if found := _OPERATOR.fullmatch(text):
        constant, literal = _constant(found["rhs"])
        op = found["sign"] or " ".join(found["word"].split()).lower()
        return found["lhs"].strip(), _SIGNS.get(op, op), (constant,), literal
    raise ValueError(f"'{text}' is no condition: write it as COLUMN OPERATOR VALUE, such as status = 'Active'")


def _negated(found: re.Match[str], op: str) -> str:
    """Return an operator with the NOT before it."""
    return f"not {op}" if found["not"] else op


def _constant(text: str) -> tuple[str, bool]:
    """Return a value and whether it is a constant, then without quotes."""
    text = text.strip()
    if not _ITEM.fullmatch(text):
        return text, False
    return (text[1:-1].replace("''", "'"), True) if text.startswith("'") else (text, True)
