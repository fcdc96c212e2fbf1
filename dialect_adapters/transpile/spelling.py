"""What each target spells in its own way; the writer decides what is meant, a spelling how it is said."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Protocol

from sqlassay.dialect_adapters.transpile.facts import Form

NUMERAL = r"^[ \t\n\v\f\r]*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[ \t\n\v\f\r]*$"
"""Text that SQLite's numeric affinity turns into a number."""

PREFIX = r"^[ \t\n\v\f\r]*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
"""The part of a text that SQLite computes with."""


def in_letters(pattern: str, letters: Mapping[str, str]) -> str | None:
    """Return a strftime pattern in an engine's own letters, None where it holds more than these and separators."""
    parts = re.findall(r"%(.)|([-:/ .])|(.)", pattern, re.DOTALL)
    if any(other or (field and not letters.get(field)) for field, _, other in parts):
        return None
    words = [letters[field] if field else mark for field, mark, _ in parts]
    if any(one[-1] == other[0] for one, other in pairwise(words)):
        return None  # SS behind SS would be the seconds of the day
    return "".join(words)


class Spelling(Protocol):
    """One target's own words. Every argument is an expression's text that may stand in parentheses already."""

    dialect: str
    true_boolean: bool
    """Whether conditions have a type of their own, so that a number is no condition."""
    filter_clause: bool
    full_join: bool
    derived_sees_out: bool
    """Whether a derived table may name columns of a query around its own."""

    def name(self, identifier: str) -> str:
        """Return an identifier as the loader wrote it, quoted."""
        ...

    def literal(self, text: str) -> str:
        """Return a text literal."""
        ...

    def by_code_points(self, value: str) -> str:
        """Return a text that compares code point by code point, whatever the database's collation."""
        ...

    def real(self, value: str) -> str:
        """Return a number as a double."""
        ...

    def whole(self, value: str) -> str:
        """Return a number cut to a 64-bit integer, towards zero."""
        ...

    def text(self, value: str, form: Form) -> str:
        """Return a number's text as SQLite writes it."""
        ...

    def spelled(self, value: str, *, moment: bool) -> str:
        """Return a date's ISO text, or a timestamp's (`moment`): six digits of a second's fraction where it has one."""
        ...

    def looks(self, value: str) -> str:
        """Return the condition that a text is a numeral."""
        ...

    def numeral(self, value: str) -> str:
        """Return a text that is a numeral as a double; never evaluated for another text."""
        ...

    def prefix(self, value: str) -> str:
        """Return the number a text starts with, 0 where it starts with none, as a double."""
        ...

    def divided(self, value: str, by: str) -> str:
        """Return the whole quotient of two integers, NULL for division by zero."""
        ...

    def bits(self, one: str, operator: str, other: str) -> str:
        """Return the bits of two integers joined by & or |, as a signed number."""
        ...

    def moved_bits(self, value: str, operator: str, width: int) -> str:
        """Return an integer shifted by << or >>, its sign kept."""
        ...

    def lower(self, value: str) -> str:
        """Return a text with its ASCII letters lowered, no others."""
        ...

    def upper(self, value: str) -> str:
        """Return a text with its ASCII letters raised, no others."""
        ...

    def like(self, value: str, pattern: str, escape: str | None) -> str:
        """Return LIKE with case counting and no escape character but the one given."""
        ...

    def matches(self, value: str, pattern: str) -> str:
        """Return whether a text matches a regular expression, case counting."""
        ...

    def concat(self, values: Sequence[str]) -> str:
        """Return texts one behind the other, NULL where one is NULL."""
        ...

    def any_value(self, value: str) -> str:
        """Return some row's value of a group."""
        ...

    def first(self, value: str, form: Form, /, keys: Sequence[str]) -> str:
        """Return a group's value in the row that comes first by these keys."""
        ...

    def joined(self, value: str, separator: str, *, distinct: bool) -> str:
        """Return a group's texts with a separator between them."""
        ...

    def sum(self, value: str, form: Form) -> tuple[str, Form]:
        """Return the sum of a group's numbers, whole for whole ones."""
        ...

    def substring(self, value: str, start: str, length: str | None) -> str:
        """Return SQLite's substr()."""
        ...

    def length(self, value: str) -> str:
        """Return a text's length in characters."""
        ...

    def octets(self, value: str) -> str:
        """Return a text's length in bytes of UTF-8."""
        ...

    def position(self, value: str, part: str) -> str:
        """Return where a part stands in a text, from 1, 0 where nowhere."""
        ...

    def trimmed(self, value: str, letters: str, side: str) -> str:
        """Return a text without these letters at one side or both ('leading', 'trailing', 'both')."""
        ...

    def rounded(self, value: str, digits: str) -> str:
        """Return a double rounded half away from zero."""
        ...

    def extreme(self, values: Sequence[str], *, greatest: bool) -> str:
        """Return the least or greatest of several values, NULL where one is NULL."""
        ...

    def ordered(self, value: str, *, descending: bool, nulls_first: bool) -> str:
        """Return one sort key with the place of NULLs."""
        ...

    def is_same(self, one: str, other: str, *, negated: bool) -> str:
        """Return whether two values are the same, NULLs too."""
        ...

    def moment(self, value: str) -> str:
        """Return an ISO text as a timestamp, NULL where it is none."""
        ...

    def shifted(self, moment: str, amount: str, unit: str, *, early: bool = False) -> str:
        """Return a timestamp moved by an amount of a unit ('year', 'month', 'day', 'hour', 'minute', 'second').

        `early` says that its day is one that every month has, so that none is too short.
        """
        ...

    def started(self, moment: str, unit: str) -> str:
        """Return the start of a timestamp's 'year', 'month' or 'day'."""
        ...

    def formatted(self, moment: str, letter: str) -> str:
        """Return one strftime field of a timestamp as text.

        Raises:
            Refused: a field without a counterpart.
        """
        ...

    def patterned(self, moment: str, pattern: str) -> str | None:
        """Return a timestamp by a strftime pattern in one call, None where a field or separator needs its own."""
        ...

    def julian(self, moment: str) -> str:
        """Return a timestamp's Julian day number as a double."""
        ...

    def now(self) -> str:
        """Return the current UTC timestamp."""
        ...

    def limited(self, limit: str | None, offset: str | None) -> str:
        """Return the LIMIT clause; a negative or absent limit is none."""
        ...
