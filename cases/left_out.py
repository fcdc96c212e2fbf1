"""Say in one line which rows of a data set are no cases, so that hundreds of them do not bury what is to be read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

FILE = "left_out.txt"
SHOWN = 3
"""So many rows are told one by one; more are counted, and listed in a file."""

_ROW = re.compile(r"row (.*?) was left out: (.*)", re.DOTALL)


def summed(lines: Sequence[str], listed: str = "") -> tuple[str, ...]:
    """Return the lines with those of rows as one line of counts by reason; `listed` says where each row is named."""
    rows = [found for line in lines if (found := _ROW.fullmatch(line))]
    if len(rows) <= SHOWN:
        return tuple(lines)
    reasons = Counter(row[2] for row in rows).most_common()
    told = "; ".join(f"{count}: {reason}" for reason, count in reasons[:SHOWN])
    others = sum(count for _, count in reasons[SHOWN:])
    more = f"; {others}: other reasons" if others else ""
    where = f"; {listed} names each" if listed else ""
    first = f"{len(rows)} rows were left out ({told}{more}), the first is {rows[0][1]}{where}"
    return (first, *(line for line in lines if not _ROW.fullmatch(line)))
