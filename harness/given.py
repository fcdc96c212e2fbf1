"""Predictions as a program has them: a list, a mapping, a table of pandas, polars or Arrow, or the name of a file."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from pydantic import ValidationError

from sqlassay.cases.case import Prediction
from sqlassay.cases.errors import InputError
from sqlassay.cases.storable import HALF, is_half

GivenPredictions: TypeAlias = (
    str
    | Path
    | Mapping[str, "str | None | Mapping[str, Any]"]
    | Iterable["Prediction | Mapping[str, Any] | Sequence[str | None]"]
)
"""A file's name, {case id: SQL}, or an iterable of predictions, of mappings with their fields, or of (case id, SQL)."""

_HELD = ("sql", "answer", "route")
"""Where an agent's own text stands: one that is no Unicode text is the agent's error, never a lost batch."""

_ALIASES = {
    **dict.fromkeys(("id", "question_id", "case"), "case_id"),
    **dict.fromkeys(("predicted_sql", "generated_sql", "prediction", "query"), "sql"),
}
_REMEDY = "Give a file, {case id: sql}, or rows with case_id and sql"
_FIELD = "predictions"


def predictions_given(given: Any) -> tuple[Prediction, ...]:
    """Return predictions held in memory, each case, trial and dialect once.

    Of a table only the columns that are fields of a prediction are read; a mapping with any other key is refused.

    Raises:
        InputError: a row that is no prediction, or one that stands twice.
    """
    found: list[Prediction] = []
    seen: set[tuple[str, int, str | None]] = set()
    for number, row in enumerate(_rows(given), 1):
        prediction = _prediction(row, number)
        key = (prediction.case_id, prediction.trial, prediction.dialect)
        if key in seen:
            message = f"row {number}: case '{key[0]}' trial {key[1]} is predicted already"
            raise InputError(message, field=_FIELD, remedy="Keep one, or number the trials")
        seen.add(key)
        found.append(prediction)
    return tuple(found)


def digest_of(predictions: Sequence[Prediction]) -> str:
    """Return the sha256 of predictions, whatever shape they were given in."""
    lines = "".join(prediction.model_dump_json() + "\n" for prediction in predictions)
    return hashlib.sha256(lines.encode("utf-8", "backslashreplace")).hexdigest()


def _rows(given: Any) -> Iterator[object]:
    """Yield what is given, one prediction at a time.

    Raises:
        InputError: it is no collection.
    """
    if isinstance(given, Mapping):
        for case_id, answer in given.items():
            yield {**answer, "case_id": case_id} if isinstance(answer, Mapping) else (case_id, answer)
        return
    table = _table(given)
    if table is not None:
        for record in table:
            named = {_ALIASES.get(str(name), str(name)): _cell(cell) for name, cell in record.items()}
            yield {name: cell for name, cell in named.items() if name in Prediction.model_fields and cell is not None}
        return
    if not isinstance(given, Iterable) or isinstance(given, str | bytes):
        raise InputError(f"{type(given).__name__} holds no predictions", field=_FIELD, remedy=_REMEDY)
    yield from given


def _table(given: Any) -> Iterable[Mapping[str, Any]] | None:
    """Return the rows of an Arrow, polars or pandas table, None of anything else; none of the three is imported."""
    for method, arguments in (("to_pylist", ()), ("to_dicts", ()), ("to_dict", ("records",))):
        if hasattr(given, method) and hasattr(given, "columns"):
            rows: Iterable[Mapping[str, Any]] = getattr(given, method)(*arguments)
            return rows
    return None


def _cell(cell: object) -> object:
    """Return a table's cell; what stands for nothing there is None, and a whole number of a float column is one."""
    if isinstance(cell, float):
        return None if math.isnan(cell) else int(cell) if cell.is_integer() else cell
    return None if str(cell) in ("NaT", "<NA>") else cell


def answered(fields: Mapping[str, Any]) -> Prediction:
    """Return a prediction of these fields; an agent's text with half a character is an error of the agent, as there.

    Raises:
        ValidationError: they are none of a prediction's, or of another type.
    """
    broken = next((name for name in _HELD if isinstance(fields.get(name), str) and is_half(fields[name])), None)
    if broken is None:
        return Prediction.model_validate(fields)
    kept = {name: value for name, value in fields.items() if name not in _HELD}
    metadata = fields.get("metadata")
    said = {"agent_error": f"the answer's field '{broken}' holds {HALF}"}
    return Prediction.model_validate(
        {**kept, "metadata": {**metadata, **said} if isinstance(metadata, Mapping) else said}
    )


def _prediction(row: object, number: int) -> Prediction:
    """Return one row as a prediction.

    Raises:
        InputError: it is none; the message counts rows from 1.
    """
    if isinstance(row, Prediction):
        return row
    if isinstance(row, Sequence) and not isinstance(row, str | bytes) and len(row) == 2:
        row = {"case_id": row[0], "sql": row[1]}
    if not isinstance(row, Mapping):
        raise InputError(f"row {number} is no prediction: {type(row).__name__}", field=_FIELD, remedy=_REMEDY)
    named = {_ALIASES.get(str(name), str(name)): value for name, value in row.items()}
    if isinstance(named.get("case_id"), int):
        named["case_id"] = str(named["case_id"])
    try:
        return answered(named)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"])) or "the row"
        raise InputError(f"row {number}: {field}: {first['msg']}", field=_FIELD, remedy=_REMEDY) from None
