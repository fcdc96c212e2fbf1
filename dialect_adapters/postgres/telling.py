"""Postgres' words for statements of other engines."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlassay.dialect_adapters.transpile.regex import Pattern

_FIELDS = {
    "Y": "YYYY", "y": "YY", "m": "MM", "d": "DD", "H": "HH24", "I": "HH12", "M": "MI", "S": "SS", "j": "DDD",
    "f": "US", "B": "FMMonth", "b": "Mon", "A": "FMDay", "a": "Dy", "p": "AM",
}  # fmt: skip


class PostgresTelling:
    """Written for Postgres 16 and later, text compared byte by byte."""

    grammar = "postgres"
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
        return "CURRENT_DATE"

    def now(self) -> str:
        """Return the present moment."""
        return "LOCALTIMESTAMP"

    def moved(self, value: str, amount: str, unit: str, *, day: bool) -> str:
        """Return a moved date."""
        times, word = (3, "month") if unit == "quarter" else (1, unit)
        found = f"({self.moment(value)} + ({amount} * {times}) * INTERVAL '1 {word}')"
        return self.day(found) if day else found

    def started(self, value: str, unit: str) -> str:
        """Return the start of a unit."""
        return f"DATE_TRUNC('{unit}', {self.moment(value)})"

    def part(self, value: str, name: str) -> str | None:
        """Return a part; a fraction of a second is cut."""
        return f"CAST(FLOOR(EXTRACT({name.upper()} FROM {self.moment(value)})) AS BIGINT)"

    def days(self, one: str, other: str) -> str:
        """Return the days between two days."""
        return f"({one} - {other})"

    def seconds(self, one: str, other: str) -> str:
        """Return the seconds between two moments."""
        return f"CAST(TRUNC(EXTRACT(EPOCH FROM {one} - {other})) AS BIGINT)"

    def formatted(self, value: str, pattern: str) -> str | None:
        """Return a moment by a pattern; every other text is quoted."""
        if any(letter not in _FIELDS for letter in re.findall(r"%(.?)", pattern)):
            return None
        parts = re.split(r"%(.)", pattern)
        spelled = "".join(_FIELDS[part] if at % 2 else _quoted(part) for at, part in enumerate(parts))
        return f"TO_CHAR({self.moment(value)}, '{spelled}')"

    def like(self, value: str, pattern: str | None, written: str, *, folded: bool) -> str | None:
        """Return LIKE or ILIKE."""
        del pattern
        return f"({value} {'ILIKE' if folded else 'LIKE'} {written})"

    def matches(self, value: str, pattern: Pattern) -> str | None:
        """Return whether a text matches."""
        text = pattern.text.replace("(?s:.)", ".").replace(r"\z", "$").replace("'", "''")
        return f"({value} ~ '{text}')"

    def whole(self, value: str, *, text: bool) -> str:
        """Return an integer: a double would round half to even."""
        return f"CAST({value} AS BIGINT)" if text else f"CAST(ROUND(CAST({value} AS NUMERIC)) AS BIGINT)"

    def evened(self, value: str, digits: int) -> str:
        """Return a double rounded half to even, as it is here without digits."""
        if digits == 0:
            return f"ROUND({self.real(value)})"
        return f"(ROUND({self.real(value)} * 1e{digits}) / 1e{digits})"

    def fold(self, value: str, *, upper: bool) -> str:
        """Return a text in one case."""
        return f"{'UPPER' if upper else 'LOWER'}({value})"

    def real(self, value: str) -> str:
        """Return a double."""
        return f"CAST({value} AS DOUBLE PRECISION)"

    def rounded(self, value: str, digits: str) -> str:
        """Return a rounded number."""
        return f"ROUND(CAST({value} AS NUMERIC), {digits})"

    def text(self, value: str) -> str:
        """Return text."""
        return f"CAST({value} AS TEXT)"

    def concat(self, values: Sequence[str]) -> str:
        """Return joined texts."""
        return f"({' || '.join(values)})"

    def divided(self, one: str, other: str) -> str:
        """Return the whole quotient; division by zero is NULL elsewhere."""
        return f"CAST(TRUNC(CAST({one} AS NUMERIC) / NULLIF({other}, 0)) AS BIGINT)"

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
        """Return a text's first or last characters; a negative count would leave some out."""
        return f"{'LEFT' if left else 'RIGHT'}({value}, GREATEST(CAST({count} AS INTEGER), 0))"

    def extreme(self, one: str, other: str, *, greatest: bool) -> str:
        """Return the greater or lesser value."""
        return f"{'GREATEST' if greatest else 'LEAST'}({one}, {other})"

    def same(self, one: str, other: str) -> str:
        """Return IS NOT DISTINCT FROM."""
        return f"({one} IS NOT DISTINCT FROM {other})"


def _quoted(text: str) -> str:
    """Return text between fields as it stands."""
    return re.sub(r"[A-Za-z]+", lambda found: f'"{found[0]}"', text).replace("'", "''")
