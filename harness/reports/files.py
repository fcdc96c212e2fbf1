"""Writes report files one way: UTF-8, newline at the end, connection logins taken out."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias, cast

from pydantic_core import PydanticSerializationError, to_json

from sqlassay.cases.paths import private
from sqlassay.harness.reports.escape import json_text, redact

Json: TypeAlias = "None | bool | int | float | str | list[Json] | dict[str, Json]"
_ABSOLUTE_PATH = re.compile(r"(?<![\w/.])/(?:[^\s/]+/)+([^\s/]+)")


def write_text(path: Path, text: str) -> Path:
    """Write a text file that ends with exactly one newline and return its path."""
    with open(path, "w", encoding="utf-8", newline="\n", opener=private) as stream:  # noqa: PTH123 (no opener there)
        stream.write(text.rstrip("\n") + "\n")
    return path


def write_json(path: Path, value: object) -> Path:
    """Write one JSON document in the order its keys were given and return its path.

    An object's iterators are written as lists, a row at a time, so that a long run's rows are never all in memory.
    """
    with open(path, "w", encoding="utf-8", newline="\n", opener=private) as stream:  # noqa: PTH123 (as above)
        for part in _members(value) if isinstance(value, dict) and value else _rendered(value, ""):
            stream.write(json_text(part))
        stream.write("\n")
    return path


def _members(value: Mapping[object, object]) -> Iterator[str]:
    """Yield an object's text in parts."""
    lead = "{\n  "
    for key, item in value.items():
        yield f"{lead}{_encoded(redact(str(key)))}: "
        yield from _rendered(item, "  ")
        lead = ",\n  "
    yield "\n}"


def _rendered(value: object, indent: str) -> Iterator[str]:
    """Yield the text of one value at a depth; a line end in JSON text is never part of a string."""
    if not isinstance(value, Iterator):
        yield _encoded(portable(value)).replace("\n", f"\n{indent}")
        return
    lead = f"[\n{indent}  "
    for row in value:
        yield lead + _encoded(portable(row)).replace("\n", f"\n{indent}  ")
        lead = f",\n{indent}  "
    yield "[]" if lead.startswith("[") else f"\n{indent}]"


def _encoded(plain: Json) -> str:
    """Return indented JSON; the standard library indents in Python, which is most of what many rows would cost."""
    try:
        return to_json(plain, indent=2).decode()
    except (PydanticSerializationError, ValueError):  # half a surrogate pair, which only the caller can spell
        return json.dumps(plain, ensure_ascii=False, indent=2, allow_nan=False)


def portable(value: object) -> Json:
    """Return plain JSON: no login in a connection string, no NaN."""
    # The exact types first: almost every cell of a report is one of these, and a long run has a million.
    kind = type(value)
    if kind is str:
        return redact(cast(str, value))
    if kind is dict:
        return {redact(str(key)): portable(item) for key, item in cast("dict[object, object]", value).items()}
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if isinstance(value, Mapping):
        return {redact(str(key)): portable(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        items = sorted(value, key=repr) if isinstance(value, set | frozenset) else value
        return [portable(item) for item in items]
    return redact(str(value))


def without_folders(value: object) -> Json:
    """Return settings as plain JSON with every absolute path cut to its last part."""
    plain = portable(value)
    if isinstance(plain, dict):
        return {key: without_folders(item) for key, item in plain.items()}
    if isinstance(plain, list):
        return [without_folders(item) for item in plain]
    return base_name(plain) if isinstance(plain, str) else plain


def base_name(text: str) -> str:
    """Return the text with each absolute path in it cut to its last part, so no folder of this machine is told."""
    return _ABSOLUTE_PATH.sub(r"\1", text)
