"""Read a table that a person brings, in whatever shape: CSV, TSV, JSON, JSON lines, Excel; never cut, every cell kept.

A name may be followed by what is meant: `FILE#question=COLUMN,gold=COLUMN`, and `FILE#sheet=NAME` for a workbook.
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

from sqlassay.cases.errors import InputError
from sqlassay.cases.extras import install_line
from sqlassay.cases.paths import asks
from sqlassay.cases.reading import (
    MAX_DOCUMENT,
    element_lines,
    json_records,
    parse_json,
    read_bytes,
    starts_with,
    to_text,
)
from sqlassay.cases.sources.packing import unpacked

DELIMITED = (".csv", ".tsv", ".tab")
JSON = (".json", ".jsonl", ".ndjson")
EXCEL = (".xlsx", ".xlsm")
SUFFIXES = (*DELIMITED, *JSON, *EXCEL)
SHEET = "sheet"

_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_DELIMITERS = (",", ";", "\t", "|")
_SEP = "sep="
_LISTS = ("data", "rows", "records", "questions", "cases", "test_cases", "examples", "items", "predictions", "results")


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row: the line it starts on and its cells by column; an empty cell is None."""

    line: int
    cells: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Table:
    """A table as written: its columns in file order and its rows; `told` says how it was read."""

    path: Path
    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]
    told: str = ""


def named_part(path: Path) -> tuple[Path, str]:
    """Return a file and what is named behind it: FILE#PART; the part may hold slashes, the file's own name a #."""
    whole = str(path)
    if asks(path.exists):
        return path, ""
    places = [place for place, letter in enumerate(whole) if letter == "#"]
    for place in reversed(places):
        if asks(Path(whole[:place]).is_file):
            return Path(whole[:place]), whole[place + 1 :]
    return (Path(whole[: places[0]]), whole[places[0] + 1 :]) if places else (path, "")


def choices(named: str) -> dict[str, str]:
    """Return what `FILE#role=column,…` chooses; nothing where the part has another form."""
    pairs = [entry.partition("=") for entry in named.split(",")] if "=" in named else []
    return {role.strip(): column.strip() for role, _, column in pairs}


def read_table(path: Path, *, sheet: str | None = None, exact: bool = False) -> Table:
    """Return the table in a file; `exact` keeps every row and cell as it is, also those that hold nothing.

    Not exactly, a row without any cell is none, blank text is no cell, and Excel's numbers and moments are text.

    Raises:
        InputError: an unreadable or malformed file, a record with more cells than columns, a column named twice.
    """
    suffix = path.suffix.lower()
    if suffix in EXCEL:
        return _excel(path, sheet, exact=exact)
    if suffix in DELIMITED or not (starts_with(path, b"[") or starts_with(path, b"{")):
        return _delimited(path, exact=exact)
    return _json(path, exact=exact)


def _table(
    path: Path,
    columns: Sequence[str],
    rows: Iterable[tuple[int, Sequence[Any]]],
    told: str,
    *,
    exact: bool,
    quoted: str = "",
) -> Table:
    """Return a table of records, each as wide as the header or shorter; `quoted` stands for an empty text in quotes."""
    header = [name.strip() for name in columns]
    while header and not header[-1]:
        header.pop()
    twice = next((name for at, name in enumerate(header) if name and name in header[:at]), None)
    if twice is not None:
        raise InputError(f"two columns are named '{twice}'", file=path, line=1, remedy="Give each its own name")
    found = []
    for line, cells in rows:
        behind = [cell for cell in cells[len(header) :] if cell not in (None, "", quoted)]
        if behind:
            message = f"record has {len(cells)} cells for {len(header)} columns"
            raise InputError(message, file=path, line=line, remedy="Put cells that hold the separator in double quotes")
        values = {name: _cell(cell, exact=exact, quoted=quoted) for name, cell in zip(header, cells, strict=False)}
        # A blank line is a row where there is one column alone, whose NULL it is.
        if any(value is not None for value in values.values()) or (exact and (cells or len(header) == 1)):
            found.append(TableRow(line, values))
    return Table(path, tuple(header), tuple(found), told)


def _cell(value: Any, *, exact: bool, quoted: str = "") -> Any:
    """Return a cell: blank text is None, a whole float (Excel has no other number) a whole number."""
    if exact and quoted and value == quoted:
        return ""
    if exact:
        return None if value == "" else value
    if isinstance(value, str):
        return value if value.strip() else None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value.isoformat() if isinstance(value, date | datetime | time) else value


def _delimited(path: Path, *, exact: bool) -> Table:
    """Return a delimited file's table, its separator found by the header."""
    data = unpacked(read_bytes(path), path)
    if data.startswith(_UTF16):
        try:
            text = data.decode("utf-16")
        except UnicodeDecodeError:
            raise InputError("not whole UTF-16 text", file=path, remedy="Save the file as UTF-8 text") from None
    else:
        text = to_text(data, path)
    first, _, rest = text.partition("\n")
    mark = first.strip()[len(_SEP) :] if first.lower().startswith(_SEP) else ""
    text, start = (rest, 1) if len(mark) == 1 else (text, 0)
    delimiter = mark if len(mark) == 1 else _delimiter(text)
    _whole(text, delimiter, path)
    quoted = ""
    if exact and '""' in text:
        quoted = next(mark for mark in map(chr, range(0xE000, 0xF8FF)) if mark not in text)
        text = _marked(text, delimiter, quoted)
    records = _records(text, delimiter, path, start)
    _, header = next((record for record in records if any(cell.strip() for cell in record[1])), (1, []))
    header = [cell if cell != quoted else "" for cell in header]
    names = {",": "comma", ";": "semicolon", "\t": "tab"}
    told = f"separated by {names.get(delimiter, delimiter)}"
    return _table(path, header, records, told, exact=exact, quoted=quoted)


def _marked(text: str, delimiter: str, mark: str) -> str:
    """Return delimited text with a mark for every empty text in quotes: Python's csv does not tell the quotes."""
    end = re.escape(delimiter)
    field = re.compile(rf'("(?:[^"]|"")*+"[^{end}\r\n]*+|[^"{end}\r\n][^{end}\r\n]*+|)({end}|\r\n?|\n|\Z)')
    return field.sub(lambda found: mark + found[2] if found[1] == '""' else found[0], text)


def _delimiter(text: str) -> str:
    """Return what separates the header's cells: the mark that makes the most of them."""
    head = next(iter(text.lstrip().splitlines()), "")
    return max(_DELIMITERS, key=lambda mark: len(next(csv.reader([head], delimiter=mark), [])))


def _whole(text: str, delimiter: str, path: Path) -> None:
    """Refuse a quote that is never closed: what stands behind it would be one cell."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    line = 0
    try:
        for _ in reader:
            line = reader.line_num
    except csv.Error as error:
        if "end of data" in str(error):
            remedy = "Close the quote"
            raise InputError("quote is never closed", file=path, line=line + 1, remedy=remedy) from None


def _records(text: str, delimiter: str, path: Path, start: int) -> Iterator[tuple[int, list[str]]]:
    """Yield each record with the line it starts on, read as Python's csv does by default; a blank line has no cell."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    line = start
    try:
        for cells in reader:
            yield line + 1, cells
            line = start + reader.line_num
    except csv.Error as error:
        raise InputError(f"not CSV: {error}", file=path, line=line + 1, remedy="Correct the record") from None


def _json(path: Path, *, exact: bool) -> Table:
    """Return the table of a JSON list or JSON lines of objects, or of the one list inside an object."""
    records: list[tuple[int, Any]]
    if path.suffix.lower() == ".json" and starts_with(path, b"{"):
        records = _listed(path)
    else:
        records = [(record.line, record.value) for record in json_records(path)]
    stranger = next((line for line, value in records if not isinstance(value, dict)), None)
    if stranger is not None:
        raise InputError("not an object of fields", file=path, line=stranger, remedy="Write {…} for every row")
    columns = tuple(dict.fromkeys(str(name) for _, value in records for name in value))
    rows = tuple(
        TableRow(line, {name: _cell(cell, exact=False) if not exact else cell for name, cell in value.items()})
        for line, value in records
    )
    return Table(path, columns, rows, "JSON")


def _listed(path: Path) -> list[tuple[int, Any]]:
    """Return the elements of the one list an object holds, or the object itself where it holds none."""
    text = to_text(read_bytes(path), path)
    try:
        value = parse_json(text, path)
    except InputError:
        return [(record.line, record.value) for record in json_records(path)]
    lists = [name for name, item in value.items() if isinstance(item, list)] if isinstance(value, dict) else []
    key = next((name for name in lists if name in _LISTS), lists[0] if len(lists) == 1 else None)
    if key is None or not isinstance(value, dict):
        return [(1, value)]
    lines = element_lines(text, key=key)
    return [(lines(index), item) for index, item in enumerate(value[key])]


def _excel(path: Path, sheet: str | None, *, exact: bool) -> Table:
    """Return the named sheet of a workbook, else its first one that holds anything."""
    try:
        import openpyxl
    except ImportError:
        remedy = f"Install it by {install_line('excel')}, or save the sheet as CSV"
        raise InputError("reading Excel needs openpyxl", file=path, remedy=remedy) from None
    data = read_bytes(path)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            size = sum(entry.file_size for entry in packed.infolist())
        if size > MAX_DOCUMENT:
            raise ValueError(f"it unpacks to {size:,} bytes")  # noqa: TRY301 (told as every fault of a workbook is)
        book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
        sheets = {one.title: [tuple(row) for row in one.iter_rows(values_only=True)] for one in book.worksheets}
    except Exception as error:  # noqa: BLE001 (openpyxl raises what its XML and zip readers raise on a damaged file)
        raise InputError(f"no workbook: {error}", file=path, remedy="Save it again, or as CSV") from None
    if sheet is not None and sheet not in sheets:
        raise InputError(f"no sheet '{sheet}'", file=path, remedy=f"Sheets: {', '.join(sheets)}")
    filled = {name: rows for name, rows in sheets.items() if any(cell is not None for row in rows for cell in row)}
    chosen = sheet if sheet is not None else next(iter(filled), None)
    rows = list(enumerate(filled.get(chosen or "", []), 1))
    first = next((place for place, (_, row) in enumerate(rows) if any(cell is not None for cell in row)), len(rows))
    rows = rows[first:]
    if not rows:
        raise InputError("the sheet is empty", file=path, remedy="Write a header and rows")
    others = [name for name in filled if name != chosen]
    told = f"sheet '{chosen}'" + (f", not {', '.join(others)} (FILE#sheet=NAME)" if others else "")
    header = ["" if cell is None else str(cell) for cell in rows[0][1]]
    return _table(path, header, rows[1:], told, exact=exact)
