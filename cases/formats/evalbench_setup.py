"""EvalBench's setup directory of one database: scripts per dialect, and one CSV a table for every dialect."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from sqlassay.cases.errors import InputError
from sqlassay.cases.paths import asks
from sqlassay.cases.reading import read_text
from sqlassay.cases.sources.scripts import kept_script

_BEFORE = ("pre_setup.sql", "setup.sql")
_AFTER = ("post_setup.sql",)
_SPELLED = {"postgres": ("postgres", "postgresql"), "sqlite": ("sqlite", "sqlite3")}
_CHUNK = 500
_COMMENTS = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)


def setup_scripts(folder: Path, dialects: Sequence[str]) -> tuple[tuple[str, tuple[Path, ...]], ...]:
    """Return each dialect's scripts in the order they run: pre_setup, setup, the CSV rows, post_setup.

    Raises:
        InputError: a CSV that cannot be read or whose rows differ in length.
    """
    found = []
    for dialect in dialects:
        own = next((p for word in _SPELLED.get(dialect, (dialect,)) if asks((p := folder / word).is_dir)), None)
        if own is not None:
            scripts = (*_written(own, _BEFORE), *_rows(folder / "data", dialect), *_written(own, _AFTER))
            if scripts:
                found.append((dialect, scripts))
    return tuple(found)


def _written(folder: Path, names: Sequence[str]) -> tuple[Path, ...]:
    """Return the scripts of these names that hold a statement; the three files must exist, not say anything."""
    paths = (folder / name for name in names)
    return tuple(path for path in paths if asks(path.is_file) and _COMMENTS.sub("", read_text(path)).strip(" \n\t;"))


def _rows(folder: Path, dialect: str) -> tuple[Path, ...]:
    """Return one script that inserts every CSV's rows, kept in the user's cache; none where there is no row."""
    if not asks(folder.is_dir):
        return ()
    text = "\n".join(line for file in sorted(folder.glob("*.csv")) for line in _inserts(file, dialect))
    return (kept_script(text + "\n"),) if text else ()


def _inserts(file: Path, dialect: str) -> Iterator[str]:
    """Yield the INSERT statements of one CSV: it has no header, as EvalBench reads it."""
    from sqlglot import exp

    try:
        rows = [row for row in csv.reader(io.StringIO(read_text(file)), strict=True) if row]
    except csv.Error as error:
        raise InputError(f"not CSV: {error}", file=file, remedy="Quote cells that hold commas or line ends") from None
    for number, row in enumerate(rows, 1):
        if len(row) != len(rows[0]):
            message = f"row {number} has {len(row)} cells, the first has {len(rows[0])}"
            raise InputError(message, file=file, line=number, remedy="Give every row one cell a column")
    table = exp.to_identifier(file.stem, quoted=True).sql(dialect)
    for start in range(0, len(rows), _CHUNK):
        part = rows[start : start + _CHUNK]
        values = ",\n".join(f"({', '.join(_literal(cell, dialect) for cell in row)})" for row in part)
        yield f"INSERT INTO {table} VALUES\n{values};"


def _literal(cell: str, dialect: str) -> str:
    """Return a cell as a literal the column's type decides on: EvalBench's rules for NULL, quotes and truth values."""
    from sqlglot import exp

    text = cell.strip()
    if text.lower() in ("", "null", "none"):
        return "NULL"
    if len(text) > 1 and text[0] == text[-1] == "'":
        text = text[1:-1]
    if text.lower() in ("true", "false"):
        return text.upper()
    return exp.Literal.string(text).sql(dialect)
