"""Predictions as other benchmarks write them: by line, by index with a database behind a marker, or by pipeline."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from cases.case import Prediction
from cases.errors import InputError
from cases.formats.json_rows import first_keys, object_rows
from cases.formats.toolkit import pipelines_of, predictions_of
from cases.pack import Pack
from cases.paths import asks
from cases.reading import parse_json, read_text, starts_with

BIRD_MARK = "\t----- bird -----\t"
_LINES = (".txt", ".sql")
_LOOK = 65_536
_INDEX = re.compile(rb'\s*\{\s*"\d+"\s*:\s*')

Rows = Sequence[tuple[str, str]]
Read = Callable[[Path, Pack], tuple[Prediction, ...]]


def foreign_form(path: Path) -> Read | None:
    """Return what reads a prediction file that is not in our own form, None where it is; never raises."""
    if "#" in path.name and not asks(path.exists):
        return _by_pipeline
    if path.suffix in _LINES:
        return _by_line
    if _is_index(path):
        return _by_index
    return _by_pipeline if {"predictions", "db_id"} <= first_keys(path) else None


def _is_index(path: Path) -> bool:
    """Return True for a JSON object whose first key is a number: our own lines start with a field's name."""
    if not starts_with(path, b"{"):
        return False
    with path.open("rb") as stream:
        return _INDEX.match(stream.read(_LOOK).removeprefix(b"\xef\xbb\xbf")) is not None


def _rows(pack: Pack) -> Rows:
    """Return every row of the pack as (case id, database), in the order of its file, those left out too."""
    return pack.rows or tuple((case.id, case.snapshot) for case in pack.cases)


def _kept(found: Mapping[str, str | None], pack: Pack) -> tuple[Prediction, ...]:
    """Return the predictions of the rows that are cases."""
    cases = {case.id for case in pack.cases}
    return tuple(Prediction(case_id=case_id, sql=sql) for case_id, sql in found.items() if case_id in cases)


def _by_line(path: Path, pack: Pack) -> tuple[Prediction, ...]:
    """Return one prediction a line, in the order of the pack's rows; a database may follow behind a tab.

    Raises:
        InputError: another number of lines than rows, or a line of another database.
    """
    lines = read_text(path).rstrip("\n").split("\n")
    rows = _rows(pack)
    if len(lines) != len(rows):
        filled = [line for line in lines if line.strip()]
        if len(filled) != len(rows):
            message = f"{len(lines)} lines for {len(rows)} questions of pack '{pack.name}': misaligned"
            raise InputError(message, file=path, remedy="Write one statement a line, an empty line where there is none")
        lines = filled
    found: dict[str, str | None] = {}
    for number, (line, (case_id, database)) in enumerate(zip(lines, rows, strict=True), 1):
        sql, _, named = line.partition("\t")
        if named.strip() and named.strip() != database:
            raise _misaligned(path, number, f"line {number}", named.strip(), case_id, database)
        found[case_id] = sql.strip() or None
    return _kept(found, pack)


def _misaligned(path: Path, line: int | None, what: str, named: str, case_id: str, database: str) -> InputError:
    """Return the error of a prediction that belongs to another question."""
    message = f"{what} is for database '{named}', case '{case_id}' asks '{database}': misaligned"
    remedy = "Take the predictions made for these questions, in their order"
    return InputError(message, file=path, line=line, remedy=remedy)


def _by_index(path: Path, pack: Pack) -> tuple[Prediction, ...]:
    """Return BIRD's predictions: keys count the pack's rows from 0, or are case ids, whichever fits the databases.

    Raises:
        InputError: no JSON object, a key that fits neither way, or predictions of other questions.
    """
    value = parse_json(read_text(path), path)
    if not isinstance(value, dict):
        raise InputError("not an object of predictions", file=path, remedy='Write {"0": "SQL", …}')
    rows = _rows(pack)
    counted = {str(number): row for number, row in enumerate(rows)}
    named = {case_id: (case_id, database) for case_id, database in rows}
    faults = [_first_fault(path, value, keyed) for keyed in (counted, named)]
    if faults[0] is not None and faults[1] is not None:
        raise faults[0]
    keyed = counted if faults[0] is None else named
    return _kept({keyed[key][0]: _statement(text)[0] for key, text in value.items()}, pack)


def _statement(value: object) -> tuple[str | None, str]:
    """Return the SQL and the database of one BIRD prediction; anything but text is no prediction."""
    if not isinstance(value, str):
        return None, ""
    sql, _, database = value.partition(BIRD_MARK)
    return sql.strip() or None, database.strip()


def _first_fault(path: Path, value: Mapping[str, object], keyed: Mapping[str, tuple[str, str]]) -> InputError | None:
    """Return what speaks against reading the keys this way: an unknown one, or another database."""
    for key, written in value.items():
        if key not in keyed:
            remedy = "Keys count the questions from 0, or are their question_ids"
            return InputError(f"no question '{key}' among {len(keyed)}: misaligned", file=path, remedy=remedy)
        _, database = _statement(written)
        case_id, asked = keyed[key]
        if database and database != asked:
            return _misaligned(path, None, f"prediction '{key}'", database, case_id, asked)
    return None


def _by_pipeline(path: Path, pack: Pack) -> tuple[Prediction, ...]:
    """Return one pipeline's predictions of a file of records: the only one, or the one named by `FILE#PIPELINE`.

    Raises:
        InputError: no such pipeline, or several and none named.
    """
    name, _, wanted = str(path).partition("#") if not asks(path.exists) else (str(path), "", "")
    file = Path(name)
    records = [record for _, record in object_rows(file)]
    pipelines = pipelines_of(records)
    if wanted not in pipelines and (wanted or len(pipelines) != 1):
        listed = ", ".join(pipelines) or "none"
        message = f"no pipeline '{wanted}'" if wanted else f"{len(pipelines)} pipelines, one is needed"
        raise InputError(message, file=file, remedy=f"Name one as FILE#PIPELINE: {listed}")
    cases = {case.id for case in pack.cases} | {case_id for case_id, _ in pack.rows}
    made = predictions_of(records, wanted or pipelines[0])
    strangers = [one.case_id for one in made if one.case_id not in cases]
    if strangers and len(strangers) == len(made):
        raise InputError("none of its records is a case of this pack", file=file, remedy="Name the file the pack is of")
    left_out = cases - {case.id for case in pack.cases}
    return tuple(one for one in made if one.case_id not in left_out)
