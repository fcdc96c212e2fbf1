"""What an engine whose statements are retold says of itself, and the words of an engine they are retold for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from sqlassay.dialect_adapters.transpile.regex import Pattern


@dataclass(frozen=True, slots=True)
class Habits:
    """How the source engine means what every engine writes alike.

    `whole_division`: an integer by an integer is whole. `days_between`: one date minus another is a number of days.
    `skips_nulls`: CONCAT leaves NULL out. `trims_letters`: TRIM takes any of several letters, else the text they make.
    `counts_from_end`: LEFT and RIGHT of a negative number leave so many characters out, else they give none.
    `iso_weeks`: the week of EXTRACT is ISO's. `truth_words`: truth is 'true' as text, else a number.
    `matches_letters`: a regular expression counts case and is of the kind that `regex` reads.
    `grammar`: sqlglot's name of its grammar.
    """

    grammar: str
    whole_division: bool
    days_between: bool
    skips_nulls: bool
    trims_letters: bool
    counts_from_end: bool
    iso_weeks: bool
    truth_words: bool
    matches_letters: bool = False


@runtime_checkable
class Retold(Protocol):
    """An adapter whose statements sqlglot reads, to be retold for other engines by their types."""

    @property
    def habits(self) -> Habits:
        """Return how its engine means things."""
        ...


class Telling(Protocol):
    """One target's own words. Every argument is an expression's text that may stand anywhere an operand may.

    A moment is a timestamp without a zone. Units are year, quarter, month, week, day, hour, minute and second.
    """

    grammar: str
    booleans: bool
    """Whether truth has a type of its own, which is no number."""
    full_join: bool
    ordered_lists: bool
    """Whether a joined list of texts takes an order."""
    null_words: bool
    """Whether NULLS FIRST and LAST can be said; else NULL is the least of all values."""
    limit_in: bool
    """Whether IN takes a subquery with LIMIT."""
    derived_sees_out: bool
    """Whether a derived table may name columns of a query around its own."""
    trims_letters: bool
    """Whether TRIM takes any of several letters."""
    counts_from_end: bool
    """Whether LEFT and RIGHT of a negative number leave so many characters out."""
    moment_text: bool
    """Whether a moment's text has as many digits of a second as it needs."""
    joins_by: bool
    """Whether there is CONCAT_WS."""
    plain_arms: bool
    """Whether a set operation takes arms without parentheses alone, from left to right, and no ALL but UNION's."""
    deviations: bool
    """Whether there are STDDEV_SAMP and its kin."""
    rollup: str | None
    """How ROLLUP is said, `call` (ROLLUP(a, b)) or `behind` (a, b WITH ROLLUP); None where there is none."""
    folds_all: bool
    """Whether LOWER and UPPER know letters beyond ASCII."""

    def day(self, value: str) -> str:
        """Return the day of a date, moment or ISO text."""
        ...

    def moment(self, value: str) -> str:
        """Return the moment of a date, moment or ISO text."""
        ...

    def today(self) -> str:
        """Return the current day."""
        ...

    def now(self) -> str:
        """Return the current moment."""
        ...

    def moved(self, value: str, amount: str, unit: str, *, day: bool) -> str:
        """Return a date or moment moved by a whole number of units, cut to the end of a shorter month.

        `day` asks for a date; else a moment comes back.
        """
        ...

    def started(self, value: str, unit: str) -> str:
        """Return the moment at which a unit began; weeks begin on Monday."""
        ...

    def part(self, value: str, name: str) -> str | None:
        """Return a part as an integer: a unit, dow (Sunday 0), isodow (Monday 1), doy or epoch; week is ISO's."""
        ...

    def days(self, one: str, other: str) -> str:
        """Return the days from the other date to the one, as an integer."""
        ...

    def seconds(self, one: str, other: str) -> str:
        """Return the whole seconds from the other moment to the one."""
        ...

    def formatted(self, value: str, pattern: str) -> str | None:
        """Return a moment by a strftime pattern, None where it has a field that this engine does not write."""
        ...

    def like(self, value: str, pattern: str | None, written: str, *, folded: bool) -> str | None:
        """Return LIKE with case counting, or not (`folded`), and the backslash as its escape.

        `pattern` is the pattern where it is a constant, `written` its expression. None: it cannot be said.
        """
        ...

    def matches(self, value: str, pattern: Pattern) -> str | None:
        """Return whether a text matches, case counting; None: it cannot be said."""
        ...

    def whole(self, value: str, *, text: bool) -> str:
        """Return an exact number rounded half away from zero to an integer, or the integer a text starts with."""
        ...

    def evened(self, value: str, digits: int) -> str:
        """Return a double rounded half to even, at so many digits behind the point."""
        ...

    def fold(self, value: str, *, upper: bool) -> str:
        """Return a text in one case; where letters beyond ASCII are not known, a text with any is an error."""
        ...

    def real(self, value: str) -> str:
        """Return a number as a double."""
        ...

    def rounded(self, value: str, digits: str) -> str:
        """Return an exact number rounded half away from zero; the digits are an integer constant."""
        ...

    def text(self, value: str) -> str:
        """Return a value as text."""
        ...

    def concat(self, values: Sequence[str]) -> str:
        """Return texts one behind the other, NULL where one is."""
        ...

    def divided(self, one: str, other: str) -> str:
        """Return the whole quotient of two integers, cut towards zero."""
        ...

    def by_code_points(self, value: str) -> str:
        """Return a text that compares code point by code point, whatever the database's collation."""
        ...

    def length(self, value: str) -> str:
        """Return a text's characters."""
        ...

    def position(self, value: str, part: str) -> str:
        """Return where a part stands in a text, from 1, 0 where nowhere."""
        ...

    def ends(self, value: str, count: str, *, left: bool) -> str:
        """Return a text's first or last characters."""
        ...

    def extreme(self, one: str, other: str, *, greatest: bool) -> str:
        """Return the greater or lesser of two values that are not NULL."""
        ...

    def same(self, one: str, other: str) -> str:
        """Return whether two values are the same, NULLs too."""
        ...


@runtime_checkable
class Tells(Protocol):
    """An adapter for which statements of other engines can be retold."""

    @property
    def telling(self) -> Telling:
        """Return its engine's own words."""
        ...
