"""A simple table of questions: one row a question, in CSV, JSON, JSON lines or Excel, its columns guessed by name."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

from sqlassay.cases.case import Prediction, QueryType
from sqlassay.cases.columns import DIALECTS, Guess, guess
from sqlassay.cases.errors import InputError
from sqlassay.cases.formats.databases import SQLITE, Found, find_one, named_folders
from sqlassay.cases.formats.evalbench_config import QUERY_TYPES
from sqlassay.cases.formats.foreign import DataSet, ForeignRow, Sqls, alternatives, pack_of, tag_list, text_of
from sqlassay.cases.pack import Pack
from sqlassay.cases.paths import asks
from sqlassay.cases.tables import SHEET, SUFFIXES, Table, choices, named_part, read_table

FOLDERS = ("databases", "database", "dev_databases", "data")
ROLES = (
    *("id", "question", "gold", "prediction", "database", "evidence", "difficulty", "tags", "dialect"),
    *("query_type", "order_required"),
)
NEEDED = ("question", "gold")

_ENDING = re.compile(r"(?i)(?:^|[_.-])(sqlite|postgresql|postgres|mysql|mariadb|duckdb)$")
_TRUE = {"true", "yes", "1", "y", "t"}
_log = logging.getLogger("sqlassay.packs")


class TableFormat:
    """Reads a table with a question and its gold in every row; other formats that know the file's names come first."""

    name = "table"
    fallback = 2  # it takes any file of rows, and says which of its columns it misses

    def detect(self, path: Path) -> bool:
        """Return True for any file of rows: what it misses is told when it is loaded."""
        file, _ = named_part(path)
        return file.suffix.lower() in SUFFIXES and asks(file.is_file)

    def load(self, path: Path) -> Pack:
        """Return the pack; the rows name their databases, or one SQLite file lies beside the table.

        Raises:
            InputError: a malformed file, no column for question or gold, or no database.
        """
        file, named = named_part(path)
        table, found = read_questions(file, named)
        _log.warning("columns of %s", found.told(table))
        folder = file.absolute().parent
        if "database" in found.columns:
            roots = (*named_folders(folder, FOLDERS), *named_folders(folder.parent, FOLDERS), folder)
            find: Callable[[str], Found | None] = partial(find_one, roots)
            rows = rows_of(table, found, "sqlite")
        else:
            only = Found("data", (_only_database(file),))
            rows = tuple(replace(row, database="data") for row in rows_of(table, found, "sqlite"))
            find = lambda _: only  # noqa: E731 (one line beside the other way to find)
        return pack_of(DataSet(file.stem, path, self.name, rows, find, FOLDERS, (file,)))


def read_questions(file: Path, named: str = "") -> tuple[Table, Guess]:
    """Return a table of questions with the guess of its columns; `named` are the columns a person chose.

    Raises:
        InputError: a malformed file, or no column for question or gold.
    """
    chosen = choices(named)
    if named and not chosen:
        remedy = f"Write {file.name}#question=COLUMN,gold=COLUMN"
        raise InputError(f"'{named}' names no column", file=file, remedy=remedy)
    table = read_table(file, sheet=chosen.get(SHEET))
    return table, guess(table, ROLES, NEEDED, chosen)


def rows_of(table: Table, found: Guess, dialect: str) -> tuple[ForeignRow, ...]:
    """Return each row in our words; gold without a dialect of its own is the file's, else `dialect`'s."""
    named = _ENDING.search(table.path.stem)
    spoken = DIALECTS[named[1].lower()] if named else dialect
    return tuple(_row(number, row.cells, found, spoken) for number, row in enumerate(table.rows, 1))


def _row(number: int, cells: Mapping[str, Any], found: Guess, dialect: str) -> ForeignRow:
    """Return one row in our words; a row without an id is numbered from 1."""

    def cell(role: str) -> Any:
        """Return what stands in the column of a role."""
        return cells.get(found.columns[role]) if role in found.columns else None

    row_id = text_of(cell("id")) or f"row-{number:04d}"
    word = text_of(cell("dialect")).lower()
    spoken = DIALECTS.get(word, word) or dialect
    kind = text_of(cell("query_type")).lower() or "dql"
    answers = alternatives(cell("prediction"))
    row = ForeignRow(
        row_id,
        text_of(cell("database")),
        question=text_of(cell("question")),
        gold=_gold(cells, found, spoken),
        evidence=text_of(cell("evidence")) or None,
        difficulty=text_of(cell("difficulty")) or None,
        tags=tag_list(cell("tags")),
        order_required=_truth(cell("order_required")),
        predictions=(Prediction(case_id=row_id, sql=answers[0]),) if answers else (),
    )
    if kind not in QUERY_TYPES:
        return replace(row, reason=f"query_type '{kind}' is none of {', '.join(QUERY_TYPES)}")
    return replace(row, query_type=cast("QueryType", kind))


def _gold(cells: Mapping[str, Any], found: Guess, dialect: str) -> Sqls:
    """Return a row's gold by dialect: from a column each, from one cell that says so, or all in one dialect."""
    written = {name: cells.get(column) for name, column in found.gold.items()}
    if not written:
        one = cells.get(found.columns["gold"])
        written = (
            {DIALECTS.get(str(name), str(name)): sql for name, sql in one.items()}
            if isinstance(one, dict)
            else {dialect: one}
        )
    return {name: texts for name, texts in ((name, alternatives(sql)) for name, sql in written.items()) if texts}


def _truth(cell: Any) -> bool | None:
    """Return a cell that is a yes or no, None where it is empty."""
    return None if cell is None else str(cell).strip().lower() in _TRUE


def _only_database(file: Path) -> Path:
    """Return the one SQLite file beside a table.

    Raises:
        InputError: none, or several.
    """
    beside = sorted(one for one in file.absolute().parent.iterdir() if one.suffix in SQLITE and one.is_file())
    if len(beside) == 1:
        return beside[0]
    remedy = f"sqlassay init DIR --from SOURCE --questions {file} makes a pack of it and your data"
    raise InputError(f"{len(beside)} SQLite files beside the questions, one is needed", file=file, remedy=remedy)


def told_ids(rows: Sequence[ForeignRow]) -> Iterator[str]:
    """Yield what a person should know of the ids: that the rows were numbered."""
    if rows and all(row.id == f"row-{number:04d}" for number, row in enumerate(rows, 1)):
        yield f"no column of ids: the questions are numbered {rows[0].id} to {rows[-1].id}"
