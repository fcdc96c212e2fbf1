"""MySQL's words for statements of other engines."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from sqlassay.dialect_adapters.mysql.spelling import regexp_like
from sqlassay.dialect_adapters.transpile.regex import Pattern

_FIELDS = {
    "Y": "%Y", "y": "%y", "m": "%m", "d": "%d", "H": "%H", "I": "%h", "M": "%i", "S": "%s", "j": "%j", "f": "%f",
    "B": "%M", "b": "%b", "A": "%W", "a": "%a", "p": "%p", "w": "%w", "%": "%%",
}  # fmt: skip
_BIN = "utf8mb4_0900_bin"


class MysqlTelling:
    """Written for MySQL 8 and later, where text compares by code points; retelling sees to that."""

    grammar = "mysql"
    booleans = False
    full_join = False
    ordered_lists = True
    null_words = False
    limit_in = False
    trims_letters = False
    counts_from_end = False
    moment_text = False
    joins_by = True
    plain_arms = False
    deviations = True
    folds_all = True

    def __init__(
        self,
        *,
        derived_sees_out: bool = True,
        rollup: str | None = "behind",
        matching: Callable[[str, str], str] = regexp_like,
    ) -> None:
        """Tell for one server of the family; MariaDB takes ROLLUP without an order alone, and gives other names."""
        self.derived_sees_out = derived_sees_out
        self.rollup = rollup
        self._matching = matching

    def day(self, value: str) -> str:
        """Return the day."""
        return f"CAST({value} AS DATE)"

    def moment(self, value: str) -> str:
        """Return the moment."""
        return f"CAST({value} AS DATETIME(6))"

    def today(self) -> str:
        """Return today."""
        return "CURRENT_DATE"

    def now(self) -> str:
        """Return the present moment."""
        return "CURRENT_TIMESTAMP(6)"

    def moved(self, value: str, amount: str, unit: str, *, day: bool) -> str:
        """Return a moved date, which stays within a shorter month by itself."""
        start = self.day(value) if day else self.moment(value)
        return f"DATE_ADD({start}, INTERVAL ({amount}) {unit.upper()})"

    def started(self, value: str, unit: str) -> str:
        """Return the start of a unit."""
        shapes = {"year": "%Y-01-01", "month": "%Y-%m-01", "day": "%Y-%m-%d", "hour": "%Y-%m-%d %H:00:00"}
        shapes |= {"minute": "%Y-%m-%d %H:%i:00", "second": "%Y-%m-%d %H:%i:%s"}
        if unit in shapes:
            return self.moment(f"DATE_FORMAT({value}, '{shapes[unit]}')")
        if unit == "week":
            return self.moment(f"DATE_SUB({self.day(value)}, INTERVAL WEEKDAY({value}) DAY)")
        return self.moment(f"DATE_ADD(MAKEDATE(YEAR({value}), 1), INTERVAL (QUARTER({value}) - 1) QUARTER)")

    def part(self, value: str, name: str) -> str | None:
        """Return a part."""
        written = {
            "dow": f"(DAYOFWEEK({value}) - 1)",
            "isodow": f"(WEEKDAY({value}) + 1)",
            "doy": f"DAYOFYEAR({value})",
            "week": f"WEEK({value}, 3)",
            "epoch": self.seconds(self.moment(value), "'1970-01-01 00:00:00'"),
        }
        return written.get(name, f"{name.upper()}({value})")

    def days(self, one: str, other: str) -> str:
        """Return the days between two days."""
        return f"DATEDIFF({one}, {other})"

    def seconds(self, one: str, other: str) -> str:
        """Return the seconds between two moments."""
        return f"TIMESTAMPDIFF(SECOND, {other}, {one})"

    def formatted(self, value: str, pattern: str) -> str | None:
        """Return a moment by a pattern."""
        if any(letter not in _FIELDS for letter in re.findall(r"%(.?)", pattern)):
            return None
        spelled = re.sub(r"%(.)", lambda found: _FIELDS[found[1]], pattern).replace("'", "''")
        return f"(DATE_FORMAT({value}, '{spelled}') COLLATE {_BIN})"

    def like(self, value: str, pattern: str | None, written: str, *, folded: bool) -> str | None:
        """Return LIKE, which counts case in this collation."""
        del pattern
        return f"(LOWER({value}) LIKE LOWER({written}))" if folded else f"({value} LIKE {written})"

    def matches(self, value: str, pattern: Pattern) -> str | None:
        """Return whether a text matches."""
        text = pattern.text.replace("\\", "\\\\").replace("'", "''")
        return self._matching(value, f"'{text}'")

    def whole(self, value: str, *, text: bool) -> str:
        """Return an integer: a cast alone rounds a double half to even."""
        return f"CAST({value} AS SIGNED)" if text else f"CAST({self.rounded(value, '0')} AS SIGNED)"

    def evened(self, value: str, digits: int) -> str:
        """Return a double rounded half to even, as it is here."""
        return f"ROUND({self.real(value)}, {digits})"

    def fold(self, value: str, *, upper: bool) -> str:
        """Return a text in one case."""
        return f"{'UPPER' if upper else 'LOWER'}({value})"

    def real(self, value: str) -> str:
        """Return a double."""
        return f"CAST({value} AS DOUBLE)"

    def rounded(self, value: str, digits: str) -> str:
        """Return a rounded number: a decimal rounds half away from zero, a double as its last bit lies."""
        return f"ROUND(CAST({value} AS DECIMAL(65, 20)), {digits})"

    def text(self, value: str) -> str:
        """Return text in the snapshot's collation."""
        return f"(CAST({value} AS CHAR) COLLATE {_BIN})"

    def concat(self, values: Sequence[str]) -> str:
        """Return joined texts."""
        return f"CONCAT({', '.join(values)})"

    def divided(self, one: str, other: str) -> str:
        """Return the whole quotient."""
        return f"({one} DIV {other})"

    def by_code_points(self, value: str) -> str:
        """Return a text under the collation of code points."""
        return f"({value} COLLATE {_BIN})"

    def length(self, value: str) -> str:
        """Return a text's length: LENGTH counts bytes."""
        return f"CHAR_LENGTH({value})"

    def position(self, value: str, part: str) -> str:
        """Return where a part stands."""
        return f"LOCATE({part}, {value})"

    def ends(self, value: str, count: str, *, left: bool) -> str:
        """Return a text's first or last characters."""
        return f"{'LEFT' if left else 'RIGHT'}({value}, {count})"

    def extreme(self, one: str, other: str, *, greatest: bool) -> str:
        """Return the greater or lesser value."""
        return f"{'GREATEST' if greatest else 'LEAST'}({one}, {other})"

    def same(self, one: str, other: str) -> str:
        """Return <=>."""
        return f"({one} <=> {other})"
