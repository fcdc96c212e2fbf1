"""Postgres' words for what a rewritten statement means."""

from __future__ import annotations

from collections.abc import Sequence

from sqlassay.dialect_adapters.transpile.facts import Form, Refused
from sqlassay.dialect_adapters.transpile.spelling import NUMERAL, PREFIX, in_letters

_FIELDS = {
    "Y": "YYYY",
    "m": "MM",
    "d": "DD",
    "H": "HH24",
    "M": "MI",
    "S": "SS",
    "j": "DDD",
    "f": "SS.MS",
    "w": "",
    "s": "",
    "W": "",
    "J": "",
}


class PostgresSpelling:
    """Written for Postgres 16 and later, names lower-cased and text compared byte by byte, as our loader has them."""

    dialect = "postgres"
    true_boolean = True
    filter_clause = True
    full_join = True
    derived_sees_out = True

    def name(self, identifier: str) -> str:
        """Return an identifier in double quotes; the loader lower-cased every name."""
        return '"' + identifier.lower().replace('"', '""') + '"'

    def by_code_points(self, value: str) -> str:
        """Return a text that compares code point by code point."""
        return value

    def literal(self, text: str) -> str:
        """Return a text literal; a backslash is a backslash (standard_conforming_strings)."""
        return "'" + text.replace("'", "''") + "'"

    def real(self, value: str) -> str:
        """Return a number as a double."""
        return f"CAST({value} AS DOUBLE PRECISION)"

    def whole(self, value: str) -> str:
        """Return a number cut to a bigint: a cast alone would round."""
        return f"CAST(TRUNC({value}) AS BIGINT)"

    def text(self, value: str, form: Form) -> str:
        """Return a number's text: SQLite writes a whole real with '.0'."""
        if form is Form.INT:
            return f"CAST({value} AS TEXT)"
        plain = f"CAST(CAST({value} AS DOUBLE PRECISION) AS TEXT)"
        return f"CASE WHEN {plain} ~ '^-?[0-9]+$' THEN {plain} || '.0' ELSE {plain} END"

    def spelled(self, value: str, *, moment: bool) -> str:
        """Return a date's or timestamp's text; a cast alone leaves zeros of a fraction away."""
        if not moment:
            return f"CAST({value} AS TEXT)"
        whole = f"to_char({value}, 'YYYY-MM-DD HH24:MI:SS')"
        return f"(CASE WHEN date_trunc('second', {value}) = {value} THEN {whole} ELSE {self._micros(value)} END)"

    @staticmethod
    def _micros(value: str) -> str:
        """Return a timestamp's text with its microseconds."""
        return f"to_char({value}, 'YYYY-MM-DD HH24:MI:SS.US')"

    def looks(self, value: str) -> str:
        """Return the condition that a text is a numeral."""
        return f"({value} ~ '{NUMERAL}')"

    def numeral(self, value: str) -> str:
        """Return a numeral as a double; CASE keeps the cast from being tried on other texts."""
        return f"CAST({value} AS DOUBLE PRECISION)"

    def prefix(self, value: str) -> str:
        """Return the number a text starts with."""
        found = f"(regexp_match({value}, '{PREFIX}'))"
        whole = f"substring({value} from '{PREFIX.replace('(', '(?:').replace('^', '^(', 1)})')"
        number = f"CAST({whole} AS DOUBLE PRECISION)"
        return f"(CASE WHEN {value} IS NULL THEN NULL WHEN {found} IS NULL THEN 0 ELSE {number} END)"

    def divided(self, value: str, by: str) -> str:
        """Return the whole quotient."""
        return f"({value} / NULLIF({by}, 0))"

    def bits(self, one: str, operator: str, other: str) -> str:
        """Return the bits of two integers."""
        return f"({one} {operator} {other})"

    def moved_bits(self, value: str, operator: str, width: int) -> str:
        """Return an integer shifted; the width is an integer, not a bigint."""
        return f"(CAST({value} AS BIGINT) {operator} {width})"

    def lower(self, value: str) -> str:
        """Return a text with its ASCII letters lowered: the collation C knows no others."""
        return f'LOWER({value} COLLATE "C")'

    def upper(self, value: str) -> str:
        """Return a text with its ASCII letters raised."""
        return f'UPPER({value} COLLATE "C")'

    def like(self, value: str, pattern: str, escape: str | None) -> str:
        """Return LIKE; an empty escape switches the backslash off."""
        return f"({value} LIKE {pattern} ESCAPE {escape or self.literal('')})"

    def matches(self, value: str, pattern: str) -> str:
        """Return a regular expression's match."""
        return f"({value} ~ {self.literal(pattern)})"

    def concat(self, values: Sequence[str]) -> str:
        """Return texts joined; || gives NULL where one is NULL."""
        return f"({' || '.join(values)})"

    def any_value(self, value: str) -> str:
        """Return some row's value; ANY_VALUE() came with Postgres 16."""
        return f"(ARRAY_AGG({value}))[1]"

    def first(self, value: str, _form: Form, /, keys: Sequence[str]) -> str:
        """Return the value of the first row by the keys."""
        return f"(ARRAY_AGG({value} ORDER BY {', '.join(keys)}))[1]"

    def joined(self, value: str, separator: str, *, distinct: bool) -> str:
        """Return a group's texts joined."""
        return f"STRING_AGG({'DISTINCT ' if distinct else ''}{value}, {separator})"

    def sum(self, value: str, form: Form) -> tuple[str, Form]:
        """Return a sum; that of bigints is numeric here."""
        if form is Form.INT:
            return f"CAST(SUM({value}) AS BIGINT)", Form.INT
        return f"SUM({self.real(value)})", Form.REAL

    def substring(self, value: str, start: str, length: str | None) -> str:
        """Return substr() with a start that is not negative; one that may be is written out."""
        begin = f"CAST({start} AS INTEGER)"
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
        """Return the number of bytes."""
        return f"OCTET_LENGTH({value})"

    def position(self, value: str, part: str) -> str:
        """Return where a part stands."""
        return f"STRPOS({value}, {part})"

    def trimmed(self, value: str, letters: str, side: str) -> str:
        """Return a text trimmed of any of these letters."""
        return f"TRIM({side.upper()} {letters} FROM {value})"

    def rounded(self, value: str, digits: str) -> str:
        """Return a double rounded: only numeric rounds to digits, and half away from zero."""
        return f"CAST(ROUND(CAST({value} AS NUMERIC), CAST({digits} AS INTEGER)) AS DOUBLE PRECISION)"

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
        return f"(CASE WHEN {value} ~ '{shape}' THEN CAST(RTRIM({value}, 'Z') AS TIMESTAMP) END)"

    def shifted(self, moment: str, amount: str, unit: str, *, early: bool = False) -> str:
        """Return a moved timestamp; a month too short runs over into the next, as in SQLite."""
        if unit in ("month", "year") and not early:
            first = f"""CAST(TO_CHAR({moment}, 'YYYY-MM-"01" HH24:MI:SS.US') AS TIMESTAMP)"""
            days = f"(EXTRACT(DAY FROM {moment}) - 1) * INTERVAL '1 day'"
            return f"({first} + ({amount}) * INTERVAL '1 {unit}' + {days})"
        return f"({moment} + ({amount}) * INTERVAL '1 {unit}')"

    def started(self, moment: str, unit: str) -> str:
        """Return the start of a unit."""
        return f"DATE_TRUNC('{unit}', {moment})"

    def formatted(self, moment: str, letter: str) -> str:
        """Return one field as text."""
        special = {
            "w": f"CAST(CAST(EXTRACT(DOW FROM {moment}) AS INTEGER) AS TEXT)",
            "s": f"CAST(CAST(EXTRACT(EPOCH FROM {moment}) AS BIGINT) AS TEXT)",
            "J": self.text(self.julian(moment), Form.REAL),
            "W": (
                f"LPAD(CAST((CAST(EXTRACT(DOY FROM {moment}) AS INTEGER) + 6 "
                f"- (CAST(EXTRACT(DOW FROM {moment}) AS INTEGER) + 6) % 7) / 7 AS TEXT), 2, '0')"
            ),
        }
        if letter in special:
            return special[letter]
        if letter not in _FIELDS:
            raise Refused(f"strftime field %{letter}")
        return f"TO_CHAR({moment}, '{_FIELDS[letter]}')"

    def patterned(self, moment: str, pattern: str) -> str | None:
        """Return a whole pattern by TO_CHAR."""
        letters = in_letters(pattern, _FIELDS)
        return None if letters is None else f"TO_CHAR({moment}, '{letters}')"

    def julian(self, moment: str) -> str:
        """Return the Julian day number, counted from noon."""
        return f"(CAST(EXTRACT(EPOCH FROM {moment}) AS DOUBLE PRECISION) / 86400.0 + 2440587.5)"

    def now(self) -> str:
        """Return the current UTC timestamp."""
        return "CAST(CURRENT_TIMESTAMP AT TIME ZONE 'UTC' AS TIMESTAMP)"

    def limited(self, limit: str | None, offset: str | None) -> str:
        """Return LIMIT and OFFSET."""
        parts = [f" LIMIT {limit}"] if limit is not None and not limit.startswith("-") else []
        return "".join([*parts, *([f" OFFSET {offset}"] if offset is not None else [])])
