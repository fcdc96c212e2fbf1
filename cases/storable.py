"""What a value may hold so that it can be written down again: text UTF-8 can hold, and numbers JSON can."""

from __future__ import annotations

import math
import re

from sqlassay.cases.faults import Place

_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|.)", re.S)
_ANY_HALF = re.compile(r"\\u[dD][89a-fA-F]")
_SURROGATE = re.compile("[\ud800-\udfff]")
HALF = "half a character (a lone surrogate such as \\ud800), which no UTF-8 file can hold"
ENDLESS = "NaN or infinity, which no JSON file can hold"


def storable(value: object) -> object:
    """Return a value that JSON and UTF-8 can hold.

    Raises:
        ValueError: they cannot; the message says where in the value and why.
    """
    found = unstorable(value)
    if found is None:
        return value
    place, why = found
    where = ".".join(str(part) for part in place)
    raise ValueError(f"holds {why}" + (f" (at {where})" if where else ""))


def unstorable(value: object) -> tuple[Place, str] | None:
    """Return where a value holds what cannot be written down, and why, or None; depth costs no frames."""
    todo: list[tuple[Place, object]] = [((), value)]
    while todo:
        place, item = todo.pop()
        if isinstance(item, str):
            if is_half(item):
                return place, HALF
        elif isinstance(item, float):
            if not math.isfinite(item):
                return place, ENDLESS
        elif isinstance(item, dict):
            if any(isinstance(key, str) and is_half(key) for key in item):
                return place, HALF
            todo += [((*place, str(key)), inner) for key, inner in item.items()]
        elif isinstance(item, list | tuple):
            todo += [((*place, index), inner) for index, inner in enumerate(item)]
    return None


def is_half(text: str) -> bool:
    """Return True for text that holds a surrogate, which is half of a character."""
    return not text.isascii() and _SURROGATE.search(text) is not None


def half_escape(text: str) -> int | None:
    r"""Return the offset of the first \u escape in JSON text that is half of a character, or None."""
    high: re.Match[str] | None = None
    for found in _ESCAPE.finditer(text) if _ANY_HALF.search(text) else ():
        code = int(found[1], 16) if found[1] else 0
        joined = high is not None and high.end() == found.start() and 0xDC00 <= code <= 0xDFFF
        if high is not None and not joined:
            return high.start()
        high = found if 0xD800 <= code <= 0xDBFF else None
        if 0xDC00 <= code <= 0xDFFF and not joined:
            return found.start()
    return high.start() if high is not None else None
