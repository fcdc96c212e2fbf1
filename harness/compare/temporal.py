"""Dates, times and durations as whole microseconds, and the ISO texts engines without such types keep them as."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import lru_cache
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from sqlassay.cases.errors import InputError
from sqlassay.cases.relation import Interval

Atom = tuple[object, ...]

_EPOCH = datetime(1, 1, 1)  # noqa: DTZ001 (a naive origin: both ends of the subtraction are naive)
_MICRO = timedelta(microseconds=1)
_DAY = 86_400_000_000
_PRECISION = {"us": 1, "ms": 1_000, "s": 1_000_000}
_CYCLE_YEARS, _CYCLE = 400, 146_097 * _DAY  # the calendar repeats, days of the week included
_LAST_WALL = (date.max.toordinal() - 400) * _DAY
_CLOCK = r"(?P<hour>\d{1,6}):(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d)(?P<fraction>\.\d{1,9})?)?"
_STAMP = re.compile(
    r"(?P<day>\d{4}-\d{2}-\d{2})"
    r"(?:[T ](?P<clock>\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?) ?(?P<zone>Z|[+-]\d{2}(?::?\d{2})?)?)?",
    re.IGNORECASE | re.ASCII,
)
_FAR_STAMP = re.compile(
    r"(?P<year>\d{4,6})-(?P<month>\d{2})-(?P<day>\d{2})"
    r"(?:[T ](?P<hour>\d{2}):(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d)(?P<fraction>\.\d{1,9})?)?"
    r" ?(?P<zone>Z|[+-]\d{2}(?::?\d{2})?)?)?(?P<bc> BC)?",
    re.IGNORECASE | re.ASCII,
)
_ZONED_TIME = re.compile(_CLOCK + r"(?P<zone>Z|[+-]\d{2}(?::?\d{2})?)", re.IGNORECASE | re.ASCII)
_SPAN = re.compile(
    r"(?:(?P<years>[+-]?\d{1,6}) years? ?)?(?:(?P<months>[+-]?\d{1,6}) mon(?:th)?s? ?)?"
    r"(?:(?P<days>[+-]?\d{1,9}) days?,? ?)?"
    r"(?:(?P<micros>[+-]?\d{1,18}) microseconds?|(?P<minus>[+-])?" + _CLOCK + r")?(?<![ ,])",
    re.ASCII,
)
_ISO_SPAN = re.compile(
    r"P(?:(?P<years>\d{1,6})Y)?(?:(?P<months>\d{1,6})M)?(?:(?P<days>\d{1,9})D)?"
    r"(?:T(?:(?P<hours>\d{1,9})H)?(?:(?P<minutes>\d{1,9})M)?(?:(?P<seconds>\d{1,9})(?P<fraction>\.\d{1,9})?S)?)?(?<![PT])",
    re.ASCII | re.IGNORECASE,
)


@lru_cache(maxsize=64)
def zone_named(name: str) -> tzinfo:
    """Return the zone of this IANA name.

    Raises: InputError where the name is unknown here.
    """
    if name.upper() == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise InputError(
            f"unknown time zone {name!r}", field="naive_tz", remedy="Give an IANA name such as Europe/Berlin"
        ) from error


def cut(kind: str, micros: int, precision: Literal["us", "ms", "s"]) -> int:
    """Drop what lies below the precision: of a moment the digits a clock shows, of a duration toward zero."""
    unit = _PRECISION[precision]
    if unit == 1 or micros % unit == 0:
        return micros
    return micros // unit * unit + (unit if kind == "dur" and micros < 0 else 0)


def moment(value: datetime) -> tuple[str, int]:
    """Return ("inst", microseconds in UTC) for an aware datetime, ("ts", wall clock microseconds) for a naive one."""
    offset = value.utcoffset()
    wall = (value.replace(tzinfo=None) - _EPOCH) // _MICRO
    return ("ts", wall) if offset is None else ("inst", wall - offset // _MICRO)


def midnight(value: date) -> int:
    """Return the wall clock microseconds at which a day begins."""
    return (value.toordinal() - 1) * _DAY


def instant_in(wall: int, zone: tzinfo) -> int:
    """Return the instant at which a clock in this zone shows the given wall time.

    Past Python's calendar the zone's last or first rules hold on: they repeat with the calendar.
    """
    cycles = wall // _CYCLE if wall < 0 else max(0, -((_LAST_WALL - wall) // _CYCLE))
    shown = _EPOCH + (wall - cycles * _CYCLE) * _MICRO
    try:
        offset = shown.replace(tzinfo=zone).utcoffset()
    except OverflowError:
        offset = None
    return wall - (offset or timedelta(0)) // _MICRO


def steady_offset(zone: tzinfo) -> int | None:
    """Return the offset of a zone that has one without a date, in microseconds; None where it changes."""
    offset = zone.utcoffset(None)
    return None if offset is None else offset // _MICRO


def clock(value: time) -> tuple[str, int]:
    """Return ("dur", microseconds since midnight), or ("timetz", the same in UTC) for an aware time."""
    micros = ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond
    offset = value.utcoffset()
    return ("dur", micros) if offset is None else ("timetz", micros - offset // _MICRO)


def length(value: timedelta | Interval) -> int:
    """Return a duration in microseconds; a month counts 30 days, as drivers hand it over."""
    if isinstance(value, timedelta):
        return value // _MICRO
    return (value.months * 30 + value.days) * _DAY + value.microseconds


def read_text(text: str) -> Atom | None:
    """Read an ISO date, timestamp, time or duration; None for any other text, which stays text."""
    stamp = _STAMP.fullmatch(text)
    found = _read_stamp(stamp) if stamp else None
    if found is not None:
        return found
    far = _FAR_STAMP.fullmatch(text)
    if far:
        return _read_far(far)
    zoned = _ZONED_TIME.fullmatch(text)
    if zoned:
        return ("timetz", _clock_micros(zoned) - _offset(zoned["zone"]))
    return _read_duration(text)


def _read_stamp(found: re.Match[str]) -> Atom | None:
    """Turn a matched date or timestamp into its atom; None where the calendar has no such moment."""
    try:
        day = midnight(date.fromisoformat(found["day"]))
        if found["clock"] is None:
            return ("date", day)
        shown = time.fromisoformat(found["clock"][:15])
    except ValueError:
        return None
    wall = day + clock(shown)[1]
    return ("ts", wall) if found["zone"] is None else ("inst", wall - _offset(found["zone"]))


def _read_far(found: re.Match[str]) -> Atom | None:
    """Turn a matched moment outside Python's calendar, or one at 24:00, into its atom; None where there is none such.

    The year before 1 is 1 BC, written 0000 where no era is.
    """
    year, month, day = int(found["year"]), int(found["month"]), int(found["day"])
    cycles, place = divmod(1 - year if found["bc"] else year, _CYCLE_YEARS)
    try:
        begins = midnight(date(place + _CYCLE_YEARS, month, day)) + (cycles - 1) * _CYCLE
    except ValueError:
        return None
    if found["hour"] is None:
        return ("date", begins)
    clock_micros = _clock_micros(found)
    if clock_micros > _DAY or (year == 0 and found["bc"]):
        return None
    wall = begins + clock_micros
    return ("ts", wall) if found["zone"] is None else ("inst", wall - _offset(found["zone"]))


def _read_duration(text: str) -> Atom | None:
    """Read `[N years ][N mons ][N days, ][-][H:MM[:SS[.f]]]` as engines and Python print it, or `PnDTnHnMnS`.

    `N months N days N microseconds` is how our own schemas keep an interval where the engine has none.
    """
    found = _SPAN.fullmatch(text) if text else None
    if found:
        micros = _clock_micros(found) * (-1 if found["minus"] == "-" else 1) if found["hour"] else 0
        micros += int(found["micros"] or 0)
        return ("dur", _days(found) * _DAY + micros)
    found = _ISO_SPAN.fullmatch(text)
    if found is None:
        return None
    seconds = (int(found["hours"] or 0) * 60 + int(found["minutes"] or 0)) * 60 + int(found["seconds"] or 0)
    return ("dur", _days(found) * _DAY + seconds * 1_000_000 + _fraction(found["fraction"]))


def _days(found: re.Match[str]) -> int:
    """Return the years, months and days of a matched span in days; a month counts 30 days, a year 12 months."""
    return (int(found["years"] or 0) * 12 + int(found["months"] or 0)) * 30 + int(found["days"] or 0)


def _clock_micros(found: re.Match[str]) -> int:
    """Return the microseconds of a matched H:MM[:SS[.f]]."""
    whole = (int(found["hour"]) * 60 + int(found["minute"])) * 60 + int(found["second"] or 0)
    return whole * 1_000_000 + _fraction(found["fraction"])


def _fraction(digits: str | None) -> int:
    """Return a written fraction of a second in microseconds; digits past the sixth are dropped."""
    return int((digits or ".")[1:7].ljust(6, "0"))


def _offset(zone: str) -> int:
    """Return a written UTC offset in microseconds."""
    if zone in "Zz":
        return 0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    minutes = int(digits[:2]) * 60 + int(digits[2:])
    return minutes * 60_000_000 * (-1 if zone[0] == "-" else 1)
