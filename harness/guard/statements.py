"""Read the statements a person wants judged: JSON lines, or any shape that predictions have; bad lines are named."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlassay.cases.columns import guess
from sqlassay.cases.errors import InputError
from sqlassay.cases.prediction_forms import BIRD_MARK
from sqlassay.cases.reading import parse_json, read_text, starts_with
from sqlassay.cases.tables import DELIMITED, EXCEL, SHEET, choices, named_part, read_table

_log = logging.getLogger("sqlassay.packs")

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
    """One statement with the name its line gives it; a prediction without a statement has None."""

    id: str | int
    sql: str | None


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


def statements_of(path: Path) -> Iterator[Statement | InputError]:
    """Yield every statement of a file: our own lines as they come, else a table, a JSON list or a map of {id: sql}.

    Raises:
        InputError: the file cannot be read, or no column of it is clearly the statements'.
    """
    file, named = named_part(path)
    if file.suffix.lower() not in (*DELIMITED, *EXCEL) and not named:
        value = None if starts_with(file, b"[") else _one_object(file)
        if value is not None and not {"id", "case_id", "sql"} & set(value):
            yield from _of_map(value, str(file))
            return
        if not starts_with(file, b"[") and (value is not None or _has_names(file)):
            with file.open("rb") as stream:
                yield from read_statements(stream, str(file))
            return
    table = read_table(file, sheet=choices(named).get(SHEET))
    found = guess(table, ("id", "row", "question", "sql"), ("sql",), choices(named))
    _log.warning("columns of %s", found.told(table))
    for number, row in enumerate(table.rows, 1):
        name = next((row.cells.get(found.columns[role]) for role in ("id", "row") if role in found.columns), None)
        sql = row.cells.get(found.columns["sql"])
        yield Statement(number if name is None else str(name), None if sql is None else str(sql))


def _one_object(file: Path) -> dict[str, Any] | None:
    """Return the one JSON object that a file is, None where it is lines or anything else."""
    try:
        value = parse_json(read_text(file), file)
    except InputError:
        return None
    return value if isinstance(value, dict) else None


def _of_map(value: dict[str, Any], file: str) -> Iterator[Statement | InputError]:
    """Yield each entry of a map of statements, BIRD's mark and database taken off."""
    for name, written in value.items():
        sql = written.get("sql") if isinstance(written, dict) else written
        if sql is None or isinstance(sql, str):
            yield Statement(name, sql if sql is None else sql.partition(BIRD_MARK)[0])
        else:
            yield InputError("the statement is no text", file=file, field=name, remedy='Write {"ID": "SQL", …}')


def _has_names(file: Path) -> bool:
    """Return False where the first line is an object of other names than ours: its columns are to be guessed."""
    with file.open("rb") as stream:
        first = next((line for line in stream if line.strip(b"\xef\xbb\xbf \t\r\n")), b"")
    try:
        value = json.loads(first.removeprefix(_BOM))
    except (ValueError, RecursionError):
        return True
    return not isinstance(value, dict) or "sql" in value or not value


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
    name, sql = value.get("id", value.get("case_id")), value.get("sql")
    if not isinstance(name, (str, int)) or isinstance(name, bool):
        raise InputError("the id is no text", file=file, line=number, field="id", remedy="Give every line an id")
    if sql is None and "sql" in value and "case_id" in value:
        return Statement(name, None)
    if not isinstance(sql, str):
        raise InputError("the sql is no text", file=file, line=number, field="sql", remedy="Give every line its SQL")
    return Statement(name, expand(sql) if value.get("sql_template") is True else sql)
