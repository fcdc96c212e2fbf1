"""Names an engine would cut, fold into each other or refuse: found before anything is loaded, at their line."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from sqlassay.cases.errors import InputError
from sqlassay.cases.snapshot import Snapshot
from sqlassay.cases.sources.schema import name_fault


@dataclass(frozen=True, slots=True)
class NameRules:
    """What an engine takes for a name: its length, what it reads as the same, and what it does not take at all."""

    engine: str
    longest: int | None
    unit: Literal["bytes", "characters"]
    fold: Callable[[str], str]
    refused: tuple[tuple[re.Pattern[str], str], ...] = ()


def check_names(snapshot: Snapshot, rules: NameRules) -> None:
    """Refuse a snapshot with a name that this engine would not keep apart and whole.

    Raises:
        InputError: at the name, with what the engine would do and what to write instead.
    """
    seen: dict[tuple[int, str], str] = {}
    for table, column, name in _names(snapshot):
        fault = _fault(name, rules)
        scope = -1 if column is None else table
        other = seen.setdefault((scope, rules.fold(name)), name)
        if fault is None and other is not name:
            fault = f"'{other}' and '{name}' are one name to {rules.engine}"
        if fault is not None:
            remedy = f"Rename it, or leave {rules.engine} out (--dialect)"
            raise name_fault(snapshot, table, column, fault, remedy)


def _names(snapshot: Snapshot) -> Iterator[tuple[int, int | None, str]]:
    """Yield each name with the place of its table and column; a table's own name has no column."""
    for table, definition in enumerate(snapshot.tables):
        yield table, None, definition.name
        for column, one in enumerate(definition.columns):
            yield table, column, one.name


def _fault(name: str, rules: NameRules) -> str | None:
    """Return what is wrong with one name for this engine."""
    size = len(name.encode() if rules.unit == "bytes" else name)
    if rules.longest is not None and size > rules.longest:
        return f"name '{name}' has {size} {rules.unit}, {rules.engine} keeps {rules.longest}"
    if any(unicodedata.category(one) == "Cc" for one in name):
        return f"name {name!r} holds a control character, which is obeyed and not seen"
    why = next((why for pattern, why in rules.refused if pattern.search(name)), None)
    return f"name '{name}': {rules.engine} {why}" if why else None


def table_fault(snapshot: Snapshot, table: str, message: str) -> InputError:
    """Return an engine's refusal of a table, at the table's name."""
    index = next(number for number, one in enumerate(snapshot.tables) if one.name.lower() == table.lower())
    return name_fault(snapshot, index, None, message, "Correct the schema")
