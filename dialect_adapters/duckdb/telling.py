"""DuckDB's words for statements of other engines than SQLite."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlassay.dialect_adapters.transpile.regex import Pattern

_FIELDS = frozenset("YymdHIMSjfBbAapw%")
_STEPS = {
    "year": ("TO_MONTHS", 12, "INTEGER"),
    "quarter": ("TO_MONTHS", 3, "INTEGER"),
    "month": ("TO_MONTHS", 1, "INTEGER"),
    "week": ("TO_DAYS", 7, "INTEGER"),
    "day": ("TO_DAYS", 1, "INTEGER"),
    "hour": ("TO_HOURS", 1, "BIGINT"),
    "minute": ("TO_MINUTES", 1, "BIGINT"),
    "second": ("TO_SECONDS", 1, "DOUBLE"),
}


class DuckdbTelling:
    """Written for DuckDB 2, text compared byte by byte."""

    grammar = "duckdb"
    booleans = True
    full_join = True
    ordered_lists = True
    null_words = True
    limit_in = True
    derived_sees_out = True
    trims_letters = True
    counts_from_end = True
    moment_text = True
    joins_by = True
    plain_arms = False
    deviations = True
    folds_all = True
    rollup: str | None = "call"

    def day(self, value: str) -> str:
        """Return the day."""
        return f"CAST({value} AS DATE)"

    def moment(self, value: str) -> str:
        """Return the moment."""
        return f"CAST({value} AS TIMESTAMP)"

    def today(self) -> str:
        """Return today."""
        return f"CAST({self.now()} AS DATE)"

    def now(self) -> str:
        """Return the present moment."""
        return "CAST(now() AT TIME ZONE 'UTC' AS TIMESTAMP)"

    def moved(self, value: str, amount: str, unit: str, *, day: bool) -> str:
        """Return a moved date, which stays within a shorter month by itself."""
        call, times, kind = _STEPS[unit]
        found = f"({self.moment(value)} + {call}(CAST(({amount}) * {times} AS {kind})))"
        return self.day(found) if day else found

    def started(self, value: str, unit: str) -> str:
        """Return the start of a unit."""
        return self.moment(f"DATE_TRUNC('{unit}', {self.moment(value)})")

    def part(self, value: str, name: str) -> str | None:
        """Return a part; a fraction of a second is cut."""
        return f"CAST(FLOOR(EXTRACT({name.upper()} FROM {self.moment(value)})) AS BIGINT)"

    def days(self, one: str, other: str) -> str:
        """Return the days between two days."""
        return f"DATE_DIFF('day', {other}, {one})"

    def seconds(self, one: str, other: str) -> str:
        """Return the seconds between two moments."""
        return f"(DATE_DIFF('microsecond', {other}, {one}) // 1000000)"

    def formatted(self, value: str, pattern: str) -> str | None:
        """Return a moment by a pattern."""
        if any(letter not in _FIELDS for letter in re.findall(r"%(.?)", pattern)):
            return None
        spelled = pattern.replace("'", "''")
        return f"strftime({self.moment(value)}, '{spelled}')"

    def like(self, value: str, pattern: str | None, written: str, *, folded: bool) -> str | None:
        """Return LIKE or ILIKE, which have no escape character unless told."""
        del pattern
        return f"({value} {'ILIKE' if folded else 'LIKE'} {written} ESCAPE '\\')"

    def matches(self, value: str, pattern: Pattern) -> str | None:
        """Return whether a text matches."""
        text = pattern.text.replace("'", "''")
        return f"regexp_matches({value}, '{text}')"

    def whole(self, value: str, *, text: bool) -> str:
        """Return an integer."""
        if text:
            return f"CAST(TRUNC(CAST({value} AS DOUBLE)) AS BIGINT)"
        return f"CAST({self.rounded(value, '0')} AS BIGINT)"

    def evened(self, value: str, digits: int) -> str:
        """Return a double rounded half to even."""
        power = f"CAST(1e{digits} AS DOUBLE)"
        return f"(ROUND_EVEN({self.real(value)} * {power}, 0) / {power})" if digits else f"ROUND_EVEN({value}, 0)"

    def fold(self, value: str, *, upper: bool) -> str:
        """Return a text in one case."""
        return f"{'UPPER' if upper else 'LOWER'}({value})"

    def real(self, value: str) -> str:
        """Return a double."""
        return f"CAST({value} AS DOUBLE)"

    def rounded(self, value: str, digits: str) -> str:
        """Return a rounded number, as the number its digits say."""
        return f"ROUND(CAST({value} AS DECIMAL(38, 15)), CAST({digits} AS INTEGER))"

    def text(self, value: str) -> str:
        """Return text."""
        return f"CAST({value} AS VARCHAR)"

    def concat(self, values: Sequence[str]) -> str:
        """Return joined texts."""
        return f"({' || '.join(values)})"

    def divided(self, one: str, other: str) -> str:
        """Return the whole quotient; / alone is a double's."""
        return f"({one} // NULLIF({other}, 0))"

    def by_code_points(self, value: str) -> str:
        """Return a text as it stands: nothing else compares it here."""
        return value

    def length(self, value: str) -> str:
        """Return a text's length."""
        return f"LENGTH({value})"

    def position(self, value: str, part: str) -> str:
        """Return where a part stands."""
        return f"STRPOS({value}, {part})"

    def ends(self, value: str, count: str, *, left: bool) -> str:
        """Return a text's first or last characters."""
        return f"{'LEFT' if left else 'RIGHT'}({value}, CAST({count} AS BIGINT))"

    def extreme(self, one: str, other: str, *, greatest: bool) -> str:
        """Return the greater or lesser value."""
        return f"{'GREATEST' if greatest else 'LEAST'}({one}, {other})"

    def same(self, one: str, other: str) -> str:
        """Return IS NOT DISTINCT FROM."""
        return f"({one} IS NOT DISTINCT FROM {other})"
