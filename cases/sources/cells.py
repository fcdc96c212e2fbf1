"""Read one CSV field as a value of a column's kind."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from uuid import UUID

from sqlassay.cases.errors import InputError
from sqlassay.cases.relation import FarTemporal, Interval, Json, Kind
from sqlassay.cases.storable import storable
from sqlassay.cases.typed_json import decode

_TRUE = frozenset({"true", "t", "1", "yes"})
_FALSE = frozenset({"false", "f", "0", "no"})
_INT = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_FAR = re.compile(r"[+-]?infinity|[0-9]{4,6}-[0-9]{2}-[0-9]{2}([ T][0-9:.]+([+-][0-9:]+|Z)?)?( BC)?")
_INTERVAL = re.compile(
    r"(?P<sign>-)?P(?:(?P<y>-?\d+)Y)?(?:(?P<m>-?\d+)M)?(?:(?P<w>-?\d+)W)?(?:(?P<d>-?\d+)D)?"
    r"(?:T(?:(?P<h>-?\d+)H)?(?:(?P<mi>-?\d+)M)?(?:(?P<s>-?\d+(?:\.\d{1,6})?)S)?)?"
)


def parse(kind: Kind, text: str) -> object:
    """Return the cell that `text` spells in a column of `kind`.

    Raises:
        ValueError: the text spells no such value; the message says what was expected.
    """
    reader = _READERS.get(kind)
    if reader is None:
        return text
    try:
        return reader(text)
    except (ValueError, ArithmeticError, InputError, RecursionError):
        raise ValueError(f"'{text[:40]}' is no {_EXPECTED.get(kind, kind)}") from None


def _bool(text: str) -> bool:
    """Read true or false."""
    lowered = text.strip().lower()
    if lowered in _TRUE:
        return True
    if lowered in _FALSE:
        return False
    raise ValueError(text)


def _int(text: str) -> int:
    """Read a whole number of 64 bits; Python's own int() would also take 1_000 and other scripts' digits."""
    if not _INT.fullmatch(text.strip()):
        raise ValueError(text)
    number = int(text)
    if not -(2**63) <= number < 2**63:
        raise ValueError(text)
    return number


def _decimal(text: str) -> Decimal:
    """Read a decimal number with its scale."""
    if not _DECIMAL.fullmatch(text.strip()):
        raise ValueError(text)
    return Decimal(text.strip())


def _float(text: str) -> float:
    """Read a binary number, nan, inf or -inf."""
    stripped = text.strip().lower()
    if stripped not in ("nan", "inf", "-inf") and not _DECIMAL.fullmatch(stripped):
        raise ValueError(text)
    return float(stripped)


def _far(text: str) -> FarTemporal:
    """Read a date or timestamp Python cannot hold."""
    if not _FAR.fullmatch(text):
        raise ValueError(text)
    return FarTemporal(text)


def _beyond(text: str) -> bool:
    """Return True where a moment is past what Python holds, so that a mere typing error stays an error."""
    return text.endswith(("infinity", " BC")) or bool(re.match(r"[0-9]{5,}-", text))


def _date(text: str) -> date | FarTemporal:
    """Read an ISO date."""
    return _far(text) if _beyond(text) else date.fromisoformat(text)


def _timestamp(text: str) -> datetime | FarTemporal:
    """Read an ISO timestamp without an offset."""
    if _beyond(text):
        return _far(text)
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is not None:
        raise ValueError(text)
    return moment


def _timestamptz(text: str) -> datetime | FarTemporal:
    """Read an ISO timestamp; without an offset it is UTC."""
    if _beyond(text):
        return _far(text)
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _interval(text: str) -> Interval:
    """Read an ISO 8601 duration."""
    found = _INTERVAL.fullmatch(text.strip())
    if not found or text.strip().endswith(("P", "T")):
        raise ValueError(text)
    part = {name: Decimal(value) for name, value in found.groupdict(default="0").items() if name != "sign"}
    sign = -1 if found["sign"] else 1
    months = int(part["y"] * 12 + part["m"])
    days = int(part["w"] * 7 + part["d"])
    micros = int(((part["h"] * 60 + part["mi"]) * 60 + part["s"]) * 1_000_000)
    return Interval(sign * months, sign * days, sign * micros)


def _bytes(text: str) -> bytes:
    r"""Read bytes as \x followed by hexadecimal digits."""
    if not text.startswith("\\x"):
        raise ValueError(text)
    return bytes.fromhex(text[2:])


def _json(text: str) -> Json:
    """Read a JSON document, kept as written."""
    json.loads(text)
    return Json(text)


def _array(text: str) -> object:
    """Read an array as a JSON list of typed JSON values."""
    return decode({"$array": storable(json.loads(text))})


def _bits(text: str) -> str:
    """Read a bit string of 0 and 1."""
    if not re.fullmatch("[01]*", text):
        raise ValueError(text)
    return text


_READERS: dict[Kind, Callable[[str], object]] = {
    Kind.BOOL: _bool,
    Kind.INT: _int,
    Kind.DECIMAL: _decimal,
    Kind.FLOAT32: _float,
    Kind.FLOAT64: _float,
    Kind.DATE: _date,
    Kind.TIME: time.fromisoformat,
    Kind.TIMETZ: time.fromisoformat,
    Kind.TIMESTAMP: _timestamp,
    Kind.TIMESTAMPTZ: _timestamptz,
    Kind.INTERVAL: _interval,
    Kind.BYTES: _bytes,
    Kind.UUID: UUID,
    Kind.JSON: _json,
    Kind.ARRAY: _array,
    Kind.BITS: _bits,
}
_EXPECTED = {
    Kind.BOOL: "bool (true or false)",
    Kind.INT: "whole number of 64 bits (a decimal column holds larger ones)",
    Kind.DECIMAL: "decimal number",
    Kind.DATE: "ISO date (2026-01-31)",
    Kind.TIMESTAMP: "ISO timestamp without an offset (2026-01-31 12:00:00)",
    Kind.TIMESTAMPTZ: "ISO timestamp (2026-01-31 12:00:00+00:00)",
    Kind.INTERVAL: "ISO duration (P1Y2M3DT4H5M6S)",
    Kind.BYTES: "byte string (\\xDEADBEEF)",
    Kind.ARRAY: "JSON list",
}
