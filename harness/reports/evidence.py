"""Lays out why two relations agree or differ, the same facts for terminal, Markdown and HTML."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlassay.harness.reports.escape import redact, spelled_out
from sqlassay.harness.results.case_result import CaseResult, ComparisonRecord, DifferenceRecord

SHOWN_COLUMNS = 12
"""Columns of the first differing row that are shown; the differing ones come before others."""

CELL_LIMIT = 120
"""Characters of one cell that are shown; what is left out is counted."""

_NAME_LIMIT = 60

FLAGS = {
    "vacuous": "vacuous: both results are empty, which is weak evidence",
    "order_differs": "only the order of the rows differs",
    "cut_tie": "the gold's LIMIT cuts a tie: which of the tied rows come is the engine's choice",
    "keys_unknown": "the gold's order keys could not be read, so every row's place counts",
    "gold_nondeterministic": "the gold gave other rows when it was run again",
    "gold_nulls_order": "the gold does not place NULLs where the policy says",
    "ignored_columns": "columns are left out by name, as ignore_columns says",
    "ignored_absent": "ignore_columns names a column the gold does not have",
    "constants": "the prediction reads no table where the gold does; `strict` accepts no such answer",
    "value_by_literal": "the value is a number that the prediction's text writes itself, where the gold computes it",
    "chosen_columns": "several predicted columns could stand for one gold column",
    "crossed_names": "columns that have the gold's names stand for others of its columns",
    "truncated": "one result was cut, so equal rows prove nothing",
}


@dataclass(frozen=True, slots=True)
class CellPair:
    """One column of the first differing row: a side without the column, or without the row, is None."""

    name: str
    gold: str | None
    predicted: str | None
    differs: bool


@dataclass(frozen=True, slots=True)
class Sheet:
    """What is shown of a comparison, free of any medium; texts are not escaped yet."""

    verdict: str
    rule: str
    reason: str
    facts: tuple[tuple[str, str], ...]
    heading: str = ""
    cells: tuple[CellPair, ...] = ()
    left_out: int = 0


def sheet(record: ComparisonRecord, gold_columns: Sequence[str], predicted_columns: Sequence[str]) -> Sheet:
    """Return what is shown of a comparison of relations with these column names."""
    cells = _cells(record, gold_columns, predicted_columns)
    shown = _most_telling(cells)
    return Sheet(
        verdict=record.verdict,
        rule=record.rule,
        reason=record.reason,
        facts=tuple(_facts(record, gold_columns, predicted_columns)),
        heading="" if record.first is None else _heading(record.first),
        cells=shown,
        left_out=len(cells) - len(shown),
    )


def case_sheet(result: CaseResult) -> Sheet | None:
    """Return what is shown of a case's comparison, None where nothing was compared."""
    if result.comparison is None:
        return None
    made = sheet(result.comparison, result.gold_columns, result.predicted_columns)
    strict = result.strict
    if strict is None or strict.verdict == result.comparison.verdict:
        return made
    apart = ("under strict", f"{strict.verdict} by rule {strict.rule}: {strict.reason}")
    return replace(made, facts=(*made.facts, apart))


def cell_text(cell: Any) -> str:
    """Return one typed JSON cell as a person reads it: text in quotes, NULL bare, other types by name."""
    if cell is None:
        return "NULL"
    if isinstance(cell, str):
        return _short(f"'{cell}'")
    if isinstance(cell, dict) and len(cell) == 1:
        ((tag, value),) = cell.items()
        plain = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return _short(plain if tag in ("$int", "$float") else f"{str(tag).removeprefix('$')} {plain}")
    return _short(json.dumps(cell, ensure_ascii=False))


def _short(text: str, limit: int = CELL_LIMIT) -> str:
    """Return a text, cut with its whole length said where it is past the limit; logins go before that."""
    text = spelled_out(redact(text))
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters in all)"


def _facts(record: ComparisonRecord, gold: Sequence[str], predicted: Sequence[str]) -> list[tuple[str, str]]:
    """Return the labelled facts of a comparison, in the order a person needs them."""
    found: list[tuple[str, str]] = []
    if record.missing or record.extra:
        found.append(("rows", f"{record.missing} missing, {record.extra} extra"))
    if record.columns:
        found.append(("columns", _mapping(record.columns, gold, predicted)))
    if record.looser:
        found.append(("would match with", record.looser))
    found += [("note", FLAGS.get(flag, flag)) for flag in record.flags]
    return found


def _mapping(columns: Sequence[int | None], gold: Sequence[str], predicted: Sequence[str]) -> str:
    """Say which predicted column each gold column was compared with."""
    extra = len(predicted) - sum(index is not None for index in columns)
    rest = f"; {extra} extra not compared" if extra > 0 else ""
    if all(index == place for place, index in enumerate(columns)):
        return f"compared in position{rest}"
    pairs = [
        f"{_named(gold, place)} = {'not compared' if index is None else _named(predicted, index)}"
        for place, index in enumerate(columns)
    ]
    more = f" and {len(pairs) - SHOWN_COLUMNS} more" if len(pairs) > SHOWN_COLUMNS else ""
    return f"gold = predicted: {', '.join(pairs[:SHOWN_COLUMNS])}{more}{rest}"


def _named(names: Sequence[str], index: int) -> str:
    """Return a column's name, or its number where the name is not known."""
    return _short(names[index], _NAME_LIMIT) if index < len(names) and names[index] else f"#{index}"


def _heading(first: DifferenceRecord) -> str:
    """Say which row is shown, counted from 0 as in the reason."""
    if first.gold is None:
        return f"first extra row: row {first.index} of the prediction, counted from 0"
    if first.predicted is None:
        return f"first missing row: row {first.index} of the gold, counted from 0"
    return f"first differing row: row {first.index}, counted from 0"


def _cells(record: ComparisonRecord, gold: Sequence[str], predicted: Sequence[str]) -> list[CellPair]:
    """Return the first differing row column by column, gold columns first, then predicted ones facing none."""
    first = record.first
    if first is None:
        return []
    ours, theirs = first.gold, first.predicted
    width = max(len(gold), len(ours or ()))
    faces = record.columns or tuple(range(width))
    found = []
    for place in range(width):
        face = faces[place] if place < len(faces) else None
        name = _named(gold, place)
        if face is not None and _named(predicted, face) != name:
            name = f"{name} / {_named(predicted, face)}"
        found.append(CellPair(name, _at(ours, place), _at(theirs, face), place in first.cells))
    faced = set(faces)
    lonely = [index for index in range(len(theirs or ())) if index not in faced]
    return found + [CellPair(f"extra {_named(predicted, index)}", None, _at(theirs, index), False) for index in lonely]


def _at(row: Sequence[Any] | None, index: int | None) -> str | None:
    """Return a row's cell as text, None where there is none."""
    return None if row is None or index is None or index >= len(row) else cell_text(row[index])


def _most_telling(cells: Sequence[CellPair]) -> tuple[CellPair, ...]:
    """Return at most as many columns as are shown, differing ones first, each group in its own order."""
    if len(cells) <= SHOWN_COLUMNS:
        return tuple(cells)
    return tuple(sorted(cells, key=lambda cell: not cell.differs)[:SHOWN_COLUMNS])
