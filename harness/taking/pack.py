"""Make a pack of a person's data, questions and predictions: planned first, then written whole or not at all."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlalchemy.dialects.mysql.reserved_words import RESERVED_WORDS_MYSQL
from sqlalchemy.dialects.postgresql.base import RESERVED_WORDS

from sqlassay.cases.case import Case, Prediction
from sqlassay.cases.columns import Guess
from sqlassay.cases.counting import counted
from sqlassay.cases.errors import InputError
from sqlassay.cases.formats.checks import case_set_digest
from sqlassay.cases.formats.foreign import JudgedRows, judge_rows
from sqlassay.cases.formats.table import read_questions, rows_of, told_ids
from sqlassay.cases.left_out import summed
from sqlassay.cases.new_folder import new_folder
from sqlassay.cases.pack import Pack
from sqlassay.cases.predictions import check_known, predictions_of
from sqlassay.cases.tables import Table, named_part
from sqlassay.harness.taking.contract import Source, Taken
from sqlassay.harness.taking.registry import source_of

SNAPSHOT = "data"

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NO_NAME = re.compile(r"[^A-Za-z0-9_.-]+")
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Plan:
    """What would be taken: the kind of source, its dialect, and the cases and predictions that were read.

    `told` says how files were read and what of them is left out, a line each.
    """

    source: str
    kind: Source
    dialect: str
    cases: tuple[Case, ...]
    predictions: tuple[Prediction, ...]
    told: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Started:
    """A written pack: what was taken, and the command that goes on with it."""

    taken: Taken
    files: tuple[Path, ...]
    cases: int
    predictions: int
    following: str


def plan_pack(
    source: str, *, questions: Path | None = None, predictions: Path | None = None, dialect: str | None = None
) -> Plan:
    """Return what a pack would be made of; the data itself is not read yet, questions and predictions are.

    Raises:
        InputError: no such source, or malformed or strange questions or predictions.
    """
    kind = source_of(source)
    spoken = dialect or kind.speaks(source)
    if questions is None:
        if predictions is not None:
            remedy = "Name the questions too: --questions FILE"
            raise InputError("predictions answer questions, and none are named", field="--predictions", remedy=remedy)
        return Plan(source, kind, spoken, (), (), ())
    file, named = named_part(questions)
    table, found = read_questions(file, named)
    rows = rows_of(table, found, spoken)
    names = {row.database for row in rows if row.database}
    if len(names) > 1:
        message = f"the questions are of {counted(len(names), 'database')}, a source is one"
        remedy = "Put SQLite files beside them as databases/DB/DB.sqlite and run the table as it is"
        raise InputError(message, file=file, field=found.columns["database"], remedy=remedy)
    rows = tuple(replace(row, database=SNAPSHOT) for row in rows)
    judged = judge_rows(rows, {SNAPSHOT: (SNAPSHOT,)})
    if not judged.cases:
        remedy = judged.left_out[0] if judged.left_out else "Write a header and a row for each question"
        raise InputError("no row can be judged", file=file, remedy=remedy)
    answers = judged.predictions
    if predictions is not None:
        pack = _pack(judged, file)
        answers = check_known(predictions_of(predictions, pack), pack)
    told = (f"columns of {found.told(table)}", *_examples(table, found), *told_ids(rows), *summed(judged.left_out))
    return Plan(source, kind, spoken, judged.cases, answers, told)


def write_plan(plan: Plan, folder: Path, *, tables: tuple[str, ...] = ()) -> Started:
    """Take the data and write the pack; the folder appears whole or not at all.

    Raises:
        InputError: a malformed source, or a folder that is in use.
        InfrastructureError: a server that does not answer, or a folder that cannot be written.
    """
    with new_folder(folder) as draft:
        taken = plan.kind.take(plan.source, draft, tables=tables)
        dialect = plan.dialect if plan.cases else taken.dialect
        cases = plan.cases or (_first_case(taken),)
        predictions = plan.predictions if plan.cases else _first_prediction(cases[0], taken.dialect)
        header = {
            "format": 1,
            "name": _NO_NAME.sub("-", folder.absolute().name).strip("-.")[:100] or "pack",
            "description": f"Taken from {plan.kind.name}.",
            "snapshots": {SNAPSHOT: dict(taken.snapshot)},
            "cases": ["cases.jsonl"],
            **({"predictions": "predictions.jsonl"} if predictions else {}),
        }
        # JSON is YAML: no writer of ours has to know YAML's quoting.
        text = json.dumps(header, ensure_ascii=False, indent=2) + "\n"
        (draft / "pack.yaml").write_text(text, encoding="utf-8")
        _lines(draft / "cases.jsonl", cases)
        if predictions:
            _lines(draft / "predictions.jsonl", predictions)
    files = tuple(sorted(path for path in folder.rglob("*") if path.is_file()))
    following = next_command(folder, cases, dialect, predicted=bool(predictions))
    return Started(taken, files, len(cases), len(predictions), following)


def next_command(folder: Path, cases: Sequence[Case], dialect: str = "sqlite", *, predicted: bool) -> str:
    """Return a command that works on a pack as it is: a run where it has predictions, else a look at its gold.

    Its engine is the one named where a case has gold for it, else the one that most cases have gold for.
    """
    spoken = Counter(name for case in cases for name in case.gold)
    chosen = dialect if dialect in spoken or not spoken else spoken.most_common(1)[0][0]
    # A run is on one engine, a look at gold on several.
    work, option = ("run", "--dialect") if predicted else ("check-cases", "--dialects")
    return f"sqlassay {work} {shlex.quote(str(folder))}" + ("" if chosen == "sqlite" else f" {option} {chosen}")


def _examples(table: Table, found: Guess) -> Iterator[str]:
    """Yield the first rows as they were understood."""
    for row in table.rows[:_SHOWN]:
        cells = {role: row.cells.get(column) for role, column in found.columns.items()}
        cells |= {f"gold ({dialect})": row.cells.get(column) for dialect, column in found.gold.items()}
        yield "  " + ", ".join(f"{role}: {_short(cell)}" for role, cell in cells.items() if cell is not None)


def _short(cell: Any) -> str:
    """Return a cell short enough for a line."""
    text = " ".join(str(cell).split())
    return text if len(text) <= 48 else f"{text[:45]}..."


def _pack(judged: JudgedRows, file: Path) -> Pack:
    """Return the questions as a pack without data, for predictions to be joined to."""
    digest = case_set_digest(judged.cases, {}, {})
    return Pack(file.name, file, digest, judged.cases, (), format="table", rows=judged.rows)


def _first_case(taken: Taken) -> Case:
    """Return one question that any data answers, so that the pack runs before its own questions are written."""
    reserved = {word.lower() for word in (*RESERVED_WORDS, *RESERVED_WORDS_MYSQL)}
    easy = (name for name in taken.tables if _PLAIN.fullmatch(name) and name.lower() not in reserved)
    table = next(easy, taken.tables[0])
    return Case(
        id="first",
        question=f"How many rows does {table} have?",
        snapshot=SNAPSHOT,
        gold={taken.dialect: (f"SELECT COUNT(*) FROM {table}",)},  # noqa: S608 (text to start from, run by a reader)
    )


def _first_prediction(case: Case, dialect: str) -> tuple[Prediction, ...]:
    """Return the answer to the first question, so that the pack runs."""
    return (Prediction(case_id=case.id, sql=case.gold[dialect][0]),)


def _lines(path: Path, values: Sequence[Case | Prediction]) -> None:
    """Write one JSON object a line."""
    lines = (json.dumps(one.model_dump(mode="json", exclude_defaults=True), ensure_ascii=False) for one in values)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
