"""Read predictions: JSON lines or one JSON list, each tied to a case of the pack before anything runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from sqlassay.cases.case import Prediction
from sqlassay.cases.compact import settle
from sqlassay.cases.errors import InputError
from sqlassay.cases.faults import Faults
from sqlassay.cases.pack import Pack
from sqlassay.cases.prediction_forms import IDS, ROWS, foreign_form, rows_of
from sqlassay.cases.reading import Record, json_records
from sqlassay.cases.tables import named_part

NAMED = 10


def predictions_of(path: Path, pack: Pack) -> tuple[Prediction, ...]:
    """Return a file's predictions for a pack: in our own form, or as Spider, BIRD or IBM's toolkit write them.

    `FILE#PART` names a pipeline of the toolkit's, or how predictions are joined to questions: `rows` or `ids`.

    Raises:
        InputError: a malformed file, or one whose rows are not those of the pack.
    """
    file, named = named_part(path)
    foreign = foreign_form(file)
    found = foreign(file, named, pack) if foreign is not None else _own(file, named, pack)
    settle(found)
    return found


def _own(path: Path, named: str, pack: Pack) -> tuple[Prediction, ...]:
    """Return predictions in our own form; ids that stand twice in the pack are joined by the place of their rows.

    Raises:
        InputError: malformed records, or a prediction for one of two questions of the same id.
    """
    if named not in ("", ROWS, IDS):
        remedy = f"Name the file alone, or {path.name}#{ROWS} or {path.name}#{IDS}"
        raise InputError(f"it has no part '{named}'", file=path, remedy=remedy)
    rows = rows_of(pack)
    twice = {row_id for row_id, count in Counter(row.id for row in rows).items() if count > 1}
    if not twice or named == IDS:
        return read_predictions(path)
    faults = Faults()
    made = [_prediction(record, path, faults) for record in json_records(path)]
    faults.check()
    read = [one for one in made if one is not None]
    if [one.case_id for one in read] == [row.id for row in rows]:
        return tuple(one for one, row in zip(read, rows, strict=True) if row.kept)
    either = next((one.case_id for one in read if one.case_id in twice), None)
    if either is not None:
        message = f"question '{either}' stands twice in the pack: nothing says which one its prediction is for"
        remedy = f"Write one prediction a row in the pack's order, or {path.name}#{IDS} to give it to the first"
        raise InputError(message, file=path, field="case_id", remedy=remedy)
    return read_predictions(path)


def read_predictions(path: Path) -> tuple[Prediction, ...]:
    """Return the predictions of a file in our own form, in file order.

    Raises:
        InputError: malformed lines or fields, or two predictions for one case, trial and dialect.
    """
    faults = Faults()
    first: dict[tuple[str, int, str | None], int] = {}
    found: list[Prediction] = []
    for record in json_records(path):
        prediction = _prediction(record, path, faults)
        if prediction is None:
            continue
        key = (prediction.case_id, prediction.trial, prediction.dialect)
        if key in first:
            message = f"case '{key[0]}' trial {key[1]} is predicted already on line {first[key]}"
            remedy = "Keep one, or number the trials"
            faults.add(InputError(message, file=path, line=record.line, field="case_id", remedy=remedy))
        first.setdefault(key, record.line)
        found.append(prediction)
    faults.check()
    return tuple(found)


def _prediction(record: Record, path: Path, faults: Faults) -> Prediction | None:
    """Return one record as a prediction, or None after keeping its faults."""
    if not isinstance(record.value, dict):
        remedy = 'Write {"case_id": …, "sql": …}'
        faults.add(InputError("a prediction is an object", file=path, line=record.line, remedy=remedy))
        return None
    return faults.validate(Prediction, record.value, file=path, line=lambda _place: record.line)


def check_known(
    predictions: Sequence[Prediction], pack: Pack, *, allow_unknown: bool = False
) -> tuple[Prediction, ...]:
    """Return the predictions whose case the pack has; others end the command unless they are allowed.

    Raises:
        InputError: predictions for unknown cases, naming their ids.
    """
    known = {case.id for case in pack.cases}
    left_out = {row.id for row in pack.rows}
    strangers = sorted({prediction.case_id for prediction in predictions} - known - left_out)
    if strangers and not allow_unknown:
        shown = ", ".join(strangers[:NAMED])
        more = f" and {len(strangers) - NAMED} more" if len(strangers) > NAMED else ""
        message = f"predictions for {len(strangers)} cases that pack '{pack.name}' does not have: {shown}{more}"
        remedy = "Correct the ids, or pass --allow-unknown to leave these out"
        raise InputError(message, field="case_id", remedy=remedy)
    return tuple(prediction for prediction in predictions if prediction.case_id in known)
