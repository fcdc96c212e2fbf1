"""Read predictions: JSON lines or one JSON list, each tied to a case of the pack before anything runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cases.case import Prediction
from cases.compact import settle
from cases.errors import InputError
from cases.faults import Faults
from cases.pack import Pack
from cases.prediction_forms import foreign_form
from cases.reading import Record, json_records

NAMED = 10


def predictions_of(path: Path, pack: Pack) -> tuple[Prediction, ...]:
    """Return a file's predictions for a pack: in our own form, or as Spider, BIRD or IBM's toolkit write them.

    Raises:
        InputError: a malformed file, or one whose rows are not those of the pack.
    """
    foreign = foreign_form(path)
    found = foreign(path, pack) if foreign is not None else read_predictions(path)
    settle(found)
    return found


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
    left_out = {case_id for case_id, _ in pack.rows}
    strangers = sorted({prediction.case_id for prediction in predictions} - known - left_out)
    if strangers and not allow_unknown:
        shown = ", ".join(strangers[:NAMED])
        more = f" and {len(strangers) - NAMED} more" if len(strangers) > NAMED else ""
        message = f"predictions for {len(strangers)} cases that pack '{pack.name}' does not have: {shown}{more}"
        remedy = "Correct the ids, or pass --allow-unknown to leave these out"
        raise InputError(message, field="case_id", remedy=remedy)
    return tuple(prediction for prediction in predictions if prediction.case_id in known)
