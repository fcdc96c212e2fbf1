"""MySQL's words for what a rewritten statement means."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlassay.dialect_adapters.transpile.facts import Form, Refused
from sqlassay.dialect_adapters.transpile.spelling import NUMERAL, in_letters

_FIELDS = {"Y": "%Y", "m": "%m", "d": "%d", "H": "%H", "M": "%i", "S": "%s", "j": "%j", "w": "%w"}
_DAY = "[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
_TIME = "([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]+)?)?"
_ISO = f"^{_DAY}([ T]{_TIME})?Z?$"
_ALL_ROWS = "18446744073709551615"
_ASCII = tuple(zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz", strict=True))


def regexp_like(value: str, pattern: str) -> str:
    """Return the condition that a text matches, upper and lower case apart."""
    return f"REGEXP_LIKE({value}, {pattern}, 'c')"


class MysqlSpelling:
    """Written for MySQL 8 and its family under utf8mb4_0900_bin, where text is compared code point by code point."""

    true_boolean = False
    filter_clause = False
    full_join = False

    def __init__(
        self,
        dialect: str = "mysql",
        matching: Callable[[str, str], str] = regexp_like,
        unescaped: str = "''",
        *,
        derived_sees_out: bool = True,
    ) -> None:
        """Spell for one server of the family.

        `matching` is how it matches a text with a pattern's literal, `unescaped` what LIKE takes for no escape at all.
        """
        self.dialect = dialect
        self._matching = matching
        self._unescaped = unescaped
        self.derived_sees_out = derived_sees_out

    def name(self, identifier: str) -> str:
        """Return an identifier in backticks."""
        return "`" + identifier.replace("`", "``") + "`"

    def by_code_points(self, value: str) -> str:
        """Return a text that compares code point by code point."""
        return f"({value} COLLATE utf8mb4_0900_bin)"

    def literal(self, text: str) -> str:
        """Return a text literal; a backslash is doubled."""
        return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"

    def real(self, value: str) -> str:
        """Return a number as a double."""
        return f"CAST({value} AS DOUBLE)"

    def whole(self, value: str) -> str:
        """Return a number cut to a signed integer: a cast alone would round."""
        return f"CAST(TRUNCATE({value}, 0) AS SIGNED)"

    def text(self, value: str, form: Form) -> str:
        """Return a number's text: SQLite writes a whole real with '.0'."""
        if form is Form.INT:
            return self._char(value)
        plain = self._char(f"CAST({value} AS DOUBLE)")
        whole = self._matching(plain, "'^-?[0-9]+$'")
        return f"(CASE WHEN {whole} THEN CONCAT({plain}, '.0') ELSE {plain} END)"

    @staticmethod
    def _char(value: str) -> str:
        """Return a value's text in the snapshot's collation; a cast alone takes the session's."""
        return f"(CAST({value} AS CHAR) COLLATE utf8mb4_0900_bin)"

    def spelled(self, value: str, *, moment: bool) -> str:
        """Return a date's or timestamp's text, without a fraction of zeros."""
        text = f"CAST({value} AS CHAR)"
        whole = f"TRIM(TRAILING '.000000' FROM {text})" if moment else text
        return f"({whole} COLLATE utf8mb4_0900_bin)"

    def looks(self, value: str) -> str:
        """Return the condition that a text is a numeral."""
        return self._matching(value, self.literal(NUMERAL))

    def numeral(self, value: str) -> str:
        """Return a numeral as a double."""
        return f"({value} + 0.0e0)"

    def prefix(self, value: str) -> str:
        """Return the number a text starts with: what MySQL computes with, too."""
        return f"({value} + 0.0e0)"

    def divided(self, value: str, by: str) -> str:
        """Return the whole quotient; division by zero is NULL already."""
        return f"({value} DIV {by})"

    def bits(self, one: str, operator: str, other: str) -> str:
        """Return the bits of two integers: unsigned here, until they are cast."""
        return f"CAST(({one} {operator} {other}) AS SIGNED)"

    def moved_bits(self, value: str, operator: str, width: int) -> str:
        """Return an integer shifted; to the right, zeros would come in, so it is divided and rounded down."""
        if operator == "<<":
            return f"CAST(({value} << {width}) AS SIGNED)"
        unit = 2**width
        return f"(({value} DIV {unit}) - ({value} < 0 AND {value} % {unit} <> 0))"

    def lower(self, value: str) -> str:
        """Return a text with its ASCII letters lowered."""
        return self._folded(value, [(big, small) for big, small in _ASCII], "LOWER")

    def upper(self, value: str) -> str:
        """Return a text with its ASCII letters raised."""
        return self._folded(value, [(small, big) for big, small in _ASCII], "UPPER")

    @staticmethod
    def _folded(value: str, pairs: Sequence[tuple[str, str]], word: str) -> str:
        """Return a text folded: by the engine where it is all ASCII, letter by letter where the engine knows more."""
        slow = value
        for one, other in pairs:
            slow = f"REPLACE({slow}, '{one}', '{other}')"
        return f"(CASE WHEN LENGTH({value}) = CHAR_LENGTH({value}) THEN {word}({value}) ELSE {slow} END)"

    def like(self, value: str, pattern: str, escape: str | None) -> str:
        """Return LIKE; without an escape the backslash is a character like any other."""
        return f"({value} LIKE {pattern} ESCAPE {escape or self._unescaped})"

    def matches(self, value: str, pattern: str) -> str:
        """Return a regular expression's match."""
        return self._matching(value, self.literal(pattern))

    def concat(self, values: Sequence[str]) -> str:
        """Return texts joined."""
        return f"CONCAT({', '.join(values)})"

    def any_value(self, value: str) -> str:
        """Return some row's value: HAVING takes no ANY_VALUE() of a column that is not given."""
        return f"MAX({value})"

    def first(self, value: str, form: Form, /, keys: Sequence[str]) -> str:
        """Return the value of the first row by the keys: the first part of a list whose parts say if they are NULL."""
        mark = "CHAR(1 USING utf8mb4)"
        part = f"COALESCE(CONCAT('v', {value}), 'n')"
        head = f"SUBSTRING_INDEX(GROUP_CONCAT({part} ORDER BY {', '.join(keys)} SEPARATOR x'01'), {mark}, 1)"
        found = f"IF(LEFT({head}, 1) = 'v', SUBSTRING({head}, 2), NULL)"
        if form is Form.INT:
            return f"CAST({found} AS SIGNED)"
        if form.number:
            return f"CAST({found} AS DOUBLE)"
        return f"({found} COLLATE utf8mb4_0900_bin)"

    def joined(self, value: str, separator: str, *, distinct: bool) -> str:
        """Return a group's texts joined."""
        return f"GROUP_CONCAT({'DISTINCT ' if distinct else ''}{value} SEPARATOR {separator})"

    def sum(self, value: str, form: Form) -> tuple[str, Form]:
        """Return a sum; that of integers is decimal here."""
        if form is Form.INT:
            return f"CAST(SUM({value}) AS SIGNED)", Form.INT
        return f"SUM({self.real(value)})", Form.REAL

    def substring(self, value: str, start: str, length: str | None) -> str:
        """Return substr(); a negative start that lies before the text begins at it in SQLite, and gives '' here."""
        plain = (length is None or length.isdigit()) and start.lstrip("-").isdigit()
        if not plain and length is not None:
            raise Refused("substr() with a computed start or length")
        if plain and not start.startswith("-"):
            if int(start) == 0:
                raise Refused("substr() from 0")
            return f"SUBSTRING({value}, {start}{'' if length is None else f', {length}'})"
        if plain:
            back = f"RIGHT({value}, {start[1:]})"
            if length is None:
                return back
            over = f"GREATEST({start[1:]} - CHAR_LENGTH({value}), 0)"
            return f"LEFT({back}, GREATEST({length} - {over}, 0))"
        return (
            f"(CASE WHEN {start} < 0 THEN RIGHT({value}, -({start})) ELSE SUBSTRING({value}, GREATEST({start}, 1)) END)"
        )

    def length(self, value: str) -> str:
        """Return the number of characters; LENGTH counts bytes here."""
        return f"CHAR_LENGTH({value})"

    def octets(self, value: str) -> str:
        """Return the number of bytes."""
        return f"OCTET_LENGTH({value})"

    def position(self, value: str, part: str) -> str:
        """Return where a part stands."""
        return f"LOCATE({part}, {value})"

    def trimmed(self, value: str, letters: str, side: str) -> str:
        """Return a text trimmed; TRIM takes a whole string away here, so one letter alone is written."""
        if len(letters.strip("'")) > 1:
            raise Refused("trim() of several letters")
        return f"TRIM({side.upper()} {letters} FROM {value})"

    def rounded(self, value: str, digits: str) -> str:
        """Return a double rounded: a decimal rounds half away from zero, a double as its last bit lies."""
        return f"CAST(ROUND(CAST({value} AS DECIMAL(65, 20)), {digits}) AS DOUBLE)"

    def extreme(self, values: Sequence[str], *, greatest: bool) -> str:
        """Return the extreme; NULL where one is NULL, here too."""
        return f"{'GREATEST' if greatest else 'LEAST'}({', '.join(values)})"

    def ordered(self, value: str, *, descending: bool, nulls_first: bool) -> str:
        """Return a sort key; NULLs come first ascending and last descending by themselves."""
        key = f"{value} {'DESC' if descending else 'ASC'}"
        if nulls_first is not descending:
            return key
        return f"{value} IS NULL {'DESC' if nulls_first else 'ASC'}, {key}"

    def is_same(self, one: str, other: str, *, negated: bool) -> str:
        """Return <=> or its opposite."""
        return f"(NOT ({one} <=> {other}))" if negated else f"({one} <=> {other})"

    def moment(self, value: str) -> str:
        """Return an ISO text as a timestamp, NULL for other texts."""
        text = f"TRIM(TRAILING 'Z' FROM {value})"
        dated = self._matching(value, f"'{_ISO}'")
        return f"(CASE WHEN {dated} THEN CAST({text} AS DATETIME(6)) END)"

    def shifted(self, moment: str, amount: str, unit: str, *, early: bool = False) -> str:
        """Return a moved timestamp; a month too short runs over into the next, as in SQLite."""
        if unit in ("month", "year"):
            if early:
                return f"DATE_ADD({moment}, INTERVAL ({amount}) {unit.upper()})"
            first = f"CAST(DATE_FORMAT({moment}, '%Y-%m-01 %H:%i:%s.%f') AS DATETIME(6))"
            moved = f"DATE_ADD({first}, INTERVAL ({amount}) {unit.upper()})"
            return f"DATE_ADD({moved}, INTERVAL (DAYOFMONTH({moment}) - 1) DAY)"
        if unit == "second":
            return f"DATE_ADD({moment}, INTERVAL ({amount}) SECOND)"
        seconds = {"day": 86_400, "hour": 3_600, "minute": 60}[unit]
        return f"DATE_ADD({moment}, INTERVAL (({amount}) * {seconds}) SECOND)"

    def started(self, moment: str, unit: str) -> str:
        """Return the start of a unit."""
        shape = {"year": "%Y-01-01", "month": "%Y-%m-01", "day": "%Y-%m-%d"}[unit]
        return f"CAST(DATE_FORMAT({moment}, '{shape}') AS DATETIME(6))"

    def formatted(self, moment: str, letter: str) -> str:
        """Return one field as text."""
        special = {
            "f": f"SUBSTRING(DATE_FORMAT({moment}, '%s.%f'), 1, 6)",
            "s": self._char(f"TIMESTAMPDIFF(SECOND, '1970-01-01', {moment})"),
            "J": self.text(self.julian(moment), Form.REAL),
            "W": f"LPAD((DAYOFYEAR({moment}) + 6 - WEEKDAY({moment})) DIV 7, 2, '0')",
        }
        if letter not in special and letter not in _FIELDS:
            raise Refused(f"strftime field %{letter}")
        found = special.get(letter) or f"DATE_FORMAT({moment}, '{_FIELDS[letter]}')"
        return f"({found} COLLATE utf8mb4_0900_bin)"

    def patterned(self, moment: str, pattern: str) -> str | None:
        """Return a whole pattern by DATE_FORMAT."""
        letters = in_letters(pattern, _FIELDS)
        return None if letters is None else f"(DATE_FORMAT({moment}, '{letters}') COLLATE utf8mb4_0900_bin)"

    def julian(self, moment: str) -> str:
        """Return the Julian day number, counted from noon."""
        micros = f"TIMESTAMPDIFF(MICROSECOND, '1970-01-01', {moment})"
        return f"({micros} / 86400000000.0e0 + 2440587.5e0)"

    def now(self) -> str:
        """Return the current UTC timestamp."""
        return "UTC_TIMESTAMP()"

    def limited(self, limit: str | None, offset: str | None) -> str:
        """Return LIMIT and OFFSET, which cannot stand alone here."""
        if limit is None or limit.startswith("-"):
            limit = _ALL_ROWS if offset is not None else None
        if limit is None:
            return ""
        return f" LIMIT {limit}{'' if offset is None else f' OFFSET {offset}'}"
