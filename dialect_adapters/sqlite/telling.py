"""SQLite's words for statements of other engines: dates are ISO text, truth is a number."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlassay.dialect_adapters.transpile.regex import Pattern

_UNKNOWN = "abs(-9223372036854775807 - 1)"
"""Ends in an error: there is no such number."""

_FIELDS = frozenset("YmdHMSjw%")
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_WHOLE = re.compile(r"-?\d+")


class SqliteTelling:
    """Written for SQLite 3.38 and later."""

    grammar = "sqlite"
    booleans = False
    full_join = True
    ordered_lists = False
    null_words = True
    limit_in = True
    derived_sees_out = True
    trims_letters = True
    counts_from_end = False
    moment_text = True
    joins_by = False
    plain_arms = True
    deviations = False
    folds_all = False
    rollup: str | None = None

    def day(self, value: str) -> str:
        """Return the day."""
        return f"date({value})"

    def moment(self, value: str) -> str:
        """Return the moment."""
        return f"datetime({value})"

    def today(self) -> str:
        """Return today."""
        return "date('now')"

    def now(self) -> str:
        """Return the present moment."""
        return "datetime('now')"

    def moved(self, value: str, amount: str, unit: str, *, day: bool) -> str:
        """Return a moved date: SQLite runs over the end of a shorter month, so the lesser of two ways is taken."""
        call = "date" if day else "datetime"
        if unit not in _MONTHS:
            times, word = (7, "day") if unit == "week" else (1, unit)
            return f"{call}({value}, {_modifier(amount, times, word)})"
        over = f"date({value}, {_modifier(amount, _MONTHS[unit], 'month')})"
        last = f"date({value}, 'start of month', {_modifier(amount, _MONTHS[unit], 'month')}, '+1 month', '-1 day')"
        found = f"min({over}, {last})"
        return found if day else f"({found} || ' ' || time({value}))"

    def started(self, value: str, unit: str) -> str:
        """Return the start of a unit."""
        if unit == "week":
            return f"datetime({value}, 'start of day', '-6 days', 'weekday 1')"
        if unit == "quarter":
            back = f"'-' || ((strftime('%m', {value}) - 1) % 3) || ' months'"
            return f"datetime({value}, 'start of month', {back})"
        if unit in ("year", "month", "day"):
            return f"datetime({value}, 'start of {unit}')"
        shape = {"hour": "%Y-%m-%d %H:00:00", "minute": "%Y-%m-%d %H:%M:00", "second": "%Y-%m-%d %H:%M:%S"}[unit]
        return f"strftime('{shape}', {value})"

    def part(self, value: str, name: str) -> str | None:
        """Return a part."""
        letters = {"year": "Y", "month": "m", "day": "d", "hour": "H", "minute": "M", "second": "S", "doy": "j"}
        letters |= {"dow": "w", "epoch": "s"}
        if name in letters:
            return f"CAST(strftime('%{letters[name]}', {value}) AS INTEGER)"
        written = {
            "quarter": f"((strftime('%m', {value}) + 2) / 3)",
            "isodow": f"((strftime('%w', {value}) + 6) % 7 + 1)",
            "week": f"((strftime('%j', date({value}, '-3 days', 'weekday 4')) - 1) / 7 + 1)",
        }
        return written.get(name)

    def days(self, one: str, other: str) -> str:
        """Return the days between two days."""
        return f"CAST(julianday({one}) - julianday({other}) AS INTEGER)"

    def seconds(self, one: str, other: str) -> str:
        """Return the seconds between two moments."""
        return f"(strftime('%s', {one}) - strftime('%s', {other}))"

    def formatted(self, value: str, pattern: str) -> str | None:
        """Return a moment by a pattern of fields that strftime has here."""
        if any(letter not in _FIELDS for letter in re.findall(r"%(.?)", pattern)):
            return None
        spelled = pattern.replace("'", "''")
        return f"strftime('{spelled}', {value})"

    def like(self, value: str, pattern: str | None, written: str, *, folded: bool) -> str | None:
        """Return LIKE, which folds ASCII here, or GLOB, which does not."""
        if folded:
            return f"({value} LIKE {written} ESCAPE '\\')"
        return None if pattern is None else f"({value} GLOB '{_glob(pattern)}')"

    def matches(self, value: str, pattern: Pattern) -> str | None:
        """Return whether a text matches."""
        if pattern.globs is None:
            return None
        tests = [value + " GLOB '" + one.replace("'", "''") + "'" for one in pattern.globs]
        return f"({' OR '.join(tests)})"

    def whole(self, value: str, *, text: bool) -> str:
        """Return an integer: a cast alone would cut."""
        return f"CAST({value} AS INTEGER)" if text else f"CAST(ROUND({value}) AS INTEGER)"

    def evened(self, value: str, digits: int) -> str:
        """Return a double rounded half to even: a half is told by what is left behind the point."""
        power = f"1e{digits}"
        scaled = f"({value} * {power})" if digits else f"({value})"
        half = f"ABS({scaled} - CAST({scaled} AS INTEGER)) = 0.5"
        found = f"(CASE WHEN {half} THEN 2.0 * ROUND({scaled} / 2.0) ELSE ROUND({scaled}) END)"
        return f"({found} / {power})" if digits else found

    def fold(self, value: str, *, upper: bool) -> str:
        """Return a text in one case; a letter beyond ASCII ends in an error instead of the same letter."""
        call = "UPPER" if upper else "LOWER"
        strange = f"{value} GLOB '*[^' || char(1) || '-' || char(127) || ']*'"
        return f"(CASE WHEN {strange} THEN {_UNKNOWN} ELSE {call}({value}) END)"

    def real(self, value: str) -> str:
        """Return a double."""
        return f"CAST({value} AS REAL)"

    def rounded(self, value: str, digits: str) -> str:
        """Return a rounded number."""
        if not digits.startswith("-"):
            return f"ROUND({value}, {digits})"
        return (
            f"(ROUND(CAST({value} AS REAL) / 1e{digits[1:]}) * 1e{digits[1:]})"  # digits before the point count as none
        )

    def text(self, value: str) -> str:
        """Return text."""
        return f"CAST({value} AS TEXT)"

    def concat(self, values: Sequence[str]) -> str:
        """Return joined texts."""
        return f"({' || '.join(values)})"

    def divided(self, one: str, other: str) -> str:
        """Return the whole quotient."""
        return f"(CAST({one} AS INTEGER) / {other})"

    def by_code_points(self, value: str) -> str:
        """Return a text as it stands: nothing else compares it here."""
        return value

    def length(self, value: str) -> str:
        """Return a text's length."""
        return f"LENGTH({value})"

    def position(self, value: str, part: str) -> str:
        """Return where a part stands."""
        return f"INSTR({value}, {part})"

    def ends(self, value: str, count: str, *, left: bool) -> str:
        """Return a text's first or last characters."""
        if left:
            return f"SUBSTR({value}, 1, {count})"
        none = f"{value} IS NOT NULL AND {count} IS NOT NULL"
        return f"(CASE WHEN {count} > 0 THEN SUBSTR({value}, -({count})) WHEN {none} THEN '' END)"

    def extreme(self, one: str, other: str, *, greatest: bool) -> str:
        """Return the greater or lesser value."""
        return f"{'MAX' if greatest else 'MIN'}({one}, {other})"

    def same(self, one: str, other: str) -> str:
        """Return IS."""
        return f"({one} IS {other})"


def _modifier(amount: str, times: int, unit: str) -> str:
    """Return the modifier that moves a date."""
    if _WHOLE.fullmatch(amount):
        return f"'{int(amount) * times:+d} {unit}s'"
    return f"((({amount}) * {times}) || ' {unit}s')"


def _glob(pattern: str) -> str:
    """Return a pattern of LIKE as one of GLOB; a backslash takes the next character as it is."""
    made: list[str] = []
    letters = iter(pattern)
    for letter in letters:
        if letter in "%_":
            made.append("*" if letter == "%" else "?")
            continue
        plain = next(letters, "\\") if letter == "\\" else letter
        made.append(f"[{plain}]" if plain in "*?[" else plain)
    return "".join(made).replace("'", "''")
