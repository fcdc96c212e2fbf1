"""A result as a judge reads it: its size, its column names, and every row with typed cells, one row a line."""

from __future__ import annotations

import json

from sqlassay.cases.relation import Relation
from sqlassay.cases.typed_json import encode
from sqlassay.harness.prompts.fence import MOST


def rows_text(relation: Relation) -> str:
    """Return the size, the columns and the rows. Of what is longer than a judge is shown no more is written than that.

    Such a text is refused where the prompt is made: rows that a judge does not see might be the ones that differ.
    """
    count, width = relation.shape
    lines = [f"{count} rows, {width} columns", json.dumps([c.name for c in relation.columns], ensure_ascii=False)]
    size = sum(map(len, lines))
    for row in relation.rows:
        if size > MOST:
            break
        lines.append("[" + ", ".join(json.dumps(encode(cell), ensure_ascii=False) for cell in row) + "]")
        size += len(lines[-1]) + 1
    return "\n".join(lines)
