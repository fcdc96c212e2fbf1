"""DuckDB's words for what a rewritten statement means."""

from __future__ import annotations

import string
from collections.abc import Sequence

from sqlassay.dialect_adapters.transpile.facts import Form, Refused
from sqlassay.dialect_adapters.transpile.spelling import NUMERAL, PREFIX, in_letters

_FIELDS = {"Y": "%Y", "m": "%m", "d": "%d", "H": "%H", "M": "%M", "S": "%S", "j": "%j", "f": "%S.%g"}
_EXACT = "DECIMAL(38,15)"
"""Holds every double that SQLite would round to digits: 15 of them, behind at most 23 before the point."""


class DuckdbSpelling:
    """Written for DuckDB 2, names as the loader kept them and text compared byte by byte."""

    dialect = "duckdb"
    true_boolean = True
    filter_clause = True
    full_join = True
    derived_sees_out = True

    def name(self, identifier: str) -> str:
        """Return an identifier in double quotes."""
        return '"' + identifier.replace('"', '""') + '"'

    def by_code_points(self, value: str) -> str:
        """Return a text that compares code point by code point."""
        return value

    def literal(self, text: str) -> str:
        """Return a text literal; a backslash is a backslash."""
        return "'" + text.replace("'", "''") + "'"

    def real(self, value: str) -> str:
        """Return a number as a double."""
        return f"CAST({value} AS DOUBLE)"

    def whole(self, value: str) -> str:
        """Return a number cut to a bigint: a cast alone would round."""
        return f"CAST(TRUNC({value}) AS BIGINT)"

    def text(self, value: str, form: Form) -> str:
        """Return a number's text: a whole double has its '.0' here too."""
        return f"CAST({value} AS VARCHAR)" if form is Form.INT else f"CAST({self.real(value)} AS VARCHAR)"

    def spelled(self, value: str, *, moment: bool) -> str:
        """Return a date's or timestamp's text; a cast alone leaves zeros of a fraction away."""
        if not moment:
            return f"CAST({value} AS VARCHAR)"
        whole, micros = (f"strftime({value}, '%Y-%m-%d %H:%M:%S{end}')" for end in ("", ".%f"))
        return f"(CASE WHEN date_trunc('second', {value}) = {value} THEN {whole} ELSE {micros} END)"

    def looks(self, value: str) -> str:
        """Return the condition that a text is a numeral."""
        return f"regexp_matches({value}, '{NUMERAL}')"

    def numeral(self, value: str) -> str:
        """Return a numeral as a double; the blanks around it are no part of a number here."""
        return (
            f"TRY_CAST(ltrim(trim({value}, ' ' || chr(9) || chr(10) || chr(11) || chr(12) || chr(13)), '+') AS DOUBLE)"
        )

    def prefix(self, value: str) -> str:
        """Return the number a text starts with."""
        found = f"regexp_extract({value}, '{PREFIX}')"
        return f"(CASE WHEN {value} IS NULL THEN NULL WHEN {found} = '' THEN 0 ELSE {self.numeral(found)} END)"

    def divided(self, value: str, by: str) -> str:
        """Return the whole quotient; / alone is a double's."""
        return f"({value} // NULLIF({by}, 0))"

    def bits(self, one: str, operator: str, other: str) -> str:
        """Return the bits of two integers."""
        return f"({one} {operator} {other})"

    def moved_bits(self, value: str, operator: str, width: int) -> str:
        """Return an integer shifted: to the right by its floor, to the left as a product, which may not overflow."""
        power = 2**width
        if operator == ">>":
            return f"CAST(FLOOR(CAST({value} AS BIGINT) / CAST({power} AS DOUBLE)) AS BIGINT)"
        return f"(CAST({value} AS BIGINT) * {power})"

    def lower(self, value: str) -> str:
        """Return a text with its ASCII letters lowered."""
        return f"translate({value}, '{string.ascii_uppercase}', '{string.ascii_lowercase}')"

    def upper(self, value: str) -> str:
        """Return a text with its ASCII letters raised."""
        return f"translate({value}, '{string.ascii_lowercase}', '{string.ascii_uppercase}')"

    def like(self, value: str, pattern: str, escape: str | None) -> str:
        """Return LIKE, which has no escape character unless told."""
        return f"({value} LIKE {pattern}{f' ESCAPE {escape}' if escape else ''})"

    def matches(self, value: str, pattern: str) -> str:
        """Return a regular expression's match."""
        return f"regexp_matches({value}, {self.literal(pattern)})"

    def concat(self, values: Sequence[str]) -> str:
        """Return texts joined; || gives NULL where one is NULL."""
        return f"({' || '.join(values)})"

    def any_value(self, value: str) -> str:
        """Return some row's value."""
        return f"ANY_VALUE({value})"

    def first(self, value: str, _form: Form, /, keys: Sequence[str]) -> str:
        """Return the value of the first row by the keys, NULL where it is NULL."""
        return f"FIRST({value} ORDER BY {', '.join(keys)})"

    def joined(self, value: str, separator: str, *, distinct: bool) -> str:
        """Return a group's texts joined."""
        return f"STRING_AGG({'DISTINCT ' if distinct else ''}{value}, {separator})"

    def sum(self, value: str, form: Form) -> tuple[str, Form]:
        """Return a sum; that of bigints is wider here."""
        if form is Form.INT:
            return f"CAST(SUM({value}) AS BIGINT)", Form.INT
        return f"SUM({self.real(value)})", Form.REAL

    def substring(self, value: str, start: str, length: str | None) -> str:
        """Return substr() with a start that is not negative; one that may be is written out."""
        begin = f"CAST({start} AS BIGINT)"
        if start.isdigit() and int(start) > 0 and (length is None or length.isdigit()):
            return f"SUBSTR({value}, {start}{'' if length is None else f', {length}'})"
        if start.startswith("-") and start[1:].isdigit() and (length is None or length.isdigit()):
            back = f"RIGHT({value}, {start[1:]})"
            if length is None:
                return back
            over = f"GREATEST({start[1:]} - LENGTH({value}), 0)"
            return f"LEFT({back}, GREATEST({length} - {over}, 0))"
        if length is None:
            return f"(CASE WHEN {begin} < 0 THEN RIGHT({value}, -{begin}) ELSE SUBSTR({value}, {begin}) END)"
        raise Refused("substr() with a computed or negative length")

    def length(self, value: str) -> str:
        """Return the number of characters."""
        return f"LENGTH({value})"

    def octets(self, value: str) -> str:
        """Return the number of bytes; OCTET_LENGTH takes no text here."""
        return f"STRLEN({value})"

    def position(self, value: str, part: str) -> str:
        """Return where a part stands."""
        return f"STRPOS({value}, {part})"

    def trimmed(self, value: str, letters: str, side: str) -> str:
        """Return a text trimmed of any of these letters."""
        word = {"leading": "LTRIM", "trailing": "RTRIM", "both": "TRIM"}[side]
        return f"{word}({value}, {letters})"

    def rounded(self, value: str, digits: str) -> str:
        """Return a double rounded, as the number its digits say; one too large for that is whole already."""
        exact = f"CAST(ROUND(CAST({value} AS {_EXACT}), CAST({digits} AS INTEGER)) AS DOUBLE)"
        return f"(CASE WHEN ABS({value}) < 1e15 THEN {exact} ELSE {self.real(value)} END)"

    def extreme(self, values: Sequence[str], *, greatest: bool) -> str:
        """Return the extreme; GREATEST and LEAST leave NULLs out here."""
        word = "GREATEST" if greatest else "LEAST"
        missing = " OR ".join(f"{value} IS NULL" for value in values)
        return f"(CASE WHEN {missing} THEN NULL ELSE {word}({', '.join(values)}) END)"

    def ordered(self, value: str, *, descending: bool, nulls_first: bool) -> str:
        """Return a sort key."""
        return f"{value} {'DESC' if descending else 'ASC'} NULLS {'FIRST' if nulls_first else 'LAST'}"

    def is_same(self, one: str, other: str, *, negated: bool) -> str:
        """Return IS [NOT] DISTINCT FROM."""
        return f"({one} IS {'' if negated else 'NOT '}DISTINCT FROM {other})"

    def moment(self, value: str) -> str:
        """Return an ISO text as a timestamp, NULL for other texts and days that no calendar has."""
        shape = r"^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])([ T]([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d+)?)?)?Z?$"
        return f"(CASE WHEN regexp_matches({value}, '{shape}') THEN TRY_CAST(RTRIM({value}, 'Z') AS TIMESTAMP) END)"

    def shifted(self, moment: str, amount: str, unit: str, *, early: bool = False) -> str:
        """Return a moved timestamp; a month too short runs over into the next, as in SQLite."""
        if unit in ("month", "year"):
            months = amount if unit == "month" else f"(12 * ({amount}))"
            if early:
                return f"({moment} + TO_MONTHS(CAST({months} AS INTEGER)))"
            first = f"CAST(strftime({moment}, '%Y-%m-01 %H:%M:%S.%f') AS TIMESTAMP)"
            return f"({first} + TO_MONTHS(CAST({months} AS INTEGER)) + TO_DAYS(CAST(DAY({moment}) - 1 AS INTEGER)))"
        seconds = {"day": 86400, "hour": 3600, "minute": 60, "second": 1}[unit]
        return f"({moment} + TO_MICROSECONDS(CAST(CAST({amount} AS DOUBLE) * {seconds * 1_000_000} AS BIGINT)))"

    def started(self, moment: str, unit: str) -> str:
        """Return the start of a unit."""
        return f"DATE_TRUNC('{unit}', {moment})"

    def formatted(self, moment: str, letter: str) -> str:
        """Return one field as text."""
        special = {
            "w": f"CAST(EXTRACT(DOW FROM {moment}) AS VARCHAR)",
            "s": f"CAST(CAST(FLOOR(EXTRACT(EPOCH FROM {moment})) AS BIGINT) AS VARCHAR)",
            "J": self.text(self.julian(moment), Form.REAL),
            "W": (
                f"LPAD(CAST((EXTRACT(DOY FROM {moment}) + 6 - (EXTRACT(DOW FROM {moment}) + 6) % 7) // 7 AS VARCHAR), "
                "2, '0')"
            ),
        }
        if letter in special:
            return special[letter]
        if letter not in _FIELDS:
            raise Refused(f"strftime field %{letter}")
        return f"strftime({moment}, '{_FIELDS[letter]}')"

    def patterned(self, moment: str, pattern: str) -> str | None:
        """Return a whole pattern by strftime()."""
        letters = in_letters(pattern, _FIELDS)
        return None if letters is None else f"strftime({moment}, '{letters}')"

    def julian(self, moment: str) -> str:
        """Return the Julian day number, counted from noon."""
        return f"(CAST(EXTRACT(EPOCH FROM {moment}) AS DOUBLE) / 86400.0 + 2440587.5)"

    def now(self) -> str:
        """Return the current UTC timestamp."""
        return "CAST(now() AT TIME ZONE 'UTC' AS TIMESTAMP)"

    def limited(self, limit: str | None, offset: str | None) -> str:
        """Return LIMIT and OFFSET."""
        parts = [f" LIMIT {limit}"] if limit is not None and not limit.startswith("-") else []
        return "".join([*parts, *([f" OFFSET {offset}"] if offset is not None else [])])
