"""One cell at a time: its atom (class and canonical value under a policy) and whether two atoms are equal.

An atom is a tuple whose first item names the class: null, bool, num, nan, inf, text, bytes, date, ts (naive),
inst (aware), dur, timetz, uuid, json, seq, far, other. Two equal atoms are equal cells; two unequal ones may
still be, because text also stands for what an engine without the type would have written.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import cast
from uuid import UUID

from sqlassay.cases.policy import Policy
from sqlassay.cases.relation import FarTemporal, Interval, Json, Kind
from sqlassay.harness.compare import temporal
from sqlassay.harness.compare.documents import freeze, read_document
from sqlassay.harness.compare.numbers import EXACTLY, Number, Tolerance, exact, half_unit, near, scale_of, whole

Atom = tuple[object, ...]
Document = tuple[object, ...]

_BITS = re.compile(r"[01]+", re.ASCII)
_FINER = re.compile(r":\d\d\.\d{6}\d*[1-9]", re.ASCII)
_MIDNIGHT = re.compile(r" 00:00:00(?:\.0+)?(?= bc$|$)", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,9})?", re.ASCII)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE | re.ASCII)
_TIMES = frozenset({"date", "ts", "inst", "dur", "timetz"})
_NULL: Atom = ("null",)


def at_full_scale(policy: Policy) -> Policy:
    """Return the policy with every digit of a Decimal counting."""
    return policy.model_copy(update={"scale_aware": False, "quotient_scale": None})


@lru_cache(maxsize=64)
def _trimmed(policy: Policy) -> Policy:
    """Return the policy with blanks at the end of texts left out."""
    return policy.model_copy(update={"text_trim": "right"})


@dataclass(frozen=True, slots=True)
class Rules:
    """What a policy says about cells, with the tolerance that holds for the columns at hand.

    `bits` where one of them holds bit strings that the policy reads as the numbers they spell.
    """

    policy: Policy
    tolerance: Tolerance
    bits: bool

    @classmethod
    def of(cls, policy: Policy, *kinds: Kind) -> Rules:
        """Return the rules of a policy for columns of these kinds: float32 is less precise, CHAR is filled up."""
        if Kind.CHAR in kinds and policy.text_trim == "none":
            policy = _trimmed(policy)  # to SQL the blanks that fill a CHAR are no part of it
        relative = max(policy.rel_tol, policy.float32_rel_tol) if Kind.FLOAT32 in kinds else policy.rel_tol
        return cls(policy, Tolerance(relative, policy.abs_tol), policy.bits_as_int and Kind.BITS in kinds)

    @property
    def texts_may_be_numbers(self) -> bool:
        """Tell whether a text may equal a number."""
        return self.policy.text_numbers or self.bits

    def exact(self) -> Rules:
        """Return the same rules without any tolerance: canonical equality."""
        return replace(self, policy=at_full_scale(self.policy), tolerance=Tolerance(0, 0))

    def atom(self, cell: object) -> Atom:
        """Return the atom of any value; a value of no known class is kept by type and text."""
        if cell is None:
            return _NULL
        maker = _MAKERS.get(type(cell)) or next(
            (made for kind, made in _MAKERS.items() if isinstance(cell, kind)), None
        )
        try:
            return ("other", type(cell).__name__, brief(cell)) if maker is None else maker(self, cell)
        except (ValueError, OverflowError, RecursionError, InvalidOperation):  # a released buffer, a NaN payload …
            return ("other", type(cell).__name__, brief(cell))

    def same(self, left: Atom, right: Atom) -> bool:
        """Tell whether two atoms are equal cells under the policy, tolerance included."""
        if left == right:
            return True
        kinds = (left[0], right[0])
        if kinds == ("num", "num"):
            return self._close(left, right)
        if kinds[0] == "text" and kinds[1] != "text":
            return self._reads_as(right, cast(str, left[1]))
        if kinds[1] == "text" and kinds[0] != "text":
            return self._reads_as(left, cast(str, right[1]))
        if kinds == ("seq", "seq"):
            return self._same_items(cast(tuple[Atom, ...], left[1]), cast(tuple[Atom, ...], right[1]))
        if kinds == ("seq", "json"):
            return self._spells(left, cast(tuple[object, ...], right[1]))
        if kinds == ("json", "seq"):
            return self._spells(right, cast(tuple[object, ...], left[1]))
        if kinds == ("json", "json"):
            return self._same_documents(cast(Document, left[1]), cast(Document, right[1]))
        if "json" in kinds and "null" not in kinds:
            scalar, document = (right, left) if kinds[0] == "json" else (left, right)
            return self._spells(scalar, cast(Document, document[1]))
        return self._same_moment(left, right)

    def _same_documents(self, left: Document, right: Document) -> bool:
        """Tell whether two JSON values are equal, the numbers in them as numbers anywhere."""
        kind, first, second = left[0], left[-1], right[-1]
        if kind != right[0] or kind not in ("n", "l", "o"):
            return left == right
        if kind == "n":
            return self._close(_number(document_number(first)), _number(document_number(second)))
        ours, theirs = cast(tuple[tuple[object, ...], ...], first), cast(tuple[tuple[object, ...], ...], second)
        if len(ours) != len(theirs):
            return False
        if kind == "l":
            return all(map(self._same_documents, ours, theirs))
        return all(
            name == other and self._same_documents(cast(Document, one), cast(Document, two))
            for (name, one), (other, two) in zip(ours, theirs, strict=True)
        )

    def _same_items(self, left: tuple[Atom, ...], right: tuple[Atom, ...]) -> bool:
        """Tell whether two arrays are equal item by item."""
        return len(left) == len(right) and all(map(self.same, left, right))

    def _spells(self, atom: Atom, document: tuple[object, ...]) -> bool:
        """Tell whether an array, or an item of one, is what a JSON value says: JSON has few types of its own."""
        kind, value = atom[0], document[-1]
        if kind == "seq" and document[0] == "l":
            items, spelt = cast(tuple[Atom, ...], atom[1]), cast(tuple[tuple[object, ...], ...], value)
            return len(items) == len(spelt) and all(map(self._spells, items, spelt))
        if kind == "num" and document[0] == "n":
            return self._close(atom, _number(document_number(value)))
        if kind == "num" and document[0] == "bool":
            return self.policy.bool_as_int and atom[1:] == ("i", int(cast(bool, value)))
        if document[0] == "s" and kind not in ("text", "seq", "json"):
            return self._reads_as(atom, cast(str, value))
        return self._document_of(atom) == document

    @staticmethod
    def _document_of(atom: Atom) -> object:
        """Return the JSON value that a NULL, boolean, text or document within an array is written as."""
        names = {"null": "null", "bool": "bool", "text": "s"}
        kind = cast(str, atom[0])
        return atom[1] if kind == "json" else (names.get(kind, kind), *atom[1:])

    def _close(self, left: Atom, right: Atom) -> bool:
        """Compare two numbers: exactly where both are whole and not both floats, else within tolerance.

        The tolerance of the presets is for the noise of floats: amounts and decimals of one scale have none.
        """
        first, second = cast(Number, left[2]), cast(Number, right[2])
        if (left[1], right[1]) != ("f", "f") and whole(first) and whole(second):
            return first == second
        least = self.policy.coarse_scale
        half = None if least is None else half_unit(first, second, least)
        tolerance = EXACTLY if self.tolerance.fine and exact(first, second) else self.tolerance
        return near(first, second, tolerance, half)

    def _same_moment(self, left: Atom, right: Atom) -> bool:
        """Compare a date with a timestamp, or a wall clock with an instant where the policy names its zone."""
        kinds = {left[0], right[0]}
        if kinds == {"date", "ts"}:
            return self.policy.date_midnight and left[1] == right[1]
        if kinds == {"ts", "inst"}:
            return self.policy.naive_tz is not None and self.instant(left) == self.instant(right)
        if kinds == {"dur", "timetz"}:
            return self.policy.naive_tz is not None and self.clock(left) == self.clock(right)
        return False

    def instant(self, moment: Atom) -> int:
        """Return the instant of a date, wall clock or instant, in the policy's zone where it has none."""
        micros = cast(int, moment[1])
        if moment[0] == "inst" or self.policy.naive_tz is None:
            return micros
        instant = temporal.instant_in(micros, temporal.zone_named(self.policy.naive_tz))
        return temporal.cut("inst", instant, self.policy.temporal_precision)

    def clock(self, shown: Atom) -> Atom:
        """Return a time of day as a zoned one where the policy's zone has one offset all year, else as it is."""
        zone = None if self.policy.naive_tz is None else temporal.zone_named(self.policy.naive_tz)
        offset = None if zone is None or shown[0] != "dur" else temporal.steady_offset(zone)
        return shown if offset is None else self.moment("timetz", cast(int, shown[1]) - offset)

    def _reads_as(self, typed: Atom, text: str) -> bool:
        """Tell whether a text says the value of a typed cell, where the policy reads such texts."""
        if self.policy.json_string_as_text and typed == ("json", ("s", text)):
            return True
        read = self.read(text, frozenset({cast(str, typed[0])}))
        return read is not None and self.same(typed, read)

    def read(self, text: str, kinds: frozenset[str]) -> Atom | None:
        """Read a text as one of the given classes if the policy allows and the text is one; else None."""
        policy = self.policy
        if policy.temporal_text and kinds & _TIMES:
            found = temporal.read_text(text)
            if found is not None:
                return self.moment(cast(str, found[0]), cast(int, found[1]))
        if policy.uuid_text and "uuid" in kinds and _UUID.fullmatch(text):
            return ("uuid", UUID(text).int)
        if self.bits and "num" in kinds and _BITS.fullmatch(text):
            return _number(int(text, 2))
        if policy.text_numbers and "num" in kinds and _NUMBER.fullmatch(text):
            return _number(Decimal(text))
        if policy.json_text and kinds & {"json", "seq"}:
            document = read_document(text, spell=self.text)
            if document is not None:
                return ("json", document)
        return _far(self, text) if policy.temporal_text and "far" in kinds else None

    def text(self, value: str) -> str:
        """Return a text in the form the policy compares: normalised, folded, trimmed of spaces."""
        policy = self.policy
        norm = policy.text_norm == "NFC" and not value.isascii()
        text = unicodedata.normalize("NFC", value) if norm else value
        if policy.text_case == "fold":
            text = unicodedata.normalize("NFC", text.casefold()) if norm else text.casefold()
        if policy.text_trim == "right":
            return text.rstrip(" ")
        return text.strip(" ") if policy.text_trim == "both" else text

    def moment(self, kind: str, micros: int) -> Atom:
        """Return a time atom cut to the policy's precision."""
        return (kind, temporal.cut(kind, micros, self.policy.temporal_precision))


def document_number(value: object) -> Number:
    """Return a number of a JSON value as its writer held it: a fraction that a float can be is a float."""
    number = cast(Number, value)
    if not isinstance(number, Decimal) or whole(number):
        return number
    held = float(number)
    return held if Decimal(repr(held)) == number else number


def _number(value: Number) -> Atom:
    """Return the atom of a number: its flavour (f float, d Decimal, i integer) and value; NaN and infinity apart."""
    if isinstance(value, int):
        return ("num", "i", int(value))
    if isinstance(value, Decimal) and value.is_nan():
        return ("nan",)
    if isinstance(value, float) and math.isnan(value):
        return ("nan",)
    if value in (math.inf, -math.inf):
        return ("inf", value > 0)
    return ("num", "f" if isinstance(value, float) else "d", value)


def _decimal_atom(rules: Rules, cell: Decimal) -> Atom:
    """Return the atom of a Decimal; its scale tells it apart only where the policy looks at scales."""
    atom = _number(cell)
    return (*atom, scale_of(cell)) if atom[0] == "num" and rules.policy.coarse_scale else atom


def canonical(atom: Atom) -> Atom:
    """Return an atom so that equality alone decides: 1, 1.0 and Decimal(1) become one."""
    if atom[0] == "num":
        return ("num", atom[2])
    if atom[0] == "seq":
        return ("seq", tuple(canonical(item) for item in cast(tuple[Atom, ...], atom[1])))
    return atom


def _far(rules: Rules, text: str) -> Atom:
    """Return the atom of a moment outside Python's calendar: the moment where the calendar goes on, else its text.

    In the text of an infinity or a zero date spaces, case and a midnight do not count.
    """
    if rules.policy.temporal_precision == "us" and _FINER.search(text):
        return ("far", text.casefold().replace("t", " ").strip().rstrip("0"))  # no digit that an engine gave is dropped
    found = temporal.read_text(text.strip())
    if found is not None:
        return rules.moment(cast(str, found[0]), cast(int, found[1]))
    if not text[:1].isdigit():
        return ("far", text.casefold().strip())
    spelt = " ".join(text.casefold().replace("t", " ").split())
    return ("far", _MIDNIGHT.sub("", spelt) if rules.policy.date_midnight else spelt)


def _moment_atom(rules: Rules, cell: datetime) -> Atom:
    """Return the atom of a datetime."""
    return rules.moment(*temporal.moment(cell))


def _json_atom(rules: Rules, cell: Json) -> Atom:
    """Return the atom of a JSON document; a broken one is kept by its text."""
    document = read_document(cell.text, spell=rules.text)
    return ("other", "Json", cell.text) if document is None else ("json", document)


_MAKERS: dict[type, Callable[[Rules, object], Atom]] = cast(
    dict[type, Callable[[Rules, object], Atom]],
    {
        bool: lambda rules, cell: ("num", "i", int(cell)) if rules.policy.bool_as_int else ("bool", bool(cell)),
        int: lambda _, cell: _number(cell),
        float: lambda _, cell: _number(cell),
        Decimal: _decimal_atom,
        str: lambda rules, cell: ("text", rules.text(cell)),
        bytes: lambda _, cell: ("bytes", cell),
        bytearray: lambda _, cell: ("bytes", bytes(cell)),
        memoryview: lambda _, cell: ("bytes", cell.tobytes()),
        datetime: _moment_atom,
        date: lambda _, cell: ("date", temporal.midnight(cell)),
        time: lambda rules, cell: rules.moment(*temporal.clock(cell)),
        timedelta: lambda rules, cell: rules.moment("dur", temporal.length(cell)),
        Interval: lambda rules, cell: rules.moment("dur", temporal.length(cell)),
        UUID: lambda _, cell: ("uuid", cell.int),
        Json: _json_atom,
        dict: lambda rules, cell: ("json", freeze(cell, spell=rules.text)),
        FarTemporal: lambda rules, cell: _far(rules, cell.text),
        tuple: lambda rules, cell: ("seq", tuple(rules.atom(item) for item in cell)),
        list: lambda rules, cell: ("seq", tuple(rules.atom(item) for item in cell)),
    },
)


def brief(cell: object, limit: int = 60) -> str:
    """Return a value as a person would read it, cut short; never fails."""
    try:
        text = repr(cell)
    except Exception:  # noqa: BLE001 (a foreign value's repr may raise anything; evidence must still be printed)
        text = f"<{type(cell).__name__}>"
    return text if len(text) <= limit else text[: limit - 1] + "…"
