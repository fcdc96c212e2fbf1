"""Cells as bytes that are equal only where the cells are equal under a policy, and what else could make cells equal."""

from __future__ import annotations

from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from typing import cast

from sqlassay.cases.relation import Row
from sqlassay.harness.compare.cells import Atom, Rules
from sqlassay.harness.compare.numbers import Number, whole

_EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])
_DIGITS = 15
_SMALL = 10**_DIGITS
_TIMES = frozenset({"date", "ts", "inst", "dur", "timetz"})


class Writer:
    """Writes the cells of one column, and notes which classes of cells it has seen.

    Equal bytes are equal cells under every policy. Unequal bytes are unequal cells only where `definite` says so.
    """

    def __init__(self, rules: Rules) -> None:
        """Write under these rules, with no class seen yet."""
        self._rules = rules
        self._plain_text = rules.policy.text_case == "exact" and rules.policy.text_trim == "none"
        self.seen: set[str] = set()

    def cell(self, value: object) -> bytes:
        """Return the length-prefixed canonical bytes of a cell."""
        kind = type(value)
        if value is None:
            return b"1:0"
        if kind is str and self._plain_text and cast(str, value).isascii():
            self.seen.add("text")
            data = b"t" + cast(str, value).encode()
        elif kind is int:
            self.seen.add("whole")
            data = b"n" + _number(cast(int, value))
        else:
            data = self._atom(self._rules.atom(value))
        return b"%d:%b" % (len(data), data)

    def _atom(self, atom: Atom) -> bytes:
        """Return the canonical bytes of an atom: a letter for its class, then its value."""
        kind = cast(str, atom[0])
        if kind == "null":
            return b"0"
        if kind == "num":
            self.seen.add("whole" if atom[1] != "f" and whole(cast(Number, atom[2])) else "real")
            return b"n" + _number(cast(Number, atom[2]))
        self.seen.add(kind)
        if kind == "text":
            return b"t" + cast(str, atom[1]).encode("utf-8", "surrogatepass")
        if kind == "seq":
            items = [self._atom(item) for item in cast(tuple[Atom, ...], atom[1])]
            return b"(" + b"".join(b"%d:%b" % (len(item), item) for item in items)
        if kind == "date" and self._rules.policy.date_midnight:
            kind = "ts"
        return b"%b=%b" % (kind.encode(), b"".join(map(_value, atom[1:])))


def _number(value: Number) -> bytes:
    """Return a finite number by value: whole ones to the last digit, fractions by their shortest spelling."""
    if isinstance(value, int):
        return b"%d" % value if -_SMALL < value < _SMALL else _written(Decimal(value))
    if isinstance(value, float):
        if not value.is_integer():
            return _written(Decimal(repr(value)))
        return b"%d" % int(value) if -_SMALL < value < _SMALL else _written(Decimal(value))
    return _written(value)


def _written(value: Decimal) -> bytes:
    """Return a Decimal without the zeros at its end, a small whole one as its digits."""
    if not value:
        return b"0"
    least = value.normalize(_EXACT)
    if least.adjusted() < _DIGITS and cast(int, least.as_tuple().exponent) >= 0:
        return b"%d" % int(least)
    return str(least).encode()


def _value(value: object) -> bytes:
    """Return the length-prefixed bytes of a part of an atom, documents included."""
    if isinstance(value, tuple):
        data = b"(" + b"".join(map(_value, value))
    elif isinstance(value, int | Decimal):  # a boolean too: the name of its class stands before it
        data = b"n" + _number(value)
    elif isinstance(value, bytes):
        data = b"b" + value
    else:
        data = b"t" + str(value).encode("utf-8", "surrogatepass")
    return b"%d:%b" % (len(data), data)


def row_bytes(writers: tuple[Writer, ...], row: Row, places: tuple[int, ...]) -> bytes:
    """Return the canonical bytes of a row's cells at these places, one writer a place."""
    return b"".join([writer.cell(row[place]) for writer, place in zip(writers, places, strict=True)])


def definite(seen: frozenset[str], rules: Rules) -> str | None:
    """Return None where unequal bytes of these classes are unequal cells, else what could still make them equal."""
    policy = rules.policy
    tolerant = rules.tolerance.relative > 0 or rules.tolerance.absolute > 0 or bool(policy.coarse_scale)
    read = {
        "temporal_text": policy.temporal_text and bool(seen & (_TIMES | {"far"})),
        "uuid_text": policy.uuid_text and "uuid" in seen,
        "json_text": policy.json_text and bool(seen & {"json", "seq"}),
        "text_numbers": rules.texts_may_be_numbers and bool(seen & {"whole", "real"}),
    }
    if tolerant and "real" in seen:
        return "a tolerance"
    if "json" in seen and (tolerant or seen - {"json"}):
        return "a JSON value"
    if "text" in seen and any(read.values()):
        return next(name for name, holds in read.items() if holds)
    if policy.naive_tz is not None and (("inst" in seen and seen & {"date", "ts"}) or {"timetz", "dur"} <= seen):
        return "naive_tz"
    return "arrays beside JSON" if {"json", "seq"} <= seen else None
