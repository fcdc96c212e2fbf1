"""SQLite's comparisons written for engines with types: affinity decides what is converted, storage class what is less.

Source: sqlite.org/datatype3.html, sections 4.1 and 4.2. NULL aside, every number is less than every text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlglot import exp

from sqlassay.dialect_adapters.transpile.causes import Difference
from sqlassay.dialect_adapters.transpile.facts import BLOB, NUMBER, TEXT, Affinity, Form, Refused, Typed
from sqlassay.dialect_adapters.transpile.pen import Pen
from sqlassay.dialect_adapters.transpile.spelling import NUMERAL

_LESS = {"<": True, "<=": True, ">": False, ">=": False, "=": False, "<>": True}
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<>": "<>"}
_NUMERAL = re.compile(NUMERAL, re.ASCII)


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison: a number, a text, or (`condition`) a number in some rows and a text in the others."""

    number: str | None
    text: str | None
    condition: str | None = None
    nullable: str | None = None

    @property
    def both(self) -> bool:
        """Return whether it is a number in some rows only."""
        return self.condition is not None


def side(writer: Pen, node: exp.Expr, kind: Typed, other: Typed) -> Side:
    """Return one side after the affinity of the other has been applied to it."""
    out = writer.value(node)
    nullable = None if isinstance(node, exp.Literal) else out.sql
    numeric = other.affinity.numeric and not kind.affinity.numeric
    textual = other.affinity is Affinity.TEXT and kind.affinity is Affinity.NONE
    if out.form is Form.NULL:
        return Side(None, None, nullable="NULL")
    if out.form is Form.BYTES:
        if other.stores & (NUMBER | TEXT):
            raise Refused("a blob compared with something else")
        return Side(None, out.sql, nullable=nullable)
    if out.form is not Form.TEXT:
        number = writer.number(node)
        return Side(None, writer.text(node), nullable=nullable) if textual else Side(number, None, nullable=nullable)
    if isinstance(node, exp.Literal) and numeric and _NUMERAL.match(node.name):
        return Side(writer.real_literal(node.name.strip()), None)
    stored = bool(kind.stores & NUMBER) and not textual
    if not stored and not numeric:
        return Side(None, out.sql, nullable=nullable)
    if isinstance(node, exp.Literal):
        return Side(None, out.sql)
    if stored and kind.stores & BLOB:
        raise Refused("a column of numbers, texts and blobs is compared")
    spell = writer.spell
    return Side(spell.numeral(out.sql), out.sql, spell.looks(out.sql), nullable)


def compare(
    writer: Pen,
    operator: str,
    left: exp.Expr,
    right: exp.Expr,
    *,
    positive: bool,
    kinds: tuple[Typed, Typed] | None = None,
) -> str:
    """Return the condition `left operator right`; where only truth counts (`positive`), unknown may become false."""
    one, other = kinds or (writer.typed(left), writer.typed(right))
    refuse_either(one, other)
    a, b = side(writer, left, one, other), side(writer, right, other, one)
    if a.nullable == "NULL" or b.nullable == "NULL":
        return "(1 = NULL)"
    if (one.nocase or other.nocase) and Difference.COLLATION not in writer.leave:
        a, b = _folded(writer, a), _folded(writer, b)
    if not a.both and not b.both:
        return _plain(operator, a, b, positive=positive)
    if operator == "=" and positive and not (a.both and b.both):
        return _equal(a, b)
    return _general(operator, a, b)


def refuse_either(one: Typed, other: Typed) -> None:
    """Refuse a comparison of numbers and texts where SQLite may convert by either of several affinities."""
    stores = one.stores | other.stores
    if (one.either or other.either) and stores & TEXT and stores & NUMBER:
        raise Refused(
            "a number and a text are compared, of which one comes from a compound query of several affinities"
        )


def _folded(writer: Pen, one: Side) -> Side:
    """Return a side whose text has no case, for COLLATE NOCASE."""
    if one.text is None:
        return one
    return Side(one.number, writer.spell.lower(one.text), one.condition, one.nullable)


def _plain(operator: str, a: Side, b: Side, *, positive: bool) -> str:
    """Compare two numbers or two texts as the engine does; a number and a text by their classes alone."""
    if a.number is not None and b.number is not None:
        return f"({a.number} {operator} {b.number})"
    if a.text is not None and b.text is not None:
        return f"({a.text} {operator} {b.text})"
    truth = _LESS[operator] if a.number is not None else _LESS[_TURNED[operator]]
    return _constant(truth, [side.nullable for side in (a, b) if side.nullable], positive=positive)


def _constant(truth: bool, nullable: list[str], *, positive: bool) -> str:
    """Return a comparison that is the same for every row without NULL."""
    if positive and not truth:
        return "(1 = 0)"
    if positive:
        return f"({' AND '.join(f'{one} IS NOT NULL' for one in nullable) or '1 = 1'})"
    if not nullable:
        return "(1 = 1)" if truth else "(1 = 0)"
    missing = " OR ".join(f"{one} IS NULL" for one in nullable)
    return f"(CASE WHEN {missing} THEN NULL ELSE {'1 = 1' if truth else '1 = 0'} END)"


def _equal(a: Side, b: Side) -> str:
    """Return an equality that an engine can join by: unknown where the text is no numeral."""
    half, whole = (a, b) if a.both else (b, a)
    if whole.number is not None:
        return f"(CASE WHEN {half.condition} THEN {half.number} END = {whole.number})"
    return f"(CASE WHEN {half.condition} THEN NULL ELSE {half.text} END = {whole.text})"


def _general(operator: str, a: Side, b: Side) -> str:
    """Compare by the storage class each side has in a row."""
    missing = " OR ".join(f"{side.nullable} IS NULL" for side in (a, b) if side.nullable)
    cases = [f"WHEN {missing} THEN NULL"] if missing else []
    is_a, is_b = _number_test(a), _number_test(b)
    if a.number is not None and b.number is not None:
        cases.append(f"WHEN {_all(is_a, is_b)} THEN {a.number} {operator} {b.number}")
    if a.text is not None and b.text is not None:
        cases.append(f"WHEN {_all(_not(is_a), _not(is_b))} THEN {a.text} {operator} {b.text}")
    if a.number is not None and b.text is not None:
        cases.append(f"WHEN {_all(is_a, _not(is_b))} THEN {'1 = 1' if _LESS[operator] else '1 = 0'}")
    if a.text is not None and b.number is not None:
        truth = _LESS[_TURNED[operator]]
        cases.append(f"WHEN {_all(_not(is_a), is_b)} THEN {'1 = 1' if truth else '1 = 0'}")
    return f"(CASE {' '.join(cases)} END)"


def _number_test(one: Side) -> str | bool:
    """Return whether a side is a number: always, never, or the condition."""
    return one.condition if one.condition is not None else one.number is not None


def _not(test: str | bool) -> str | bool:
    """Return the opposite of a test."""
    return not test if isinstance(test, bool) else f"NOT {test}"


def _all(*tests: str | bool) -> str:
    """Return that all tests hold."""
    return " AND ".join(test for test in tests if isinstance(test, str)) or "1 = 1"
