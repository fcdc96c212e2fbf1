"""Spider's own layout: dev.json or train*.json beside database/DB/DB.sqlite, with several files a database too."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from sqlassay.cases.errors import InputError
from sqlassay.cases.formats.databases import Found, find_sqlite, named_folders
from sqlassay.cases.formats.foreign import DataSet, ForeignRow, alternatives, pack_of, text_of
from sqlassay.cases.formats.json_rows import object_rows, with_keys
from sqlassay.cases.pack import Pack

FOLDERS = ("database", "test_database", "databases")
_FILES = ("dev.json", "train_spider.json", "train.json", "test.json", "train_others.json")
_KEYS = ("db_id", "query", "question")
_SYNONYMS = ("db_id", "query", "SpiderSynQuestion")
"""Spider-Syn has two questions a row; the one with synonyms is what it asks."""


class SpiderFormat:
    """Reads Spider, its descendants of the same layout, and the test-suite databases (neighbours of DB.sqlite)."""

    name = "spider"

    def detect(self, path: Path) -> bool:
        """Return True for a JSON list of Spider rows, or a folder that holds one under a usual name."""
        return bool(_found(path))

    def load(self, path: Path) -> Pack:
        """Return the pack; case ids are the file's name and the row's number from 0, four digits wide.

        Raises:
            InputError: no such file, malformed JSON, or no database beside it.
        """
        found = _found(path)
        if not found:
            remedy = f"A row has {', '.join(_KEYS)}; a folder holds one of {', '.join(_FILES)}"
            raise InputError("no Spider data set here", file=path, remedy=remedy)
        file = found[0]
        roots = (*named_folders(file.parent, FOLDERS), *named_folders(file.parent.parent, FOLDERS))
        rows = tuple(_row(file.stem, number, raw) for number, (_, raw) in enumerate(object_rows(file)))
        name = file.parent.name if path.is_dir() else file.stem
        gold = tuple(file.parent.glob("*gold*.sql"))
        return pack_of(
            DataSet(name, path, self.name, rows, partial(_find, roots), FOLDERS, (file, *gold)),
        )


def _found(path: Path) -> tuple[Path, ...]:
    """Return the files a path means that hold Spider's rows."""
    candidates = _candidates(path)
    return (*with_keys(candidates, *_KEYS), *with_keys(candidates, *_SYNONYMS))


def _candidates(path: Path) -> tuple[Path, ...]:
    """Return the files that may hold the rows: the one named, or those of a folder in order of preference."""
    return tuple(path / name for name in _FILES) if path.is_dir() else (path,)


def _find(roots: tuple[Path, ...], name: str) -> Found | None:
    """Return a database by its name."""
    files = find_sqlite(roots, name)
    return Found(name, files) if files else None


def _row(stem: str, number: int, raw: dict[str, Any] | None) -> ForeignRow:
    """Return one row in our words."""
    row_id = f"{stem}-{number:04d}"
    if raw is None:
        return ForeignRow(row_id, "", reason="it is no object")
    query = alternatives(raw.get("query"))
    return ForeignRow(
        row_id,
        text_of(raw.get("db_id")),
        question=text_of(raw.get("SpiderSynQuestion")) or text_of(raw.get("question")),
        gold={"sqlite": query} if query else {},
        difficulty=text_of(raw.get("hardness")) or None,
    )
