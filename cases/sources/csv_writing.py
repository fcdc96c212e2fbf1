"""Write tables as a schema file and CSV files, the way the reader of our own format takes them in."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from sqlassay.cases.snapshot import ColumnDef, TableDef

Fields = Iterable[tuple[str | None, ...]]


def write_tables(folder: Path, tables: Iterable[TableDef], rows: Callable[[TableDef], Fields]) -> int:
    """Write `schema.yaml` and `data/TABLE.csv.gz` for every table into `folder`; return how many rows there are."""
    defined = list(tables)
    (folder / "data").mkdir()
    # JSON is YAML: no writer of ours has to know YAML's quoting.
    schema = {"format": 1, "tables": [_table(table) for table in defined]}
    (folder / "schema.yaml").write_text(json.dumps(schema, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    total = 0
    for table in defined:
        path = folder / "data" / f"{table.name}.csv.gz"
        # No name and no time inside: the same rows give the same bytes.
        with path.open("wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as packed:
            total += _write(table, rows(table), packed)
    return total


def _write(table: TableDef, rows: Fields, stream: Any) -> int:
    """Write one table's header and rows; return how many."""
    stream.write((",".join(_quoted(column.name) for column in table.columns) + "\n").encode())
    count = 0
    for row in rows:
        stream.write((",".join("" if cell is None else _quoted(cell) for cell in row) + "\n").encode())
        count += 1
    return count


def _quoted(text: str) -> str:
    """Return a field in quotes: bare, an empty one would be NULL."""
    return '"' + text.replace('"', '""') + '"'


def _table(table: TableDef) -> dict[str, Any]:
    """Return a table as the schema file spells it."""
    made: dict[str, Any] = {"name": table.name, "columns": [_column(column) for column in table.columns]}
    if table.primary_key:
        made["primary_key"] = list(table.primary_key)
    if table.unique:
        made["unique"] = [list(columns) for columns in table.unique]
    if table.foreign_keys:
        made["foreign_keys"] = [
            {"columns": list(key.columns), "table": key.table, "references": list(key.references)}
            for key in table.foreign_keys
        ]
    return made


def _column(column: ColumnDef) -> dict[str, Any]:
    """Return a column as the schema file spells it."""
    made: dict[str, Any] = {"name": column.name, "kind": column.kind.value}
    for field in ("length", "precision", "scale"):
        value = getattr(column, field)
        if value is not None:
            made[field] = value
    return made if column.nullable else {**made, "nullable": False}
