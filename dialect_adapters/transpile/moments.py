"""Dates, moments and what lies between them, retold for another engine."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Protocol

from sqlglot import exp

from sqlassay.dialect_adapters.transpile.common import DATE, INT, KIND, MOMENT, OTHER, SPAN, TEXT, kind
from sqlassay.dialect_adapters.transpile.facts import Refused
from sqlassay.dialect_adapters.transpile.telling import Habits, Telling

UNITS = {"year", "quarter", "month", "week", "day", "hour", "minute", "second"}
_SECONDS = {"week": 604_800, "day": 86_400, "hour": 3_600, "minute": 60, "second": 1}
_PARTS = UNITS | {"dow", "isodow", "doy", "epoch"}
_CALLS: Mapping[type[exp.Expr], str] = {
    exp.Year: "year",
    exp.Quarter: "quarter",
    exp.Month: "month",
    exp.Day: "day",
    exp.DayOfMonth: "day",
    exp.DayOfYear: "doy",
    exp.Hour: "hour",
    exp.Minute: "minute",
    exp.Second: "second",
}
_NAMED = re.compile(r"\s*([+-]?\d+)\s*([A-Za-z]+)\s*")
_TIMED = frozenset((DATE, MOMENT))


class Hand(Protocol):
    """Writes what has been retold already, and makes nodes of text."""

    habits: Habits
    tell: Telling

    def said(self, node: exp.Expr) -> str:
        """Return a node as the target writes it."""
        ...

    def made(self, text: str, kind: str) -> exp.Expr:
        """Return a node that is written as this text."""
        ...


def retold(hand: Hand, node: exp.Expr) -> exp.Expr | None:
    """Return what stands for a node about time, None where it is none or stays as it is."""
    writer = _WRITERS.get(type(node))
    if writer is not None:
        return writer(hand, node)
    if type(node) in _CALLS:
        return _part(hand, node.this, _CALLS[type(node)])
    return None


def is_written(node: exp.Expr) -> bool:
    """Return whether a kind of node is about time and known here."""
    return type(node) in _WRITERS or type(node) in _CALLS


def _today(hand: Hand, _node: exp.Expr) -> exp.Expr:
    """Return today."""
    return hand.made(hand.tell.today(), DATE)


def _now(hand: Hand, _node: exp.Expr) -> exp.Expr:
    """Return the present moment."""
    return hand.made(hand.tell.now(), MOMENT)


def _day(hand: Hand, node: exp.Expr) -> exp.Expr:
    """Return the day of a value."""
    return hand.made(hand.tell.day(hand.said(node.this)), DATE)


def _moment(hand: Hand, node: exp.Expr) -> exp.Expr:
    """Return the moment of a value."""
    return node.this if kind(node.this) == MOMENT else hand.made(hand.tell.moment(hand.said(node.this)), MOMENT)


def _started(hand: Hand, node: exp.Expr) -> exp.Expr:
    """Return the start of a unit."""
    unit = unit_of(node.args["unit"])
    return hand.made(hand.tell.started(hand.said(node.this), unit), MOMENT)


def unit_of(node: exp.Expr) -> str:
    """Return a unit's plain name; raises Refused for one that not every engine has."""
    name = node.name.lower()
    name = name if name in UNITS else name.removesuffix("s")
    if name not in UNITS:
        raise Refused(f"the unit {node.name} of time")
    return name


def _extract(hand: Hand, node: exp.Expr) -> exp.Expr:
    """Return one part of a moment, or of what lies between two."""
    name = node.this.name.lower()
    inner = node.expression.unnest()
    span = inner.meta.get(SPAN)
    if span is None:
        return _part(hand, inner, name)
    seconds = hand.tell.seconds(*(hand.tell.moment(hand.said(side)) for side in span))
    if name == "epoch":
        return hand.made(seconds, INT)
    if name == "day":
        return hand.made(hand.tell.divided(seconds, "86400"), INT)
    raise Refused(f"{name} of what lies between two moments")


def _part(hand: Hand, inner: exp.Expr, name: str) -> exp.Expr:
    """Return one part of a moment."""
    if kind(inner) == SPAN:
        raise Refused(f"{name} of an interval")
    if name == "week" and not hand.habits.iso_weeks:
        raise Refused("the week of MySQL, which begins on Sunday")
    said = hand.tell.part(hand.said(inner), name) if name in _PARTS else None
    if said is None:
        raise Refused(f"EXTRACT({name}) is not written for this engine")
    return hand.made(said, INT)


def _weekday(hand: Hand, node: exp.Expr) -> exp.Expr:
    """Return MySQL's DAYOFWEEK: Sunday is 1."""
    return hand.made(f"({hand.said(_part(hand, node.this, 'dow'))} + 1)", INT)


def _formatted(hand: Hand, node: exp.Expr) -> exp.Expr:
    """Return a moment as text by a pattern."""
    pattern = node.args["format"]
    if not (isinstance(pattern, exp.Literal) and pattern.is_string):
        raise Refused("a pattern of a date that is computed")
    if kind(node.this) not in _TIMED:
        raise Refused("a pattern of what is no date")
    if hand.habits.truth_words and re.search(r"[A-Za-z0-9\"\\]", re.sub(r"%.", "", pattern.name)):
        raise Refused(f"the pattern '{pattern.name}' of a date")  # Postgres reads these letters, the parser did not
    said = hand.tell.formatted(hand.said(node.this), pattern.name)
    if said is None:
        raise Refused(f"the pattern '{pattern.name}' of a date")
    return hand.made(said, TEXT)


def _days(hand: Hand, node: exp.Expr) -> exp.Expr:
    """Return DATEDIFF: days between two dates, whatever the hour."""
    one, other = (hand.tell.day(hand.said(side)) for side in (node.this, node.expression))
    if "'0000-" in one + other:
        raise Refused("days since the year 0, which not every engine has")
    return hand.made(hand.tell.days(one, other), INT)


def _between(hand: Hand, node: exp.Expr) -> exp.Expr:
    """Return TIMESTAMPDIFF: whole units, cut towards zero."""
    unit = unit_of(node.args["unit"])
    one, other = (hand.tell.moment(hand.said(side)) for side in (node.this, node.expression))
    if unit not in _SECONDS:
        months = _months(hand, one, other)
        length = {"month": "1", "quarter": "3", "year": "12"}[unit]
        return hand.made(months if unit == "month" else hand.tell.divided(months, length), INT)
    seconds = hand.tell.seconds(one, other)
    return hand.made(seconds if unit == "second" else hand.tell.divided(seconds, str(_SECONDS[unit])), INT)


def _months(hand: Hand, one: str, other: str) -> str:
    """Return the whole months between two moments: one is not full before the day and hour of the other."""
    ends = []
    for side in (one, other):
        year, month, rest = (
            hand.tell.part(side, "year"), hand.tell.part(side, "month"), hand.tell.formatted(side, "%d %H:%M:%S"),
        )  # fmt: skip
        if year is None or month is None or rest is None:
            raise Refused("months between two moments")
        ends.append((f"{year} * 12 + {month}", rest))
    (first, early), (second, late) = ends
    months = f"(({first}) - ({second}))"
    forwards = f"{months} - CASE WHEN {early} < {late} THEN 1 ELSE 0 END"
    back = f"{months} + CASE WHEN {early} > {late} THEN 1 ELSE 0 END"
    return f"(CASE WHEN {one} >= {other} THEN {forwards} ELSE {back} END)"


def interval(hand: Hand, node: exp.Expr) -> tuple[str, str]:
    """Return the amount and unit of an interval; raises Refused where it has several or none."""
    if isinstance(node, exp.Mul):
        sides = [node.this.unnest(), node.expression.unnest()]
        spans = [side for side in sides if isinstance(side, exp.Interval)]
        if len(spans) == 1:
            single, name = interval(hand, spans[0])
            other = sides[0] if spans[0] is sides[1] else sides[1]
            return f"({single} * {hand.said(other)})", name
    if not isinstance(node, exp.Interval) or node.this is None:
        raise Refused("an interval that is computed")
    unit: exp.Expr | None = node.args.get("unit")
    amount = node.this
    if isinstance(amount, exp.Literal):
        named = _NAMED.fullmatch(amount.name if unit is None else f"{amount.name} {unit.name}")
        if named is None:
            raise Refused(f"the interval '{amount.name}'")
        return str(int(named[1])), unit_of(exp.var(named[2]))
    if unit is None:
        raise Refused("an interval that is computed")
    return hand.said(amount), unit_of(unit)


def moved(hand: Hand, value: exp.Expr, amount: str, unit: str, *, back: bool, day: bool) -> exp.Expr:
    """Return a date or moment moved forwards or back."""
    number = re.fullmatch(r"-?\d+", amount)
    signed = str(-int(amount) if back else int(amount)) if number else f"(-{amount})" if back else amount
    said = hand.tell.moved(hand.said(value), signed, unit, day=day)
    return hand.made(said, DATE if day else MOMENT)


def _date_add(hand: Hand, node: exp.Expr) -> exp.Expr:
    """Return MySQL's DATE_ADD and DATE_SUB: a date stays one while it moves by whole days."""
    unit = unit_of(node.args["unit"])
    amount = node.expression
    if kind(node.this) == TEXT and not isinstance(node.this, exp.Literal):
        raise Refused("a text moved as a date, which may hold a time or not")
    if isinstance(amount, exp.Interval):
        said, unit = interval(hand, amount)
    else:
        said = amount.name if isinstance(amount, exp.Literal) else hand.said(amount)
    return moved(hand, node.this, said, unit, back=isinstance(node, exp.DateSub), day=_stays(node.this, unit))


def _stays(value: exp.Expr, unit: str) -> bool:
    """Return whether a value of MySQL that moves by a unit is still a date."""
    return kind(value) == DATE and unit not in ("hour", "minute", "second")


def summed(hand: Hand, node: exp.Expr) -> exp.Expr | None:
    """Return a sum or difference in which time takes part; None where it does not."""
    left, right, back = node.this, node.expression, isinstance(node, exp.Sub)
    span = right.unnest()
    if kind(span) == SPAN and span.meta.get(SPAN) is None:
        amount, unit = interval(hand, span)
        day = not hand.habits.days_between and _stays(left, unit)
        return moved(hand, left, amount, unit, back=back, day=day)
    if kind(left) == SPAN and not back and left.meta.get(SPAN) is None:
        amount, unit = interval(hand, left.unnest())
        return moved(hand, right, amount, unit, back=False, day=False)
    timed = [side for side in (left, right) if kind(side) in _TIMED]
    if not timed:
        return None
    if not hand.habits.days_between:
        raise Refused("a date counted as a number")
    if len(timed) == 2 and back:
        return _difference(hand, node)
    if kind(left) == DATE and kind(right) in (INT, OTHER):
        return moved(hand, left, hand.said(right), "day", back=back, day=True)
    raise Refused("a sum of what is no date and days")


def _difference(hand: Hand, node: exp.Expr) -> exp.Expr:
    """Return the days between dates; what lies between moments waits for what is asked of it."""
    left, right = node.this, node.expression
    if kind(left) == kind(right) == DATE:
        return hand.made(hand.tell.days(hand.said(left), hand.said(right)), INT)
    waiting = hand.made("", SPAN)
    waiting.meta[SPAN] = (left, right)
    return waiting


def compared(hand: Hand, node: exp.Expr) -> exp.Expr | None:
    """Return a comparison of what lies between two moments with a length, or of a date with a moment, made alike."""
    left, right = node.this.unnest(), node.expression.unnest()
    if left.meta.get(SPAN) is not None and isinstance(right, exp.Interval):
        amount, unit = interval(hand, right)
        if unit not in _SECONDS:
            raise Refused(f"what lies between two moments compared with {unit}s")
        seconds = hand.tell.seconds(*(hand.tell.moment(hand.said(side)) for side in left.meta[SPAN]))
        node.set("this", hand.made(seconds, INT))
        node.set("expression", hand.made(f"({amount} * {_SECONDS[unit]})", INT))
        return None
    for one, other, name in ((left, right, "expression"), (right, left, "this")):
        alike = as_kind(hand, other, kind(one))
        if alike is not None:
            node.set(name, alike)
    return None


def as_kind(hand: Hand, node: exp.Expr, wanted: str) -> exp.Expr | None:
    """Return a text constant or date as what it is compared with, None where it is that already."""
    if wanted in _TIMED and isinstance(node, exp.Literal) and node.is_string:
        return _constant(node.name, wanted)
    if wanted in _TIMED and kind(node) == TEXT:
        call = hand.tell.day if wanted == DATE else hand.tell.moment
        return hand.made(call(hand.said(node)), wanted)
    if wanted == MOMENT and kind(node) == DATE:
        return hand.made(hand.tell.moment(hand.said(node)), MOMENT)
    return None


def _constant(text: str, wanted: str) -> exp.Expr | None:
    """Return a constant as a date or moment, spelled as every engine spells it."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    if found.tzinfo is not None:
        raise Refused("a moment with a zone")
    spelled = str(date(found.year, found.month, found.day)) if wanted == DATE else str(found)
    literal = exp.Literal.string(spelled)
    literal.meta[KIND] = wanted
    return literal


_WRITERS: Mapping[type[exp.Expr], Callable[[Hand, exp.Expr], exp.Expr]] = {
    exp.CurrentDate: _today,
    exp.CurrentTimestamp: _now,
    exp.Localtimestamp: _now,
    exp.Date: _day,
    exp.TsOrDsToDate: _day,
    exp.TsOrDsToTimestamp: _moment,
    exp.TimestampTrunc: _started,
    exp.DateTrunc: _started,
    exp.Extract: _extract,
    exp.DayOfWeek: _weekday,
    exp.TimeToStr: _formatted,
    exp.DateDiff: _days,
    exp.TimestampDiff: _between,
    exp.DateAdd: _date_add,
    exp.DateSub: _date_add,
}
