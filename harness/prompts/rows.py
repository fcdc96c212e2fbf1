"""A result as a judge reads it: its size, its column names, and typed cells, one row a line."""

from __future__ import annotations

import json

from cases.relation import Relation
from cases.typed_json import encode

MOST_ROWS = 50
MOST_CELL = 200
_FIRST = MOST_ROWS - 10


def rows_text(relation: Relation) -> str:
    """Return the size, the columns and the rows; of many rows the first and last, and how many lie between."""
    count, width = relation.shape
    lines = [f"{count} rows, {width} columns", json.dumps([c.name for c in relation.columns], ensure_ascii=False)]
    if count <= MOST_ROWS:
        return "\n".join([*lines, *map(_row, relation.rows)])
    last = MOST_ROWS - _FIRST
    between = f"[{count - MOST_ROWS} rows left out here]"
    return "\n".join([*lines, *map(_row, relation.rows[:_FIRST]), between, *map(_row, relation.rows[-last:])])


def _row(row: tuple[object, ...]) -> str:
    """Return one row as a JSON list; an overlong cell says how much of it is missing."""
    return "[" + ", ".join(map(_cell, row)) + "]"


def _cell(cell: object) -> str:
    """Return one cell as typed JSON."""
    text = json.dumps(encode(cell), ensure_ascii=False)
    return text if len(text) <= MOST_CELL else f"{text[:MOST_CELL]}… ({len(text) - MOST_CELL} characters left out)"
