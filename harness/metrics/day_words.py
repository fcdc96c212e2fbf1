"""The ways a sentence names a day: ISO, with the month in words, or in numbers where those cannot mean another day."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime

_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september", "october"),
    *("november", "december"),
)
_SHORTEST_DAY, _LONGEST_TEXT = len("2024-01-31"), len("2024-01-31 00:00:00.000000+00:00")


def day_of(cell: object) -> date | None:
    """Return the day a cell stands for, also where an engine without dates keeps it as ISO text; None of any other."""
    if isinstance(cell, date):
        return cell.date() if isinstance(cell, datetime) else cell
    if isinstance(cell, str) and _SHORTEST_DAY <= len(cell) <= _LONGEST_TEXT and cell[4:5] == cell[7:8] == "-":
        try:
            return datetime.fromisoformat(cell).date()
        except ValueError:
            return None
    return None


def days(day: date) -> Iterator[str]:
    """Yield the spellings of a day, lower-cased, with single spaces."""
    yield day.isoformat()
    yield f"{day.year}/{day.month:02}/{day.day:02}"
    name = _MONTHS[day.month - 1]
    number = f"{day.day}{_ending(day.day)}"
    short = (name[:3], "sept") if day.month == 9 else (name[:3],)
    for month in dict.fromkeys((name, *short, *(f"{each}." for each in short))):
        for said in (str(day.day), f"{day.day:02}", number):
            yield from (f"{month} {said}, {day.year}", f"{month} {said} {day.year}")
            yield from (f"{said} {month} {day.year}", f"{said} {month}, {day.year}", f"{said} of {month} {day.year}")
            yield f"{said} of {month}, {day.year}"
            yield f"the {said} of {month} {day.year}"
        yield f"{day.day:02}-{month}-{day.year}"
    yield from (f"{day.day:02}.{day.month:02}.{day.year}", f"{day.day}.{day.month}.{day.year}")
    if day.day > 12 or day.day == day.month:
        for one, other in ((day.day, day.month), (day.month, day.day)):
            yield from (f"{one:02}/{other:02}/{day.year}", f"{one}/{other}/{day.year}")


def _ending(day: int) -> str:
    """Return how the ordinal number of a day ends."""
    return "th" if 10 < day < 20 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
