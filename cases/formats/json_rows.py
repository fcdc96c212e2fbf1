"""Look into the JSON files of foreign data sets: what their rows hold, and the rows with their lines."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sqlassay.cases.errors import InputError
from sqlassay.cases.paths import asks
from sqlassay.cases.reading import element_lines, parse_json, read_text, starts_with

_LOOK = 4 * 1024 * 1024


def first_keys(path: Path) -> frozenset[str]:
    """Return the keys of a JSON list's first object, nothing where the file is something else; never raises."""
    return frozenset(first_object(path))


def first_object(path: Path) -> dict[str, Any]:
    """Return a JSON list's first object, an empty one where the file is something else; never raises."""
    if not starts_with(path, b"["):
        return {}
    try:
        with path.open("rb") as stream:
            text = stream.read(_LOOK).decode("utf-8-sig", errors="ignore")
        value, _ = json.JSONDecoder().raw_decode(text, _after_bracket(text))
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _after_bracket(text: str) -> int:
    """Return the offset of the first element of a list."""
    start = text.index("[") + 1
    return start + len(text[start:]) - len(text[start:].lstrip())


def with_keys(files: Iterable[Path], *needed: str) -> tuple[Path, ...]:
    """Return the files whose first row has all of these keys."""
    return tuple(file for file in files if asks(file.is_file) and set(needed) <= first_keys(file))


def object_rows(path: Path) -> tuple[tuple[int, dict[str, Any] | None], ...]:
    """Return each element of a JSON list with its line; one that is no object is None.

    Raises:
        InputError: no UTF-8, no JSON, or no list.
    """
    text = read_text(path)
    value = parse_json(text, path)
    if not isinstance(value, list):
        raise InputError("not a list of rows", file=path, line=1, remedy="Write [{…}, {…}]")
    lines = element_lines(text)
    return tuple((lines(i), row if isinstance(row, dict) else None) for i, row in enumerate(value))
