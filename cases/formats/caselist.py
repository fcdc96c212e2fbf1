"""A plain list of cases, JSON lines or one JSON list, each naming its database; the SQLite files lie beside."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from sqlassay.cases.errors import InputError
from sqlassay.cases.formats.databases import find_one, named_folders
from sqlassay.cases.formats.foreign import DataSet, ForeignRow, alternatives, pack_of, tag_list, text_of
from sqlassay.cases.formats.json_rows import first_object
from sqlassay.cases.pack import Pack
from sqlassay.cases.reading import json_lines, json_records, starts_with

FOLDERS = ("databases", "database")
_DATABASE = ("db", "database", "db_id")


class CaseListFormat:
    """Reads `{"id", "db", "question", "gold": {dialect: sql | [sql]}}`; `db_id` and `database` do too."""

    name = "caselist"

    def detect(self, path: Path) -> bool:
        """Return True for JSON lines, or a list, whose first object has gold and a database."""
        if path.suffix == ".json":
            return _is_case(first_object(path))
        if path.suffix != ".jsonl" or not starts_with(path, b"{"):
            return False
        try:
            first = next(json_lines(path), None)
        except InputError:
            return False
        return first is not None and isinstance(first.value, dict) and _is_case(first.value)

    def load(self, path: Path) -> Pack:
        """Return the pack.

        Raises:
            InputError: malformed lines, or no database beside the file.
        """
        rows = tuple(
            _row(record.line, record.value if isinstance(record.value, dict) else None) for record in json_records(path)
        )
        parents = path.absolute().parents[:2]
        roots = tuple(folder for parent in parents for folder in named_folders(parent, FOLDERS))
        return pack_of(DataSet(path.stem, path, self.name, rows, partial(find_one, roots), FOLDERS, (path,)))


def _is_case(raw: dict[str, Any]) -> bool:
    """Return True for an object with gold by dialect and a database."""
    return isinstance(raw.get("gold"), dict) and any(isinstance(raw.get(field), str) for field in _DATABASE)


def _row(line: int, raw: dict[str, Any] | None) -> ForeignRow:
    """Return one line in our words."""
    if raw is None:
        return ForeignRow(f"line-{line}", "", reason="it is no object")
    gold = raw.get("gold")
    written = gold if isinstance(gold, dict) else {}
    by_dialect = {str(dialect): alternatives(texts) for dialect, texts in written.items()}
    return ForeignRow(
        text_of(raw.get("id")) or f"line-{line}",
        next((text_of(raw.get(field)) for field in _DATABASE if text_of(raw.get(field))), ""),
        question=text_of(raw.get("question")),
        gold={dialect: texts for dialect, texts in by_dialect.items() if texts},
        evidence=text_of(raw.get("evidence")) or None,
        difficulty=text_of(raw.get("difficulty")) or None,
        tags=tag_list(raw.get("tags")),
    )
