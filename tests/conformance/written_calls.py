"""Arithmetic and dates as SQLite writes them, with edge arguments: two hundred statements and more over one table."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

ARGUMENTS = {
    "I": ["id", "-7", "0", "3", "id - 3", "length(name)", "id * 2"],
    "R": ["weight", "2.5", "-0.5", "id / 4.0", "weight * 1.1", "0.125"],
    "N": ["id", "weight", "2.5", "7", "id + 0.5"],
    "D": ["born", "seen", "note", "'2024-02-29'", "'2023-12-31'", "date(born)", "'2024-01-31 23:59:59'"],
    "U": ["day", "month", "year"],
    "K": ["1", "-1", "13", "30", "-30"],
    "F": ["%Y", "%m", "%d", "%j", "%w", "%Y-%m", "%m/%d", "%Y-%m-%d", "%W"],
    "H": ["%H", "%M", "%S", "%H:%M", "%s"],
    "C": ["id > 2", "weight > 60", "born < '1995-01-01'", "city = 'Rome'"],
}
TEMPLATES = """
I + I|I - N|I * N|R / I|I / I|I / R|R / R|I % I|- I|abs(N)|round(R)|round(R, 1)|round(R, 2)|round(R * 100) / 100
round(I / 3.0, 3)|N + N * N|(N - N) / N|(I + I) / (I - I)|I * 1.0 / I|100.0 * I / I|CAST(R AS INTEGER)
CAST(R AS INTEGER) / I|CAST(I AS REAL) / 3|CAST(I AS TEXT)|max(N, N)|min(I, I)|coalesce(weight, 0) + N
ifnull(weight, N) * 2|nullif(I, 3) + 1|CASE WHEN C THEN N ELSE I END|CASE WHEN C THEN N / 2 END|iif(C, I, N)|I & 3
I << 2|N > I|N BETWEEN I AND I|I IN (I, I, 5)|sqrt(abs(N))|power(N, 2)|length(name) * I|date(D)|date(D, '+K U')
date(D, 'K U')|date(D, 'start of month')|date(D, 'start of year', '-1 day')
date(D, 'start of month', '+1 month', '-1 day')|datetime(D)|datetime(D, '+90 minutes')|datetime(D, '-36 hours')
datetime(D, 'start of day')|time(D)|strftime('F', D)|strftime('H', D)|CAST(strftime('%Y', D) AS INTEGER)
CAST(strftime('%m', D) AS INTEGER) % 3|CAST(strftime('%Y', D) AS INTEGER) - I|strftime('%Y', D) + 1|julianday(D)
julianday(D) - julianday(D)|CAST(julianday(D) - julianday(D) AS INTEGER)|round(julianday(D) - julianday(D), 1)
(julianday(D) - julianday(D)) / 365.25|CAST((julianday(D) - julianday(D)) * 24 AS INTEGER)
strftime('%Y', D) = '2024'|date(D) = date(D)|date(D) > D|D BETWEEN '1990-01-01' AND '2024-06-01'
date(D, '-' || id || ' days')|substr(D, 1, 4)|CAST(substr(D, 1, 4) AS INTEGER) - 1900
date(D, '+' || id || ' months')|strftime('%Y-%m', D) || '-01'|date(D) || ' ' || I
CASE WHEN date(D) > '2000-01-01' THEN 'new' ELSE 'old' END
(strftime('%Y', D) - strftime('%Y', D)) - (strftime('%m-%d', D) < strftime('%m-%d', D))
(CAST(strftime('%m', D) AS INTEGER) + 2) / 3
"""
AGGREGATES = """
SUM(N)|AVG(N)|SUM(I) / COUNT(*)|SUM(I) * 1.0 / COUNT(*)|AVG(R) * 2|round(AVG(N), 2)|MAX(N) - MIN(N)|SUM(N) / SUM(I)
COUNT(weight) * 100.0 / COUNT(*)|MIN(date(D))|MAX(strftime('%Y', D))|COUNT(DISTINCT strftime('%m', D))
AVG(julianday(D) - julianday(D))|SUM(CASE WHEN C THEN N ELSE 0 END)|SUM(I * N) / SUM(I)|total(N) / COUNT(*)
round(SUM(N), 1)|SUM(N) FILTER (WHERE C)|AVG(CAST(strftime('%Y', D) AS INTEGER))|SUM(I) % 3|SUM(C)
"""
_PLACE = re.compile(r"(?<!%)\b[A-Z]\b")


def statements(seed: int, each: int) -> Iterator[str]:
    """Yield `each` statements of every template, each once, their arguments drawn at random."""
    chosen = random.Random(seed)
    given: set[str] = set()
    for text, shape in (
        (TEMPLATES, "SELECT id, {} FROM people ORDER BY id"),
        (AGGREGATES, "SELECT city, {} FROM people GROUP BY city ORDER BY city"),
    ):
        for line in text.strip().splitlines():
            for template in (one.replace("\0", "||") for one in line.replace(" || ", " \0 ").split("|")):
                for _ in range(each):
                    call = _PLACE.sub(lambda found: chosen.choice(ARGUMENTS[found[0]]), template)
                    if call not in given:
                        given.add(call)
                        yield shape.format(call)
