"""SQLite's date functions written for another engine: a time value, its modifiers in order, and a format."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from sqlglot import exp

from dialect_adapters.transpile.facts import Form, Refused
from dialect_adapters.transpile.pen import Pen

Written = tuple[str, Form]

PATTERNS = {"date": "%Y-%m-%d", "time": "%H:%M:%S", "datetime": "%Y-%m-%d %H:%M:%S"}
_SHIFT = re.compile(r"\s*([+-]?\d+(?:\.\d+)?)\s*(year|month|day|hour|minute|second)s?\s*$", re.IGNORECASE)
_UNIT = re.compile(r"\s*(year|month|day|hour|minute|second)s?\s*$", re.IGNORECASE)


def _moment(writer: Pen, arguments: list[exp.Expr]) -> str:
    """Return the moment of a time value and its modifiers."""
    if not arguments or (isinstance(arguments[0], exp.Literal) and arguments[0].name.lower() == "now"):
        moment = writer.spell.now()
    else:
        out = writer.value(arguments[0])
        if out.form not in (Form.TEXT, Form.NULL):
            raise Refused("a number read as a Julian day")
        moment = writer.spell.moment(out.sql)
    for modifier in arguments[1:]:
        moment = _modified(writer, moment, modifier)
        writer.spend(len(moment))
    return moment


def _modified(writer: Pen, moment: str, modifier: exp.Expr) -> str:
    """Return a moment after one modifier."""
    if isinstance(modifier, exp.Literal) and modifier.is_string:
        text = modifier.name.strip().lower()
        shift = _SHIFT.match(text)
        if shift:
            return writer.spell.shifted(moment, shift[1].lstrip("+"), shift[2].lower())
        if text.startswith("start of ") and text[9:] in ("year", "month", "day"):
            return writer.spell.started(moment, text[9:])
        if text in ("localtime", "utc"):
            return moment  # every session is pinned to UTC
        raise Refused(f"the date modifier '{modifier.name}'")
    sign, amount, unit = _computed(modifier)
    return writer.spell.shifted(moment, f"{sign}{writer.number(amount)}", unit)


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
