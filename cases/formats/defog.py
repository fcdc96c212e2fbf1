"""defog's question files: a CSV with several accepted queries in one cell and `{a, b}` where any columns of it do."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, combinations
from pathlib import Path

from sqlassay.cases.errors import InputError
from sqlassay.cases.extensions import installed
from sqlassay.cases.formats.databases import Found, find_sqlite, named_folders
from sqlassay.cases.formats.foreign import DataSet, ForeignRow, pack_of
from sqlassay.cases.pack import Pack
from sqlassay.cases.paths import asks
from sqlassay.cases.tables import read_table

FOLDERS = ("databases", "defog_data", "export", "data")
MOST = 255
"""More accepted queries than this in one cell are no longer a reference: every subset of nine columns is 511."""

_COLUMNS = ("db_name", "query", "question")
_DIALECT = re.compile(r"(?i)(?:^|[_-])(sqlite|postgresql|postgres|mysql|bigquery|snowflake|tsql)$")
_SPELLED = {"postgresql": "postgres"}
_QUOTED = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*.*?\*/", re.DOTALL)
_GROUP = re.compile(r"(?i)(GROUP\s+BY\s*)\{\}")


class DefogFormat:
    """Reads defog's sql-eval files; the dialect is the row's db_type, else the file name's ending, else postgres."""

    name = "defog"

    def detect(self, path: Path) -> bool:
        """Return True for a CSV with defog's columns, or a folder that holds one."""
        return bool(_found(path))

    def load(self, path: Path) -> Pack:
        """Return the pack; files that differ by their dialect alone are read together by database and question.

        Raises:
            InputError: no such file, a malformed CSV, or no database beside it.
        """
        files = _found(path)
        if not files:
            remedy = f"The first line has the columns {', '.join(_COLUMNS)}"
            raise InputError("no question file of defog here", file=path, remedy=remedy)
        read = tuple(chain.from_iterable(_rows(file) for file in files))
        rows, notes = _merged(read), _notes(read)
        folder = files[0].parent
        # defog keeps the databases in a repository of their own, which most people clone beside this one.
        cloned = tuple(
            found for up in (folder.parent, folder.parent.parent) for found in named_folders(up / "defog-data", FOLDERS)
        )
        roots = (*named_folders(folder, FOLDERS), *named_folders(folder.parent, FOLDERS), *cloned, folder)
        name = folder.name if path.is_dir() else path.stem
        return pack_of(DataSet(name, path, self.name, rows, partial(_find, roots), FOLDERS, files, notes=notes))


def _found(path: Path) -> tuple[Path, ...]:
    """Return the question files a path means."""
    candidates = sorted(path.glob("*.csv")) if asks(path.is_dir) else [path]
    return tuple(file for file in candidates if file.suffix == ".csv" and _has_columns(file))


def _has_columns(file: Path) -> bool:
    """Return True where a CSV's first line has defog's columns; never raises."""
    try:
        with file.open("rb") as stream:
            head = stream.readline(65_536).decode("utf-8-sig", errors="replace")
    except OSError:
        return False
    return set(_COLUMNS) <= {cell.strip().strip('"') for cell in head.split(",")}


def _rows(file: Path) -> Iterator[tuple[Path, str, ForeignRow]]:
    """Yield each row with its file and its dialect."""
    stem = _DIALECT.sub("", file.stem)
    named = _DIALECT.search(file.stem)
    known = installed("sqlassay.dialects")
    for number, row in enumerate(read_table(file).rows):
        record = {name: None if cell is None else str(cell) for name, cell in row.cells.items()}
        spelled = (record.get("db_type") or (named[1] if named else "postgres")).strip().lower()
        dialect = _SPELLED.get(spelled, spelled)
        made = _row(f"{stem}-{number:04d}", dialect, record)
        yield file, dialect, made if dialect in known else replace(made, gold={}, reason="")


def _row(row_id: str, dialect: str, record: dict[str, str | None]) -> ForeignRow:
    """Return one row in our words."""
    cell = record.get("query") or ""
    try:
        gold = accepted(cell)
        reason = ""
    except ValueError as error:
        gold, reason = (), str(error)
    category = record.get("query_category") or ""
    return ForeignRow(
        row_id,
        (record.get("db_name") or "").strip(),
        question=(record.get("question") or "").strip(),
        gold={dialect: gold} if gold else {},
        evidence=(record.get("instructions") or record.get("full_instructions") or "").strip() or None,
        tags=(category,) if category else (),
        reason=reason,
    )


def _merged(rows: Iterable[tuple[Path, str, ForeignRow]]) -> tuple[ForeignRow, ...]:
    """Return one row a question, with the gold of every dialect's file; the first file's numbers are the ids.

    The k-th row of a question in one file is the k-th in another. A question that only a later file has keeps its
    own number behind that file's name where the first file gave the number away. A cell that stands for no queries
    costs its own dialect's gold.
    """
    listed = [
        ((_DIALECT.sub("", file.stem), row.database, row.question), file, dialect, row) for file, dialect, row in rows
    ]
    counts: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    for asked, _, dialect, _ in listed:
        counts[asked][dialect] += 1
    merged: dict[tuple[object, ...], ForeignRow] = {}
    ids: set[str] = set()
    times: Counter[tuple[object, ...]] = Counter()
    for asked, file, dialect, row in listed:
        # Where one file has a question more often than another, nothing says which of them belong together.
        even = len(set(counts[asked].values())) == 1
        key: tuple[object, ...] = (*asked, "" if even else dialect, times[*asked, dialect])
        times[*asked, dialect] += 1
        first = merged.get(key)
        if first is not None:
            gold = {**first.gold, **row.gold}
            merged[key] = replace(first, gold=gold, reason="" if gold else first.reason or row.reason)
            continue
        own = row.id if row.id not in ids else f"{file.stem}-{row.id.rpartition('-')[2]}"
        merged[key] = replace(row, id=own)
        ids.add(own)
    return tuple(merged.values())


def _notes(rows: Sequence[tuple[Path, str, ForeignRow]]) -> tuple[str, ...]:
    """Return a line for each dialect that no adapter here speaks, and each cell that stands for no queries."""
    known = installed("sqlassay.dialects")
    several = len({file for file, _, _ in rows}) > 1
    strange = Counter(dialect for _, dialect, _ in rows if dialect not in known)
    broken = (
        f"gold of {row.id} in {dialect} was left out: {row.reason}"
        for _, dialect, row in rows
        if row.reason and several
    )
    told = (f"dialect {name} has no adapter here: its gold of {n} items was left out" for name, n in strange.items())
    return (*told, *broken)


def accepted(cell: str) -> tuple[str, ...]:
    """Return every query a cell accepts: its parts between semicolons, with each subset of columns in braces.

    `GROUP BY {}` takes the columns chosen. Semicolons and braces in quotes and comments are text.

    Raises:
        ValueError: more than `MOST` queries, or a brace that is not closed.
    """
    found: list[str] = []
    for part in _split(cell, ";"):
        text = part.strip()
        if text:
            found.extend(_expanded(text))
        if len(found) > MOST:
            raise ValueError(f"its gold stands for more than {MOST} queries")
    return tuple(dict.fromkeys(found))


def _expanded(query: str) -> Sequence[str]:
    """Return a query with its first braces replaced by each subset of their columns, in their order."""
    bare = _blanked(query)
    start = next((m.start() for m in re.finditer(r"\{", bare) if bare[m.start() : m.start() + 2] != "{}"), None)
    if start is None:
        return (query,)
    end = bare.find("}", start)
    if end < 0:
        raise ValueError("a brace of its gold is not closed")
    columns = [column.strip() for column in _split(query[start + 1 : end], ",")]
    if 2 ** len(columns) - 1 > MOST:
        raise ValueError(f"its gold stands for more than {MOST} queries")
    chosen = chain.from_iterable(combinations(columns, size) for size in range(1, len(columns) + 1))
    made = (", ".join(subset) for subset in chosen)
    return [query[:start] + text + _GROUP.sub(lambda m, text=text: m[1] + text, query[end + 1 :]) for text in made]  # type: ignore[misc]


def _split(text: str, mark: str) -> list[str]:
    """Split at a mark that stands outside quotes, comments and parentheses (for commas)."""
    bare, parts, start, depth = _blanked(text), [], 0, 0
    for place, letter in enumerate(bare):
        depth += (letter == "(") - (letter == ")")
        if letter == mark and (mark == ";" or depth == 0):
            parts.append(text[start:place])
            start = place + 1
    return [*parts, text[start:]]


def _blanked(text: str) -> str:
    """Return the text with everything in quotes and comments blanked, every place kept."""
    return _QUOTED.sub(lambda found: " " * len(found[0]), text)


def _find(roots: tuple[Path, ...], name: str) -> Found | None:
    """Return a database: its SQLite file, else its Postgres script, as defog publishes it."""
    files = find_sqlite(roots, name) or find_sqlite(roots, f"defog_{name}")
    places = (place for root in roots for place in (root / name / f"{name}.sql", root / f"{name}.sql"))
    script = next((place for place in places if asks(place.is_file)), None)
    if files:
        beside = next(iter(sorted(files[0].parent.glob("postgres*.sql"))), script)
        return Found(name, files[:1], declared=True, vendor=beside)  # its gold counts on Postgres' dates and booleans
    return None if script is None else Found(name, scripts=(("postgres", (script,)),))
