"""SQLite's date functions written for another engine: a time value, its modifiers in order, and a format."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from sqlglot import exp

from sqlassay.dialect_adapters.transpile.facts import Form, Refused
from sqlassay.dialect_adapters.transpile.pen import Pen

Written = tuple[str, Form]

PATTERNS = {"date": "%Y-%m-%d", "time": "%H:%M:%S", "datetime": "%Y-%m-%d %H:%M:%S"}
_SHIFT = re.compile(r"\s*([+-]?\d+(?:\.\d+)?)\s*(year|month|day|hour|minute|second)s?\s*$", re.IGNORECASE)
_EARLY = re.compile(r"\d{4}-\d\d-([01]\d|2[0-8])", re.ASCII)
_UNIT = re.compile(r"\s*(year|month|day|hour|minute|second)s?\s*$", re.IGNORECASE)


def _moment(writer: Pen, arguments: list[exp.Expr]) -> str:
    """Return the moment of a time value and its modifiers.

    What a modifier says several times would make each next one longer by as much, so it is known where one is enough:
    on a day that every month has (`early`), and of a date() within another, which is a date already.
    """
    early = False
    inner = arguments[0] if arguments else None
    nested = isinstance(inner, exp.Anonymous) and inner.name.lower() == "date" and len(inner.expressions) > 0
    if inner is None or (isinstance(inner, exp.Literal) and inner.name.lower() == "now"):
        moment = writer.spell.now()
    elif nested and not writer.leave and not (writer.group.grouped and not writer.group.inside):
        moment = writer.spell.started(_moment(writer, inner.expressions), "day")
    else:
        out = writer.value(inner)
        if out.form not in (Form.TEXT, Form.NULL):
            raise Refused("a number read as a Julian day")
        moment = writer.spell.moment(out.sql)
        early = isinstance(inner, exp.Literal) and _EARLY.match(inner.name) is not None
    for modifier in arguments[1:]:
        moment, early = _modified(writer, moment, modifier, early=early)
        writer.spend(len(moment))
    return moment


def _modified(writer: Pen, moment: str, modifier: exp.Expr, *, early: bool) -> tuple[str, bool]:
    """Return a moment after one modifier, and whether its day is then one that every month has."""
    if isinstance(modifier, exp.Literal) and modifier.is_string:
        text = modifier.name.strip().lower()
        shift = _SHIFT.match(text)
        if shift:
            return _shifted(writer, moment, shift[1].lstrip("+"), shift[2].lower(), early=early)
        if text.startswith("start of ") and text[9:] in ("year", "month", "day"):
            return writer.spell.started(moment, text[9:]), early or text[9:] != "day"
        if text in ("localtime", "utc"):
            return moment, early  # every session is pinned to UTC
        raise Refused(f"the date modifier '{modifier.name}'")
    sign, amount, unit = _computed(modifier)
    return _shifted(writer, moment, f"{sign}{writer.number(amount)}", unit, early=early)


def _shifted(writer: Pen, moment: str, amount: str, unit: str, *, early: bool) -> tuple[str, bool]:
    """Return a moment moved by an amount of a unit, and whether its day is then one that every month has."""
    months = unit in ("month", "year")
    return writer.spell.shifted(moment, amount, unit, early=early), early and months


def _computed(modifier: exp.Expr) -> tuple[str, exp.Expr, str]:
    """Return sign, amount and unit of a modifier written as '-' || amount || ' days'."""
    parts = list(_piped(modifier))
    sign = ""
    if len(parts) == 3 and isinstance(parts[0], exp.Literal) and parts[0].name.strip() in ("+", "-"):
        sign, parts = parts[0].name.strip().replace("+", ""), parts[1:]
    unit = _UNIT.match(parts[-1].name) if isinstance(parts[-1], exp.Literal) else None
    if len(parts) == 2 and unit is not None:
        return sign, parts[0], unit[1].lower()
    raise Refused("a computed date modifier")


def _piped(node: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the parts that || joins, in order, whatever their parentheses."""
    inner = node
    while isinstance(inner, exp.Paren):
        inner = inner.this
    if isinstance(inner, exp.DPipe):
        yield from _piped(inner.this)
        yield from _piped(inner.expression)
    else:
        yield node


def strftime(writer: Pen, arguments: list[exp.Expr]) -> Written:
    """Write a moment by the fields of a format."""
    if not isinstance(arguments[0], exp.Literal):
        raise Refused("strftime() with a computed format")
    return writer.date_text(_moment(writer, arguments[1:]), arguments[0].name), Form.TEXT


def date_function(pattern: str) -> Callable[[Pen, list[exp.Expr]], Written]:
    """Return the writer of date(), time() or datetime()."""

    def written(writer: Pen, arguments: list[exp.Expr]) -> Written:
        """Write it as text."""
        return writer.date_text(_moment(writer, arguments), pattern), Form.TEXT

    return written


def julianday(writer: Pen, arguments: list[exp.Expr]) -> Written:
    """Write a moment as its Julian day number."""
    return writer.spell.julian(_moment(writer, arguments)), Form.REAL
