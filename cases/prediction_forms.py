"""Predictions as other benchmarks write them, tied to a pack's rows: by line, by number, by id, or by pipeline.

A file says what a prediction belongs to in one of two ways: by its place among the rows, or by an id. Where both fit
and lead to different questions the file is refused until its name says which is meant: FILE#rows or FILE#ids.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlassay.cases.case import Prediction
from sqlassay.cases.columns import Guess, guess
from sqlassay.cases.errors import InputError
from sqlassay.cases.faults import Faults
from sqlassay.cases.formats.foreign import text_of
from sqlassay.cases.formats.json_rows import first_keys, object_rows
from sqlassay.cases.formats.toolkit import answer_of, pipelines_of, record_id
from sqlassay.cases.pack import Pack, PackRow
from sqlassay.cases.reading import Record, json_lines, json_records, parse_json, read_text, starts_with
from sqlassay.cases.tables import DELIMITED, EXCEL, JSON, SHEET, TableRow, choices, read_table

BIRD_MARK = "\t----- bird -----\t"
ROWS, IDS = "rows", "ids"
"""What behind FILE# says how predictions are joined: by the place of their rows, or by their ids."""

_LINES = (".txt", ".sql")
_FIELDS = ("dialect", "trial", "route", "tokens", "cost")
_ROLES = ("id", "row", "question", "sql", "database", *_FIELDS)
_DATABASE = re.compile(r"[A-Za-z_][\w.-]*")

_log = logging.getLogger("sqlassay.packs")

Read = Callable[[Path, str, Pack], tuple[Prediction, ...]]


@dataclass(frozen=True, slots=True)
class Answer:
    """One prediction as it is written, before it is tied to a row: its key, its database and where it stands."""

    key: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    database: str = ""
    line: int | None = None
    question: str = ""


def foreign_form(path: Path) -> Read | None:
    """Return what reads a prediction file that is not in our own form, None where it is.

    Raises:
        InputError: a file of YAML, which no reader of predictions takes.
    """
    suffix = path.suffix.lower()
    if suffix in (".yaml", ".yml"):
        known = ", ".join((*JSON, *DELIMITED, *EXCEL, *sorted(_LINES)))
        raise InputError("predictions are not read from YAML", file=path, remedy=f"Write one of {known}")
    if suffix in _LINES:
        return _by_line
    if suffix in (*DELIMITED, *EXCEL):
        return _by_table
    if {"predictions", "db_id"} <= first_keys(path):
        return _by_pipeline
    try:
        first, more = _first(path)
    except InputError:
        return None  # our own reader says what is wrong with it
    if not isinstance(first, dict) or "case_id" in first:
        return None
    if more or starts_with(path, b"["):
        return _by_table
    lists = any(isinstance(value, list) for value in first.values())
    return _by_table if lists or ("sql" in first and "id" in first) else _by_key


def _first(path: Path) -> tuple[object, bool]:
    """Return the first JSON value of a file, and whether others follow it."""
    if starts_with(path, b"["):
        return next(iter(json_records(path)), Record(1, None)).value, False
    try:
        return parse_json(read_text(path), path), False
    except InputError:
        lines = json_lines(path)
        return next(lines, Record(1, None)).value, True


def rows_of(pack: Pack) -> Sequence[PackRow]:
    """Return every row of the pack in the order of its file, those left out too."""
    return pack.rows or tuple(PackRow(case.id, case.snapshot) for case in pack.cases)


def by_place(answers: Sequence[Answer], pack: Pack, path: Path, *, noun: str = "row") -> tuple[Prediction, ...]:
    """Return the k-th answer as the prediction of the k-th row.

    Raises:
        InputError: an answer of another database than its row's.
    """
    rows = rows_of(pack)
    for number, (answer, row) in enumerate(zip(answers, rows, strict=True), 1):
        if answer.database and answer.database != row.database:
            raise _misaligned(path, answer, f"{noun} {number}", row)
    return _tied(zip(answers, rows, strict=True), path)


def by_key(answers: Sequence[Answer], pack: Pack, path: Path, named: str = "") -> tuple[Prediction, ...]:
    """Return answers whose keys are ids of rows, or count the rows from 0: whichever fits, or the one `named`.

    Raises:
        InputError: neither fits, or both do and lead to different questions; an id that stands twice in the pack.
    """
    rows = rows_of(pack)
    counted = {str(number): [row] for number, row in enumerate(rows)}
    ids: dict[str, list[PackRow]] = {}
    for row in rows:
        ids.setdefault(row.id, []).append(row)
    readings = {name: _reading(answers, keyed, path) for name, keyed in ((ROWS, counted), (IDS, ids))}
    if named:
        found = readings[named]
        if isinstance(found, InputError):
            raise found
        return _tied(zip(answers, [fits[0] for fits in found], strict=True), path)
    fitting = {name: found for name, found in readings.items() if not isinstance(found, InputError)}
    if not fitting:
        digits = all(answer.key.isdecimal() for answer in answers)
        raise readings[ROWS if digits else IDS]  # type: ignore[misc]
    if len(fitting) == 2:
        for answer, one, other in zip(answers, *fitting.values(), strict=True):
            if len(other) > 1 or one[0] is not other[0]:
                raise _two_readings(path, answer, one[0], other)
    chosen = next(iter(fitting.values()))
    for answer, fits in zip(answers, chosen, strict=True):
        if len(fits) > 1:
            raise _stands_twice(path, answer, fits)
    return _tied(zip(answers, [fits[0] for fits in chosen], strict=True), path)


def _reading(
    answers: Sequence[Answer], keyed: Mapping[str, list[PackRow]], path: Path
) -> list[list[PackRow]] | InputError:
    """Return the rows that each answer may belong to when its key is read so, or what speaks against that."""
    found = []
    for answer in answers:
        rows = keyed.get(answer.key)
        if rows is None:
            remedy = "Keys count the questions from 0, or are their ids"
            message = f"no question '{answer.key}' among {len(keyed)}: misaligned"
            return InputError(message, file=path, line=answer.line, remedy=remedy)
        fitting = [row for row in rows if answer.database in ("", row.database)]
        if not fitting:
            return _misaligned(path, answer, f"prediction '{answer.key}'", rows[0])
        found.append(fitting)
    return found


def _two_readings(path: Path, answer: Answer, row: PackRow, ids: Sequence[PackRow]) -> InputError:
    """Return the error of keys that fit the rows' numbers and their ids alike."""
    other = f"question '{ids[0].id}'" if len(ids) == 1 else f"one of {len(ids)} questions of that id"
    message = f"its keys fit row numbers and ids: '{answer.key}' is row {answer.key} (question '{row.id}') or {other}"
    remedy = f"Say which is meant: {path.name}#{ROWS} or {path.name}#{IDS}"
    return InputError(message, file=path, line=answer.line, remedy=remedy)


def _stands_twice(path: Path, answer: Answer, rows: Sequence[PackRow]) -> InputError:
    """Return the error of an id that two questions of the pack have."""
    message = f"question '{answer.key}' stands {len(rows)} times in the pack: nothing says which one is meant"
    remedy = f"Key the predictions by row from 0, or write {path.name}#{IDS} to give it to the first"
    return InputError(message, file=path, line=answer.line, field=answer.key, remedy=remedy)


def _misaligned(path: Path, answer: Answer, what: str, row: PackRow) -> InputError:
    """Return the error of a prediction that belongs to another question."""
    message = f"{what} is for database '{answer.database}', case '{row.id}' asks '{row.database}': misaligned"
    remedy = "Take the predictions made for these questions, in their order"
    return InputError(message, file=path, line=answer.line, remedy=remedy)


def _tied(pairs: Any, path: Path) -> tuple[Prediction, ...]:
    """Return the predictions of the rows that are cases, one a case, trial and dialect."""
    faults = Faults()
    found: list[Prediction] = []
    seen: set[tuple[str, int, str | None]] = set()
    for answer, row in pairs:
        if row.kept:
            value = {**answer.fields, "case_id": row.id}
            made = faults.validate(Prediction, value, file=path, line=lambda _place, at=answer.line: at)  # type: ignore[misc]
            if made is None:
                continue
            key = (made.case_id, made.trial, made.dialect)
            if key in seen:
                message = f"case '{made.case_id}' is predicted twice in trial {made.trial}"
                faults.add(InputError(message, file=path, line=answer.line, remedy="Keep one, or number the trials"))
            seen.add(key)
            found.append(made)
    faults.check()
    return tuple(found)


def _by_line(path: Path, named: str, pack: Pack) -> tuple[Prediction, ...]:
    """Return one prediction a line, in the order of the pack's rows; a database may follow behind a tab.

    Raises:
        InputError: another number of lines than rows, or a line of another database.
    """
    _only(path, named, ROWS)
    rows = rows_of(pack)
    lines = read_text(path).removesuffix("\n").split("\n")
    shorter = (lines, "\n".join(lines).rstrip("\n").split("\n"), [line for line in lines if line.strip()])
    fitting = next((form for form in shorter if len(form) == len(rows)), None)
    if fitting is None:
        message = f"{len(shorter[1])} lines for {len(rows)} questions of pack '{pack.name}': misaligned"
        raise InputError(message, file=path, remedy="Write one statement a line, an empty line where there is none")
    return by_place(_of_lines(fitting, {row.database for row in rows}), pack, path, noun="line")


def _of_lines(lines: Sequence[str], databases: set[str]) -> list[Answer]:
    """Return each line's answer; what stands behind the last tab is a database where it is in every line, or known."""
    split = [line.rpartition("\t") for line in lines]
    always = all(mark and _DATABASE.fullmatch(tail.strip()) for _, mark, tail in split if tail.strip())
    found = []
    for number, (line, (sql, mark, tail)) in enumerate(zip(lines, split, strict=True), 1):
        behind = mark != "" and (always or not tail.strip() or tail.strip() in databases)
        text = (sql if behind else line).strip()
        found.append(Answer("", {"sql": text or None}, tail.strip() if behind else "", number))
    return found


def _by_key(path: Path, named: str, pack: Pack) -> tuple[Prediction, ...]:
    """Return the predictions of one JSON object: statements by id or by number, as BIRD writes them too.

    Raises:
        InputError: a key that fits neither way, or predictions of other questions.
    """
    _only(path, named, ROWS, IDS)
    value = parse_json(read_text(path), path)
    if not isinstance(value, dict):
        raise InputError("not an object of predictions", file=path, remedy='Write {"ID": "SQL", …}')
    return by_key([_statement(str(key), written) for key, written in value.items()], pack, path, named)


def _statement(key: str, value: object) -> Answer:
    """Return one entry of a map: a statement, perhaps with BIRD's mark and the database, or a prediction's fields."""
    if isinstance(value, dict):
        return Answer(key, value)
    if not isinstance(value, str):
        return Answer(key, {"sql": None})
    sql, _, database = value.partition(BIRD_MARK)
    return Answer(key, {"sql": sql.strip() or None}, database.strip())


def _by_table(path: Path, named: str, pack: Pack) -> tuple[Prediction, ...]:
    """Return the predictions of a table, its columns guessed: by their ids, by the numbers of rows, or row by row.

    Raises:
        InputError: no column of statements, ids of other questions, or another number of rows than the pack's.
    """
    chosen = {} if named in (ROWS, IDS) else choices(named)
    if named and not chosen:
        _only(path, named, ROWS, IDS, "sql=COLUMN")
    table = read_table(path, sheet=chosen.get(SHEET))
    found = guess(table, _ROLES, ("sql",), chosen)
    _log.warning("columns of %s", found.told(table))
    known = {row.database for row in rows_of(pack)}
    answers = [_answer(row, found, known) for row in table.rows]
    keyed = all(answer.key for answer in answers) and bool(answers)
    if keyed and named != ROWS:
        if "row" in found.columns and "id" not in found.columns:
            return by_key(answers, pack, path, named)
        return _by_ids(answers, pack, path, named)
    rows = rows_of(pack)
    by_question = _by_question(answers, pack) if named != ROWS else None
    if by_question is not None:
        return _tied(zip(answers, by_question, strict=True), path)
    if len(answers) != len(rows):
        message = f"{len(answers)} rows for {len(rows)} questions of pack '{pack.name}', and no column of ids"
        raise InputError(message, file=path, remedy=f"Add a column case_id, or name it: {path.name}#id=COLUMN")
    _same_questions(answers, pack, path)
    return by_place(answers, pack, path)


def _by_question(answers: Sequence[Answer], pack: Pack) -> list[PackRow] | None:
    """Return the row that asks each answer's question, None where one is asked by no case, or by several."""
    rows: dict[tuple[str, str], list[PackRow]] = {}
    kept = (row for row in rows_of(pack) if row.kept)
    for case, row in zip(pack.cases, kept, strict=True):
        for database in ("", row.database):
            rows.setdefault((_said(case.question), database), []).append(row)
    found = [rows.get((_said(answer.question), answer.database), []) for answer in answers]
    if not answers or any(not answer.question or len(fits) != 1 for answer, fits in zip(answers, found, strict=True)):
        return None
    return [fits[0] for fits in found]


def _answer(row: TableRow, found: Guess, known: set[str]) -> Answer:
    """Return one row of a table as an answer; a database counts where it is one of the pack's `known` ones."""
    cells = {role: row.cells.get(column) for role, column in found.columns.items()}
    key = cells.get("id") if cells.get("id") is not None else cells.get("row")
    sql = cells["sql"]
    fields = {role: cells[role] for role in _FIELDS if cells.get(role) is not None}
    database = text_of(cells.get("database"))
    return Answer(
        text_of(key),
        {**fields, "sql": sql if sql is None or isinstance(sql, str) else str(sql)},
        database if database in known else "",
        row.line,
        text_of(cells.get("question")),
    )


def _by_ids(answers: Sequence[Answer], pack: Pack, path: Path, named: str) -> tuple[Prediction, ...]:
    """Return answers by their column of ids; ids that stand twice are joined row by row where all rows are there.

    Raises:
        InputError: one of two questions of the same id is meant, or the answer is to another question than its id's.
    """
    rows = rows_of(pack)
    if [answer.key for answer in answers] == [row.id for row in rows]:
        return by_place(answers, pack, path)
    by_id: dict[str, list[PackRow]] = {}
    for row in rows:
        by_id.setdefault(row.id, []).append(row)
    pairs = []
    for answer in answers:
        # One of an unknown id is a stranger, which the caller refuses or leaves out.
        choice = by_id.get(answer.key, [PackRow(answer.key, answer.database)])
        fitting = [row for row in choice if answer.database in ("", row.database)]
        if not fitting:
            raise _misaligned(path, answer, f"prediction '{answer.key}'", choice[0])
        if len(fitting) > 1 and named != IDS:
            raise _stands_twice(path, answer, fitting)
        pairs.append((answer, fitting[0]))
    _same_questions(answers, pack, path)
    return _tied(pairs, path)


def _same_questions(answers: Sequence[Answer], pack: Pack, path: Path) -> None:
    """Refuse answers that repeat the question of another case than the one they would be joined to."""
    rows = rows_of(pack)
    asked = {case.id: _said(case.question) for case in pack.cases}
    known = {question: case_id for case_id, question in asked.items() if question}
    for number, answer in enumerate(answers):
        case_id = answer.key or (rows[number].id if number < len(rows) else "")
        other = known.get(_said(answer.question))
        if other is not None and asked.get(case_id, asked[other]) != asked[other]:
            message = f"the prediction of case '{case_id}' repeats the question of case '{other}': misaligned"
            raise InputError(message, file=path, line=answer.line, remedy="Take the ids of these questions")


def _said(question: str) -> str:
    """Return a question without what copies of it differ by."""
    return " ".join(question.lower().split())


def _only(path: Path, named: str, *known: str) -> None:
    """Refuse what is named behind a file that has no such part."""
    if named and named not in known:
        remedy = f"Name the file alone, or {' or '.join(f'{path.name}#{word}' for word in known)}"
        raise InputError(f"it has no part '{named}'", file=path, remedy=remedy)


def _by_pipeline(path: Path, named: str, pack: Pack) -> tuple[Prediction, ...]:
    """Return one pipeline's predictions of a file of records: the only one, or the one named by `FILE#PIPELINE`.

    Raises:
        InputError: no such pipeline, or several and none named; records of other questions.
    """
    records = [record for _, record in object_rows(path)]
    pipelines = pipelines_of(records)
    # A path knows no double slash, and none at its end.
    plain = {str(Path(name)): name for name in reversed(pipelines)} | {name: name for name in pipelines}
    if named not in plain and (named or len(pipelines) != 1):
        listed = ", ".join(pipelines) or "none"
        message = f"no pipeline '{named}'" if named else f"{len(pipelines)} pipelines, one is needed"
        raise InputError(message, file=path, remedy=f"Name one as FILE#PIPELINE: {listed}")
    pipeline = plain[named] if named else pipelines[0]
    rows = rows_of(pack)
    ids = [record_id(record, number) if record else str(number) for number, record in enumerate(records)]
    answers = [answer_of(record, number, pipeline) for number, record in enumerate(records)]
    if ids == [row.id for row in rows]:
        return tuple(one for one, row in zip(answers, rows, strict=True) if one is not None and row.kept)
    made = [one for one in answers if one is not None]
    known = {row.id for row in rows}
    if made and not any(one.case_id in known for one in made):
        raise InputError("none of its records is a case of this pack", file=path, remedy="Name the file the pack is of")
    for one in made:
        twice = [row for row in rows if row.id == one.case_id]
        if len(twice) > 1 or ids.count(one.case_id) > 1:
            raise _stands_twice(path, Answer(one.case_id), twice or [PackRow(one.case_id, "")] * 2)
    left_out = {row.id for row in rows if not row.kept}
    return tuple(one for one in made if one.case_id not in left_out)
