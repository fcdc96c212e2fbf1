"""SQLAS test cases as JSON: a list, or {"db_path": FILE, "test_cases": [...]}; the database is one SQLite file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sqlassay.cases.errors import InputError
from sqlassay.cases.formats.databases import SQLITE, Found
from sqlassay.cases.formats.foreign import DataSet, ForeignRow, alternatives, pack_of, text_of
from sqlassay.cases.formats.json_rows import first_keys, object_rows
from sqlassay.cases.pack import Pack
from sqlassay.cases.paths import asks
from sqlassay.cases.reading import parse_json, read_text, starts_with

_LISTS = ("test_cases", "cases")
_LOOK = 65_536


class SqlasFormat:
    """Reads TestCase(question, gold_sql, gold_sqls, category, hardness, expected_nonempty) written as JSON objects."""

    name = "sqlas"

    def detect(self, path: Path) -> bool:
        """Return True for a list of objects with question and gold_sql(s), or an object with such test_cases."""
        keys = first_keys(path)
        if keys:
            return "question" in keys and bool(keys & {"gold_sql", "gold_sqls"})
        if path.suffix != ".json" or not starts_with(path, b"{"):
            return False
        with path.open("rb") as stream:
            head = stream.read(_LOOK)
        return b'"test_cases"' in head and b'"gold_sql' in head

    def load(self, path: Path) -> Pack:
        """Return the pack; case ids are case-0001 and on, the category and hardness become tag and difficulty.

        Raises:
            InputError: malformed JSON, or no database: none named, and not exactly one SQLite file beside it.
        """
        raw, named = _written(path)
        rows = tuple(_row(number, one) for number, one in enumerate(raw, 1))
        found = Found("data", (_database(path, named),))
        return pack_of(DataSet(path.stem, path, self.name, rows, lambda _: found, (), (path,)))


def _written(path: Path) -> tuple[list[dict[str, Any] | None], str | None]:
    """Return the test cases as written and the database the file names."""
    if starts_with(path, b"["):
        return [row for _, row in object_rows(path)], None
    text = read_text(path)
    value = parse_json(text, path)
    key = next((name for name in _LISTS if isinstance(value, dict) and isinstance(value.get(name), list)), None)
    if not isinstance(value, dict) or key is None:
        remedy = 'Write [{"question": …, "gold_sql": …}] or {"db_path": …, "test_cases": […]}'
        raise InputError("no test cases", file=path, line=1, remedy=remedy)
    named = value.get("db_path")
    return [row if isinstance(row, dict) else None for row in value[key]], named if isinstance(named, str) else None


def _database(path: Path, named: str | None) -> Path:
    """Return the SQLite file: the one named, relative to the file, or the only one beside it."""
    folder = path.absolute().parent
    if named is not None:
        file = folder / named
        if asks(file.is_file):
            return file
        remedy = "Correct the path; it is relative to this file"
        raise InputError(f"no file {json.dumps(named)}", file=path, field="db_path", remedy=remedy)
    beside = sorted(file for file in folder.iterdir() if file.suffix in SQLITE and file.is_file())
    if len(beside) != 1:
        message = f"{len(beside)} SQLite files beside the test cases, one is needed"
        raise InputError(message, file=path, field="db_path", remedy='Write {"db_path": FILE, "test_cases": […]}')
    return beside[0]


def _row(number: int, raw: dict[str, Any] | None) -> ForeignRow:
    """Return one test case in our words."""
    row_id = f"case-{number:04d}"
    if raw is None:
        return ForeignRow(row_id, "data", reason="it is no object")
    gold = tuple(dict.fromkeys((*alternatives(raw.get("gold_sql")), *alternatives(raw.get("gold_sqls")))))
    category = text_of(raw.get("category"))
    return ForeignRow(
        text_of(raw.get("id")) or row_id,
        "data",
        question=text_of(raw.get("question")),
        gold={"sqlite": gold} if gold else {},
        difficulty=text_of(raw.get("hardness")) or None,
        tags=(category,) if category else (),
    )
