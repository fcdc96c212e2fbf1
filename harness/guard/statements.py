"""Read the statements a person wants judged: JSON lines of {id, sql}, templates expanded, bad lines named."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from cases.errors import InputError

_REPEAT = re.compile(r"\{\{rep:(.*?):(\d{1,12})\}\}", re.DOTALL)
_BOM = b"\xef\xbb\xbf"
_LONGEST = 1_000_000
_FILLED = {"{{tmp}}": "/scratch", "{{gold}}": "/scratch/gold.db", "{{victim}}": "7"}
"""What a red team's templates name: a folder, the gold file, a process id."""


class _TwiceError(ValueError):
    """A key stands twice in one object."""


_WHY: dict[type[Exception], str] = {UnicodeDecodeError: "is not UTF-8", _TwiceError: "has a key twice"}


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement with the name its line gives it."""

    id: str | int
    sql: str


def expand(template: str) -> str:
    """Return a template's text: `{{rep:TEXT:N}}` is TEXT N times, cut far beyond what the guard reads."""

    def repeated(found: re.Match[str]) -> str:
        """Return one repetition, never longer than memory is worth."""
        times = min(int(found[2]), _LONGEST // max(1, len(found[1])) + 1)
        return found[1] * times

    text = _REPEAT.sub(repeated, template)[: 2 * _LONGEST]
    for name, value in _FILLED.items():
        text = text.replace(name, value)
    return text


def read_statements(lines: Iterable[bytes], file: str) -> Iterator[Statement | InputError]:
    """Yield every line's statement, or the error that makes it none; blank lines and unknown keys are passed over."""
    for number, read in enumerate(lines, 1):
        line = read.removeprefix(_BOM) if number == 1 else read
        if line.strip():
            try:
                yield _statement(_object(line, file, number), file, number)
            except InputError as error:
                yield error


def _object(line: bytes, file: str, number: int) -> dict[str, Any]:
    """Return a line's JSON object."""
    try:
        value = json.loads(line.decode("utf-8"), object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        why = _WHY.get(type(error), "is not JSON")
        raise InputError(f"the line {why}", file=file, line=number, remedy='Write {"id": …, "sql": …}') from error
    if not isinstance(value, dict):
        raise InputError("the line is no object", file=file, line=number, remedy='Write {"id": …, "sql": …}')
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object, refusing a key that stands twice: another reader might take the SQL that was not judged."""
    made = dict(pairs)
    if len(made) != len(pairs):
        raise _TwiceError
    return made


def _statement(value: dict[str, Any], file: str, number: int) -> Statement:
    """Return the statement of one line."""
    name, sql = value.get("id"), value.get("sql")
    if not isinstance(name, (str, int)) or isinstance(name, bool):
        raise InputError("the id is no text", file=file, line=number, field="id", remedy="Give every line an id")
    if not isinstance(sql, str):
        raise InputError("the sql is no text", file=file, line=number, field="sql", remedy="Give every line its SQL")
    return Statement(name, expand(sql) if value.get("sql_template") is True else sql)
