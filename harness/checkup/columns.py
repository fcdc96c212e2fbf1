"""Numbers that a snapshot stores as text, in an order that is not theirs: '10' before '9'."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping

from sqlassay.cases.pack import Pack
from sqlassay.cases.relation import Kind
from sqlassay.cases.snapshot import Snapshot, TableDef
from sqlassay.harness.results.parsed import ParsedQuery

_NUMBER = re.compile(r"\s*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\s*")
_EXTREME = re.compile(r"(?:min|max)\((?:distinct )?([^()]+)\)", re.I)
_NAME = re.compile(r"""(?:[\w"`\[\] ]+\.)?["`\[]?([\w ]+?)["`\]]?""")


class TextNumbers:
    """Finds, once for each table, the text columns whose values are all numbers and sort otherwise as text."""

    def __init__(self, pack: Pack) -> None:
        """Look at nothing yet."""
        self._pack = pack
        self._lock = threading.Lock()  # guards _found: each table is read once, whoever asks first
        self._found: dict[tuple[str, str], Mapping[str, tuple[str, str]]] = {}

    def sorted_by(self, parsed: ParsedQuery, snapshot_id: str) -> Iterator[tuple[str, str, tuple[str, str]]]:
        """Yield what a query sorts as text though it is numbers: the clause, table.column, and two values."""
        snapshot = self._pack.snapshot(snapshot_id)
        named = {table.name.lower() for table in parsed.tables}
        for clause, column in dict.fromkeys(_sorted_columns(parsed)):
            for table in snapshot.tables:
                if table.name.lower() in named and (pair := self._of(snapshot, table).get(column)):
                    yield clause, f"{table.name}.{column}", pair

    def _of(self, snapshot: Snapshot, table: TableDef) -> Mapping[str, tuple[str, str]]:
        """Return a table's columns of that kind with two values that stand the wrong way round."""
        with self._lock:
            key = (snapshot.id, table.name)
            if key not in self._found:
                self._found[key] = dict(text_numbers(snapshot, table))
            return self._found[key]


def _sorted_columns(parsed: ParsedQuery) -> Iterator[tuple[str, str]]:
    """Yield the plain columns that ORDER BY, MIN and MAX sort by, with the clause."""
    for key in parsed.order.keys if parsed.order else ():
        place = key.column
        text = parsed.projections[place] if place is not None and place < len(parsed.projections) else key.sql
        if (name := _NAME.fullmatch(text.strip())) is not None:
            yield "ORDER BY", name[1].lower()
    for call in parsed.aggregates:
        inner = _EXTREME.fullmatch(call.strip())
        if inner is not None and (name := _NAME.fullmatch(inner[1].strip())) is not None:
            yield call[:3].upper(), name[1].lower()


def text_numbers(snapshot: Snapshot, table: TableDef) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield the text columns whose values are all numbers, where the order of the texts is not that of the numbers."""
    open_ones = {
        place: (column.name.lower(), set[str]())
        for place, column in enumerate(table.columns)
        if column.kind in (Kind.TEXT, Kind.CHAR)
    }
    for row in snapshot.source.rows(table.name) if snapshot.source is not None and open_ones else ():
        for place in list(open_ones):
            value = row[place]
            if value is None:
                continue
            if isinstance(value, str) and _NUMBER.fullmatch(value):
                open_ones[place][1].add(value)
            else:
                del open_ones[place]
        if not open_ones:
            return
    for name, values in open_ones.values():
        if (pair := wrong_way_round(values)) is not None:
            yield name, pair


def wrong_way_round(values: set[str]) -> tuple[str, str] | None:
    """Return two neighbours in the order of texts of which the first is the larger number, else None."""
    ordered = sorted(values)
    pairs = zip(ordered, ordered[1:], strict=False)
    return next(((one, other) for one, other in pairs if float(one) > float(other)), None)
