"""Values of a config as what they must be: a whole number, a text, a mapping, or an error that names the place."""

from __future__ import annotations

from typing import Any

from sqlassay.cases.formats.evalbench_config import wrong
from sqlassay.cases.yaml_reading import YamlDocument


def whole(
    document: YamlDocument, place: tuple[str, ...], value: object, *, least: int, most: int | None = None
) -> int | None:
    """Return a whole number within its bounds, None where there is none.

    Raises:
        InputError: it is no such number.
    """
    if value is None:
        return None
    text = value.strip() if isinstance(value, str) else value
    number = int(text) if isinstance(text, str) and text.isdecimal() else text
    above = isinstance(number, int) and most is not None and number > most
    if isinstance(number, bool) or not isinstance(number, int) or number < least or above:
        bounds = f"from {least} to {most}" if most is not None else f"of at least {least}"
        raise wrong(document, place, f"a whole number {bounds} is expected", f"Write one, not '{value}'")
    return number


def section(document: YamlDocument, place: tuple[str, ...], value: object) -> dict[str, Any]:
    """Return a mapping; nothing under a key is an empty one."""
    if value is not None and not isinstance(value, dict):
        raise wrong(document, place, "a mapping is expected", f"Write `{place[-1]}:` with its keys under it")
    return value or {}


def text(document: YamlDocument, place: tuple[str, ...], value: object) -> str | None:
    """Return a text, None where there is none; it names a folder or a place, so it holds no control characters."""
    if value is not None and (not isinstance(value, str) or not value.strip() or not value.isprintable()):
        raise wrong(document, place, "a printable text is expected", "Write it in quotes, or leave the key out")
    return value
