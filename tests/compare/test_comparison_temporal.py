"""Texts of dates, times and durations, read to the microsecond."""

from __future__ import annotations

from datetime import datetime, time, timedelta, timezone

import pytest

from sqlassay.harness.compare.temporal import clock, cut, moment, read_text

SECOND = 1_000_000
HOUR = 3_600 * SECOND
DAY = 24 * HOUR
BEGINS = moment(datetime(2024, 1, 2))[1]


@pytest.mark.parametrize(
    ("text", "atom"),
    [
        ("2024-01-02t03:04:05z", ("inst", BEGINS + 3 * HOUR + 245 * SECOND)),
        ("2024-01-02 03:00:00.1234567", ("ts", BEGINS + 3 * HOUR + 123_456)),
        ("2024-01-02 03:00:00+05:30", ("inst", BEGINS - 5 * HOUR // 2)),
        ("2024-01-02 03:00:00-0530", ("inst", BEGINS + 17 * HOUR // 2)),
        ("2024-01-02 03:00:00+0530", ("inst", BEGINS - 5 * HOUR // 2)),
        ("2024-01-02 03:00:00-05", ("inst", BEGINS + 8 * HOUR)),
        ("2024-01-02 24:00:00", ("ts", BEGINS + DAY)),
        ("2024-01-02t24:00:00z", ("inst", BEGINS + DAY)),
        ("0001-12-31 bc", ("date", -DAY)),
        ("0001-01-01 BC", ("date", -366 * DAY)),
        ("0001-01-01 01:00 BC", ("ts", -366 * DAY + HOUR)),
        ("0000-01-01 01:00", ("ts", -366 * DAY + HOUR)),
        ("0000-01-01 01:00 BC", None),
        ("0005-12-31 BC", ("date", -1_462 * DAY)),
        ("10:00z", ("timetz", 10 * HOUR)),
        ("10:00+02", ("timetz", 8 * HOUR)),
        ("10:00:00.25-01:30", ("timetz", 23 * HOUR // 2 + SECOND // 4)),
        ("10:00", ("dur", 10 * HOUR)),
        ("10:02:03.000001", ("dur", 10 * HOUR + 123 * SECOND + 1)),
        ("PT1H2M3S", ("dur", HOUR + 123 * SECOND)),
        ("pt5s", ("dur", 5 * SECOND)),
        ("PT0.1234567S", ("dur", 123_456)),
        ("P1DT0.5S", ("dur", DAY + SECOND // 2)),
        ("PT2M", ("dur", 120 * SECOND)),
        ("P", None),
        ("2024-01-02 03:00:00+\uff10\uff15", None),
        ("2024-13-01", None),
        ("", None),
    ],
)
def test_a_text_is_the_moment_it_names(text: str, atom: tuple[str, int] | None) -> None:
    """Offsets are taken off, letters may be small, digits past the sixth are dropped and there is no year nought BC."""
    assert read_text(text) == atom


def test_a_zoned_time_is_kept_in_utc() -> None:
    """Ten o'clock two hours east of Greenwich is eight."""
    assert clock(time(10, tzinfo=timezone(timedelta(hours=2)))) == ("timetz", 8 * HOUR)
    assert clock(time(10, 0, 0, 7)) == ("dur", 10 * HOUR + 7)


def test_a_precision_cuts_moments_down_and_durations_toward_zero() -> None:
    """A clock shows fewer digits; a negative duration grows."""
    assert [cut("ts", -1_500, "ms"), cut("dur", -1_500, "ms"), cut("dur", 1_500, "ms"), cut("dur", 0, "s")] == [
        -2_000,
        -1_000,
        1_000,
        0,
    ]
    assert cut("dur", -1_500, "us") == -1_500
