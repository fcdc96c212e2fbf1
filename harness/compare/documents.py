"""JSON documents by value: true is not 1, 1 equals 1.0, and the last of two equal keys wins."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from decimal import Decimal, InvalidOperation

Frozen = tuple[object, ...]


def read_document(text: str, *, spell: Callable[[str], str]) -> Frozen | None:
    """Return the value a JSON text stands for, frozen and hashable; None where it is not JSON.

    `spell` gives the form in which its strings are compared.
    """
    try:
        value = json.loads(text, parse_float=_number, parse_int=_number, parse_constant=_refuse)
        return freeze(value, spell=spell)
    except (ValueError, RecursionError, InvalidOperation):
        return None


def _number(text: str) -> Decimal:
    """Keep every digit of a JSON number, however long."""
    return Decimal(text)


def _refuse(name: str) -> object:
    """Refuse NaN and Infinity, which JSON does not know.

    Raises: ValueError always.
    """
    raise ValueError(name)


def freeze(value: object, *, spell: Callable[[str], str]) -> Frozen:
    """Return a decoded JSON value, or an array cell seen as one, as nested tagged tuples.

    Raises: RecursionError past Python's depth, TypeError never: foreign leaves are kept by their text.
    """
    if value is None:
        return ("null",)
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, int | Decimal):
        return ("n", value)
    if isinstance(value, float):
        return ("n", Decimal(repr(value))) if math.isfinite(value) else ("s", repr(value))
    if isinstance(value, str):
        return ("s", spell(value))
    if isinstance(value, list | tuple):
        return ("l", tuple(freeze(item, spell=spell) for item in value))
    if isinstance(value, dict):
        items = {spell(str(key)): freeze(item, spell=spell) for key, item in value.items()}
        return ("o", tuple(sorted(items.items())))
    return ("s", str(value))
