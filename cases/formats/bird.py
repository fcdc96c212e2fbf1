"""BIRD and its mini-dev set: questions with evidence and difficulty, dev_databases/, gold for up to three dialects."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from sqlassay.cases.errors import InputError
from sqlassay.cases.formats.databases import find_one, named_folders
from sqlassay.cases.formats.foreign import DataSet, ForeignRow, alternatives, pack_of, text_of
from sqlassay.cases.formats.json_rows import object_rows, with_keys
from sqlassay.cases.pack import Pack
from sqlassay.cases.reading import read_text

FOLDERS = ("dev_databases", "train_databases", "test_databases", "databases")
_FILES = ("dev.json", "train.json", "test.json", "mini_dev_sqlite.json", "mini_dev_postgresql.json")
_KEYS = ("db_id", "question", "SQL")
_BARE = ("db_id", "question", "evidence")
_DIALECT = re.compile(r"(?i)(?:^|[_-])(sqlite|postgresql|postgres|mysql)$")
_SPELLED = {"postgresql": "postgres"}


class BirdFormat:
    """Reads BIRD's dev, train and mini-dev sets; a row's case id is its question_id, else its number from 0."""

    name = "bird"

    def detect(self, path: Path) -> bool:
        """Return True for a JSON list of BIRD rows, or a folder that holds one under a usual name."""
        return bool(_found(path))

    def load(self, path: Path) -> Pack:
        """Return the pack; files of one name that end in a dialect are read together, row by row.

        Raises:
            InputError: no such file, malformed JSON, files of different questions, or no database beside them.
        """
        found = _found(path)
        if not found:
            remedy = f"A row has {', '.join(_KEYS)}; a folder holds one of {', '.join(_FILES)}"
            raise InputError("no BIRD data set here", file=path, remedy=remedy)
        file = found[0]
        files = _siblings(file) if path.is_dir() else (file,)
        rows = _merged([(_dialect(one), _rows(one)) for one in files], files)
        roots = (*named_folders(file.parent, FOLDERS), *named_folders(file.parent.parent, FOLDERS))
        name = file.parent.name if path.is_dir() else file.stem
        gold = tuple(file.parent.glob("*gold*.sql"))
        return pack_of(DataSet(name, path, self.name, rows, partial(find_one, roots), FOLDERS, (*files, *gold)))


def _found(path: Path) -> tuple[Path, ...]:
    """Return the files that hold BIRD's rows; a set without gold in its rows has it in a *gold*.sql file beside."""
    candidates = tuple(path / name for name in _FILES) if path.is_dir() else (path,)
    bare = (file for file in with_keys(candidates, *_BARE) if _gold_file(file) is not None)
    return (*with_keys(candidates, *_KEYS), *bare)


def _siblings(file: Path) -> tuple[Path, ...]:
    """Return the file and those that differ from it by their dialect alone."""
    stem = _DIALECT.sub("", file.stem)
    if stem == file.stem:
        return (file,)
    same = (other for other in sorted(file.parent.glob("*.json")) if other != file and _DIALECT.search(other.stem))
    return (file, *with_keys((other for other in same if _DIALECT.sub("", other.stem) == stem), *_KEYS))


def _dialect(file: Path) -> str:
    """Return the dialect a file's name ends in; BIRD itself is SQLite."""
    named = _DIALECT.search(file.stem)
    word = named[1].lower() if named else "sqlite"
    return _SPELLED.get(word, word)


def _gold_file(file: Path) -> Path | None:
    """Return the file of gold lines beside a set that has none in its rows."""
    named = [file.with_name(f"{file.stem}_gold.sql"), file.with_name(f"{file.stem}.sql")]
    return next((path for path in named if path.is_file()), None)


def _rows(file: Path) -> tuple[ForeignRow, ...]:
    """Return a file's rows in our words."""
    beside = _gold_file(file)
    lines = read_text(beside).rstrip("\n").split("\n") if beside else []
    dialect = _dialect(file)
    raw = object_rows(file)
    if beside and len(lines) != len(raw) and any(row is not None and not row.get("SQL") for _, row in raw):
        message = f"{len(lines)} gold lines for {len(raw)} questions"
        raise InputError(message, file=beside, remedy=f"Take the gold file that belongs to {file.name}")
    gold = [line.split("\t")[0] for line in lines] if len(lines) == len(raw) else [""] * len(raw)
    return tuple(_row(number, one, dialect, gold[number]) for number, (_, one) in enumerate(raw))


def _row(number: int, raw: dict[str, Any] | None, dialect: str, beside: str) -> ForeignRow:
    """Return one row in our words; gold in the row wins over the line beside it."""
    if raw is None:
        return ForeignRow(str(number), "", reason="it is no object")
    gold = alternatives(raw.get("SQL")) or alternatives(beside)
    return ForeignRow(
        text_of(raw.get("question_id")) or str(number),
        text_of(raw.get("db_id")),
        question=text_of(raw.get("question")),
        gold={dialect: gold} if gold else {},
        evidence=text_of(raw.get("evidence")) or None,
        difficulty=text_of(raw.get("difficulty")) or None,
    )


def _merged(parts: list[tuple[str, tuple[ForeignRow, ...]]], files: Sequence[Path]) -> tuple[ForeignRow, ...]:
    """Return the rows of one file with the gold that the other dialects' files have for the same row."""
    _, merged = parts[0]
    for (_, rows), file in zip(parts[1:], files[1:], strict=True):
        counterparts = _aligned(merged, rows, files[0], file)
        merged = tuple(
            row if other is None else replace(row, gold={**row.gold, **other.gold})
            for row, other in zip(merged, counterparts, strict=True)
        )
    return merged


def _aligned(
    first: Sequence[ForeignRow], rows: Sequence[ForeignRow], named: Path, file: Path
) -> tuple[ForeignRow | None, ...]:
    """Return for each row of the first file its row of another: by place in equal files, else by what only one has.

    Raises:
        InputError: a question that the first file lacks, or two that nothing tells apart.
    """
    if [(row.id, row.database) for row in first] == [(row.id, row.database) for row in rows]:
        return tuple(rows)
    remedy = "Name one file instead of the folder, or take files of one release"
    keys = {(row.id, row.database) for row in first}
    stranger = next((row.id for row in rows if (row.id, row.database) not in keys), None)
    if stranger is not None:
        message = f"question {stranger} is not in {named.name}: the dialects' files are misaligned"
        raise InputError(message, file=file, remedy=remedy)
    twice = {
        key for side in (first, rows) for key, n in Counter((row.id, row.database) for row in side).items() if n > 1
    }

    def key_of(row: ForeignRow) -> tuple[str, ...]:
        """Return what finds a row: its id and database, and its question where these stand twice."""
        key = (row.id, row.database)
        return (*key, row.question) if key in twice else key

    found: dict[tuple[str, ...], ForeignRow] = {}
    for row in rows:
        key = key_of(row)
        if key in found:
            message = f"question {row.id} stands twice and in another order than in {named.name}: misaligned"
            raise InputError(message, file=file, remedy=remedy)
        found[key] = row
    return tuple(found.get(key_of(row)) for row in first)
