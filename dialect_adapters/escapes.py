"""Names with Unicode escapes, as standard SQL writes them: `U&"…"`, four or six hexadecimal digits a character."""

from __future__ import annotations

import re

_ESCAPE = re.compile(r"\\(?:(\\)|([0-9A-Fa-f]{4})|\+([0-9A-Fa-f]{6}))")


def escaped_name(text: str) -> str | None:
    """Return the name between the quotes of `U&"…"`, None where an escape is none or names no printable character."""
    inside = text[text.index('"') + 1 : -1].replace('""', '"')
    if "\\" in _ESCAPE.sub("", inside):
        return None
    codes = [int(four or six, 16) for _, four, six in _ESCAPE.findall(inside) if four or six]
    if any(code < 0x20 or 0x7F <= code < 0xA0 or 0xD800 <= code < 0xE000 or code > 0x10FFFF for code in codes):  # noqa: PLR2004
        return None
    return _ESCAPE.sub(lambda found: "\\" if found[1] else chr(int(found[2] or found[3], 16)), inside)
