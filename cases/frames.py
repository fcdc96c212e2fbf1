"""Results that people hold already, as relations: data frames, Arrow tables, records, and files of CSV, Parquet, JSON.

Cells keep their types. Where a form cannot say a type (CSV) it is read from what a whole column spells; where it cannot
say NULL (CSV, pandas) an empty cell without quotes or NaN is one. What Python's types would cut (nanoseconds) is kept
as text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlassay.cases.errors import InputError
from sqlassay.cases.paths import path_given
from sqlassay.cases.reading import parse_json, read_text, starts_with
from sqlassay.cases.relation import Column, FarTemporal, Interval, Json, Kind, Relation, Row, kind_of
from sqlassay.cases.tables import DELIMITED, EXCEL, JSON, SHEET, choices, named_part, read_table
from sqlassay.cases.typed_json import decode, relation_from_json

PARQUET = (".parquet", ".pq")
SUFFIXES = (*DELIMITED, *EXCEL, *JSON, *PARQUET)
"""The files that hold one result."""

_INT = re.compile(r"[+-]?(0|[1-9][0-9]*)")
_NUMBER = re.compile(r"[+-]?(0|[1-9][0-9]*)?(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_EXACT = 15
"""Decimal digits that every float64 keeps: a number of more, or with an exponent, was a float."""
_DEEPEST = 100
"""Lists inside lists that a cell may hold: no engine gives more, and one that holds itself has no end."""
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?([+-]\d\d(:?\d\d)?|Z)?")
_FRACTION = re.compile(r"(.*\.\d{6})(\d+)((?:[+-]\d\d(?::?\d\d)?)?)")
_TYPES = (
    ("struct", Kind.JSON),
    ("map", Kind.JSON),
    ("bool", Kind.BOOL),
    ("decimal", Kind.DECIMAL),
    ("timestamp", Kind.TIMESTAMP),
    ("datetime", Kind.TIMESTAMP),
    ("date", Kind.DATE),
    ("time", Kind.TIME),
    ("duration", Kind.INTERVAL),
    ("interval", Kind.INTERVAL),
    ("uint", Kind.INT),
    ("int", Kind.INT),
    ("hugeint", Kind.INT),
    ("float", Kind.FLOAT64),
    ("double", Kind.FLOAT64),
    ("str", Kind.TEXT),
    ("large_string", Kind.TEXT),
    ("varchar", Kind.TEXT),
    ("utf8", Kind.TEXT),
    ("binary", Kind.BYTES),
    ("blob", Kind.BYTES),
    ("list", Kind.ARRAY),
    ("uuid", Kind.UUID),
)


def relation_of(data: Any) -> Relation:
    """Return what a person holds as a relation: one of ours, a file's path, a data frame, an Arrow table, or records.

    Frames are pandas', Polars' and Arrow's, and whatever gives an Arrow stream where pyarrow is installed; records are
    a list of mappings. A pandas index with a name is a column.

    Raises:
        InputError: anything else, a malformed file, or cells that no relation holds.
    """
    if isinstance(data, Relation):
        return _sound(data)
    if isinstance(data, str | Path):
        return relation_of_file(path_given(data))
    if hasattr(data, "itertuples") and hasattr(data, "dtypes"):
        return _of_pandas(data)
    if hasattr(data, "iter_rows") and hasattr(data, "schema"):
        return _of_polars(data)
    if hasattr(data, "schema") and hasattr(data, "to_pylist"):
        return _of_arrow(data)
    if hasattr(data, "__arrow_c_stream__"):
        return _of_arrow(_arrow().table(data))
    if isinstance(data, Sequence) and all(isinstance(row, Mapping) for row in data):
        return _of_records(data)
    remedy = "Give a Relation, a path, a data frame, an Arrow table, or a list of mappings"
    raise InputError(f"no relation is made of a {type(data).__name__}", remedy=remedy)


def _sound(relation: Relation) -> Relation:
    """Return a relation that a program made by hand, its lists held as a relation holds them.

    Raises:
        InputError: columns that are none, a row of another width, or cells that no relation holds.
    """
    remedy = "Give Relation((Column(name), …), ((cell, …), …)), a cell for each column in every row"
    if not all(isinstance(column, Column) for column in relation.columns):
        raise InputError("a column is no Column", field="columns", remedy=remedy)
    rows: Sequence[Any] = relation.rows
    for number, row in enumerate(rows, 1):
        if not isinstance(row, Sequence) or isinstance(row, str | bytes) or len(row) != len(relation.columns):
            message = f"row {number} has not {len(relation.columns)} cells"
            raise InputError(message, field="rows", remedy=remedy)
        for cell in row:
            if isinstance(cell, list | tuple | dict):
                _cell(cell)
    return relation


def relation_of_file(path: Path) -> Relation:
    """Return the result in a file: CSV, TSV, Parquet, Excel, JSON records, or a relation in typed JSON.

    Raises:
        InputError: an unreadable or malformed file, or one of another kind.
    """
    file, named = named_part(path)
    suffix = file.suffix.lower()
    if suffix in PARQUET:
        return _of_parquet(file)
    if suffix == ".json" and starts_with(file, b"{"):
        value = parse_json(read_text(file), file)
        if isinstance(value, dict) and isinstance(value.get("columns"), list):
            return _of_document(value, file)
    if suffix not in SUFFIXES:
        raise InputError("no file of results", file=file, remedy=f"Name one that ends in {', '.join(SUFFIXES)}")
    table = read_table(file, sheet=choices(named).get(SHEET), exact=True)
    names = list(table.columns)
    cells = [[row.cells.get(name) for row in table.rows] for name in names]
    if suffix in DELIMITED:
        return _joined(names, [spelled(column) for column in cells])
    return _joined(names, [(Kind.OTHER, [_of_json(cell) for cell in column]) for column in cells])


def _joined(names: Sequence[str], columns: Sequence[tuple[Kind, Sequence[object]]]) -> Relation:
    """Return a relation of columns."""
    rows: Iterable[Row] = zip(*(cells for _, cells in columns), strict=True) if columns else ()
    return Relation(tuple(Column(name, kind) for name, (kind, _) in zip(names, columns, strict=True)), tuple(rows))


def spelled(cells: Sequence[Any]) -> tuple[Kind, list[object]]:
    """Return a column of text as the values that all of its cells spell, else as text.

    An empty text is one in a column of text alone: among numbers, moments and truths it can only be NULL.
    """
    filled = [cell for cell in cells if cell]
    if filled and all(_INT.fullmatch(cell) for cell in filled):
        return Kind.INT, [None if not cell else int(cell) for cell in cells]
    if filled and all(_NUMBER.fullmatch(cell) and any(letter.isdigit() for letter in cell) for cell in filled):
        floats = any("e" in cell.lower() or len(re.sub(r"\D", "", cell).lstrip("0")) > _EXACT for cell in filled)
        read = float if floats else Decimal
        return Kind.FLOAT64 if floats else Kind.DECIMAL, [None if not cell else read(cell) for cell in cells]
    if filled and all(cell.lower() in ("true", "false") for cell in filled):
        return Kind.BOOL, [None if not cell else cell.lower() == "true" for cell in cells]
    for kind, form, parse in (
        (Kind.DATE, _DAY, date.fromisoformat),
        (Kind.TIMESTAMP, _MOMENT, datetime.fromisoformat),
    ):
        if filled and all(form.fullmatch(cell) for cell in filled):
            try:
                return kind, [None if not cell else parse(cell) for cell in cells]
            except ValueError:
                break
    return Kind.TEXT, list(cells)


def _of_json(cell: Any) -> object:
    """Return a cell of JSON or Excel: typed JSON where it has a tag, a document where it is an object or a list."""
    if isinstance(cell, dict) and len(cell) == 1 and next(iter(cell)).startswith("$"):
        return decode(cell)
    return Json(json.dumps(cell, ensure_ascii=False)) if isinstance(cell, dict | list) else cell


def _of_document(value: dict[str, Any], file: Path) -> Relation:
    """Return a relation in typed JSON, or a frame as pandas writes it with orient="split"."""
    if "data" in value and all(isinstance(name, str) for name in value["columns"]):
        rows = value["data"]
        width = len(value["columns"])
        if not isinstance(rows, list) or any(not isinstance(row, list) or len(row) != width for row in rows):
            remedy = "Write one list of cells for each row"
            raise InputError(f"rows have not {width} cells each", file=file, field="data", remedy=remedy)
        columns = tuple(Column(name) for name in value["columns"])
        return Relation(columns, tuple(tuple(_of_json(cell) for cell in row) for row in rows))
    try:
        return relation_from_json(value, field="relation")
    except InputError as error:
        raise InputError(error.message, file=file, remedy=error.remedy) from None


def _of_parquet(file: Path) -> Relation:
    """Return a Parquet file's rows, read by DuckDB.

    Raises: InputError where DuckDB is not installed or the file is none.
    """
    try:
        import duckdb
    except ImportError:
        remedy = "pip install 'sqlassay[duckdb]', or read it with pyarrow and compare the table in Python"
        raise InputError("reading Parquet needs DuckDB", file=file, remedy=remedy) from None
    if not file.is_file():
        raise InputError("no such file", file=file, remedy="Check the path")
    connection = duckdb.connect(":memory:")
    try:
        described = connection.execute("DESCRIBE SELECT * FROM read_parquet(?)", [str(file)]).fetchall()
        names = [str(row[0]) for row in described]
        types = [str(row[1]) for row in described]
        quoted = ['"' + name.replace('"', '""') + '"' for name in names]
        # Python's moments end at microseconds: nanoseconds are asked for as text.
        asked = [
            f"CAST({q} AS VARCHAR)" if kind == "TIMESTAMP_NS" else q for q, kind in zip(quoted, types, strict=True)
        ]
        rows = connection.execute(f"SELECT {', '.join(asked)} FROM read_parquet(?)", [str(file)]).fetchall()  # noqa: S608
    except duckdb.Error as error:
        message = str(error).splitlines()[0]
        raise InputError(f"no Parquet file: {message}", file=file, remedy="Write it again") from None
    finally:
        connection.close()
    columns = tuple(Column(name, _kind(kind)) for name, kind in zip(names, types, strict=True))
    nanos = [kind == "TIMESTAMP_NS" for kind in types]
    return Relation(
        columns,
        tuple(tuple(_moment(c) if n else _cell(c) for c, n in zip(row, nanos, strict=True)) for row in rows),
    )


def _moment(text: str | None) -> object:
    """Return a moment with nanoseconds: as a moment where they are noughts, else as its text."""
    if text is None:
        return None
    longer = _FRACTION.fullmatch(text)
    if longer and longer[2].strip("0"):
        return FarTemporal(text)
    try:
        return datetime.fromisoformat(longer[1] + longer[3] if longer else text)
    except ValueError:
        return FarTemporal(text)


def _kind(name: str) -> Kind:
    """Return the kind that a library's name of a type means; kinds are shown and never decide equality."""
    plain = name.lower()
    if plain.endswith("[]"):
        return Kind.ARRAY
    found = next((kind for start, kind in _TYPES if plain.startswith(start)), None)
    return found if found is not None else kind_of(plain)


def _arrow() -> Any:
    """Return pyarrow.

    Raises: InputError where it is not installed.
    """
    try:
        import pyarrow
    except ImportError:
        remedy = "pip install pyarrow, or give a pandas or Polars frame"
        raise InputError("an Arrow stream needs pyarrow", remedy=remedy) from None
    return pyarrow


def _of_arrow(table: Any) -> Relation:
    """Return an Arrow table or record batch."""
    arrow = _arrow()
    columns = []
    for place, one in enumerate(table.schema):
        values = table.column(place)
        if str(one.type).startswith("timestamp[ns"):
            # Python's moments end at microseconds: the text has all nine digits.
            cells = [_moment(text) for text in values.cast(arrow.string()).to_pylist()]
            if getattr(one.type, "tz", None):
                cells = [_moment(f"{text.removesuffix('Z')}+00:00") if text else None for text in _texts(values, arrow)]
        else:
            cells = [_cell(cell) for cell in values.to_pylist()]
        columns.append((_kind(str(one.type)), cells))
    return _joined(list(table.schema.names), columns)


def _texts(values: Any, arrow: Any) -> list[str | None]:
    """Return moments with a zone as text in UTC."""
    found: list[str | None] = values.cast(arrow.timestamp("ns", tz="UTC")).cast(arrow.string()).to_pylist()
    return found


def _of_polars(frame: Any) -> Relation:
    """Return a Polars frame."""
    kinds = [_kind(str(kind)) for kind in frame.schema.values()]
    columns = []
    for kind, dtype, series in zip(kinds, frame.schema.values(), frame.get_columns(), strict=True):
        if "ns" in str(dtype) and str(dtype).startswith("Datetime"):
            cells = [_moment(text) for text in _nanoseconds(series)]
        else:
            cells = [_cell(cell) for cell in series.to_list()]
        columns.append((kind, cells))
    return _joined(list(frame.columns), columns)


def _nanoseconds(series: Any) -> list[str | None]:
    """Return a Polars series of moments as text with all nine digits, in UTC where it has a zone."""
    zoned = getattr(series.dtype, "time_zone", None) is not None
    plain = series.dt.convert_time_zone("UTC") if zoned else series
    texts = plain.dt.strftime("%Y-%m-%d %H:%M:%S%.9f").to_list()
    return [None if text is None else text + ("+00:00" if zoned else "") for text in texts]


def _of_pandas(frame: Any) -> Relation:
    """Return a pandas frame: NaN, NaT and NA are NULL there, as pandas has no other."""
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    columns = []
    for place, name in enumerate(frame.columns):
        series = frame.iloc[:, place]
        empty = series.isna().tolist()
        cells = [None if none else _cell(cell) for cell, none in zip(series.tolist(), empty, strict=True)]
        columns.append((str(name), _kind(str(series.dtype)), cells))
    return _joined([name for name, _, _ in columns], [(kind, cells) for _, kind, cells in columns])


def _of_records(rows: Sequence[Mapping[str, Any]]) -> Relation:
    """Return a list of mappings; a key that a row lacks is NULL."""
    names = list(dict.fromkeys(str(name) for row in rows for name in row))
    return Relation(
        tuple(Column(name) for name in names), tuple(tuple(_cell(row.get(name)) for name in names) for row in rows)
    )


def _cell(value: Any, depth: int = 0) -> object:
    """Return a cell as a relation holds it.

    Raises: InputError for a value of a type that no relation holds, or one that holds itself.
    """
    if depth > _DEEPEST:
        raise _endless()
    if getattr(value, "nanosecond", 0):
        return FarTemporal(value.isoformat(sep=" "))
    if hasattr(value, "to_pydatetime"):
        return value.to_pydatetime()
    if hasattr(value, "to_pytimedelta"):
        return value.to_pytimedelta()
    held = bool | int | float | Decimal | str | bytes | date | time | timedelta | UUID | Interval | Json | FarTemporal
    if value is None or isinstance(value, held):
        return value
    if isinstance(value, Mapping):
        try:
            return Json(json.dumps(dict(value), ensure_ascii=False, default=str))
        except (ValueError, TypeError, RecursionError):
            raise _endless() from None
    if isinstance(value, memoryview | bytearray):
        return bytes(value)
    if hasattr(value, "tolist"):
        return _cell(value.tolist(), depth + 1)
    if isinstance(value, list | tuple):
        return tuple(_cell(item, depth + 1) for item in value)
    remedy = "Turn it into a number, text, moment, list or mapping first"
    raise InputError(f"a cell of type {type(value).__name__} cannot be compared", remedy=remedy)


def _endless() -> InputError:
    """Say that a cell cannot be written down."""
    message = f"a cell holds itself, a key that is no text, or lists more than {_DEEPEST} deep"
    return InputError(message, remedy="Give lists and mappings that end")
