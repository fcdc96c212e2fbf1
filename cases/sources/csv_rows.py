"""Rows of CSV files, typed by the schema: an empty field is NULL, a quoted empty field is empty text."""

from __future__ import annotations

import gzip
import hashlib
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedReader
from itertools import islice
from pathlib import Path

from sqlassay.cases.errors import InputError
from sqlassay.cases.reading import MAX_LINE, to_text
from sqlassay.cases.relation import Row
from sqlassay.cases.snapshot import ColumnDef, TableDef
from sqlassay.cases.sources.cells import parse

Field = str | None
_FIELD = re.compile(r'(?:"((?:[^"]|"")*)"|([^",]*))(,|$)')


@dataclass(frozen=True, slots=True)
class CsvSource:
    """The CSV files of one snapshot, one a table, plain or gzip."""

    tables: tuple[tuple[TableDef, Path], ...]

    def rows(self, table: str) -> Iterator[Row]:
        """Yield a table's rows in file order; a blank line is skipped, or NULL in a table of one column.

        Raises:
            InputError: a malformed record or value, as file:line:column.
        """
        definition, path = self._file(table)
        records = _records(path)
        columns = _header(definition, path, records)
        order = [columns.index(column.name) for column in definition.columns]
        for line, fields in _filled(records, len(columns)):
            if len(fields) != len(columns):
                message = f"record has {len(fields)} fields for {len(columns)} columns"
                raise InputError(message, file=path, line=line, remedy="Quote commas or add the missing fields")
            yield tuple(
                [_cell(column, fields[at], path, line) for column, at in zip(definition.columns, order, strict=True)]
            )

    def place(self, table: str, row: int) -> tuple[Path, int | None]:
        """Return the file and line of a row, for an error that an engine found."""
        definition, path = self._file(table)
        records = _records(path)
        columns = _header(definition, path, records)
        found = next(islice(_filled(records, len(columns)), row - 1, None), None)
        return path, found[0] if found else None

    def _file(self, table: str) -> tuple[TableDef, Path]:
        """Return a table's definition and file."""
        return next(pair for pair in self.tables if pair[0].name == table)


def _filled(records: Iterator[tuple[int, list[Field]]], width: int) -> Iterator[tuple[int, list[Field]]]:
    """Yield the records that are rows: a blank line is one only in a table of one column."""
    return (record for record in records if width == 1 or record[1] != [None])


def csv_source(tables: tuple[TableDef, ...], folder: Path) -> tuple[CsvSource, str]:
    """Return the source of every table's CSV in `folder` and the sha256 over their bytes; headers are checked now.

    Raises:
        InputError: a table without its file, a file without its table, a link, or a wrong header.
    """
    files = {path.name: path for path in sorted(folder.iterdir()) if path.name.endswith((".csv", ".csv.gz"))}
    digest = hashlib.sha256()
    pairs = []
    for table in tables:
        found = [files.pop(name) for name in (f"{table.name}.csv", f"{table.name}.csv.gz") if name in files]
        if len(found) != 1:
            message = f"{len(found)} data files for table '{table.name}', one is needed"
            raise InputError(
                message, file=folder, remedy=f"Keep exactly one {table.name}.csv; a header alone is enough"
            )
        if found[0].is_symlink():
            raise InputError("data file is a symbolic link", file=found[0], remedy="Put the file itself there")
        _header(table, found[0], _records(found[0]))
        with found[0].open("rb") as stream:
            digest.update(f"{table.name}\0{hashlib.file_digest(stream, 'sha256').hexdigest()}\0".encode())
        pairs.append((table, found[0]))
    if files:
        raise InputError("no table for this file", file=next(iter(files.values())), remedy="Remove or define it")
    return CsvSource(tuple(pairs)), digest.hexdigest()


def _header(table: TableDef, path: Path, records: Iterator[tuple[int, list[Field]]]) -> list[str]:
    """Read the header and return its names; they are the table's columns in any order."""
    _, fields = next(records, (1, []))
    names = [field or "" for field in fields]
    expected = [column.name for column in table.columns]
    if sorted(names) != sorted(expected):
        message = f"header is {','.join(names)} where the schema has {','.join(expected)}"
        raise InputError(message, file=path, line=1, remedy="Make the header name each column once")
    return names


def _cell(column: ColumnDef, field: Field, path: Path, line: int) -> object:
    """Return one field as a value of its column."""
    if field is None:
        if not column.nullable:
            remedy = 'Give a value, or write "" for empty text'
            raise InputError(
                "NULL in a column that allows none", file=path, line=line, field=column.name, remedy=remedy
            )
        return None
    try:
        return parse(column.kind, field)
    except ValueError as error:
        remedy = "Correct the value or the column's kind"
        raise InputError(str(error), file=path, line=line, field=column.name, remedy=remedy) from None


def _records(path: Path) -> Iterator[tuple[int, list[Field]]]:
    """Yield each record with the line it starts on; quoted fields may hold line ends."""
    for line, text in _logical_lines(path):
        if '"' not in text:
            yield line, [field or None for field in text.split(",")]
            continue
        yield line, _fields(text, path, line)


def _fields(text: str, path: Path, line: int) -> list[Field]:
    """Split a record that holds quotes."""
    fields: list[Field] = []
    position = 0
    while True:
        found = _FIELD.match(text, position)
        if not found:
            remedy = 'Double a quote inside a quoted field ("")'
            raise InputError("stray quote", file=path, line=line, field=f"field {len(fields) + 1}", remedy=remedy)
        quoted = found[1]
        fields.append(quoted.replace('""', '"') if quoted is not None else found[2] or None)
        position = found.end()
        if not found[3]:
            return fields


def _logical_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Join physical lines until their quotes are even."""
    start, size, quotes = 0, 0, 0
    pending: list[bytes] = []
    for number, data in enumerate(_physical_lines(path), start=1):
        start = start or number
        pending.append(data)
        # Counted as they come: a quote left open would otherwise cost the square of the file's size.
        size, quotes = size + len(data), quotes + data.count(b'"')
        if size > MAX_LINE:
            raise InputError("record is too long", file=path, line=start, remedy="Close the quote that is left open")
        if quotes % 2 == 0:
            yield start, to_text(b"".join(pending), path, first_line=start).removesuffix("\n").removesuffix("\r")
            start, size, quotes, pending = 0, 0, 0, []
    if pending:
        raise InputError("quote is never closed", file=path, line=start, remedy="Close the quoted field")


def _physical_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a plain or gzip file, each bounded."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            assert isinstance(stream, gzip.GzipFile | BufferedReader)
            while data := stream.readline(MAX_LINE + 1):
                yield data
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"cannot be read: {error}", file=path, remedy="Check the file") from None
