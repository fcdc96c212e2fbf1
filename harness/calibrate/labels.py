"""Labels of people: one case a line, with what a judge would see of it and what people said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from sqlassay.cases.case import Case, Prediction
from sqlassay.cases.errors import InputError
from sqlassay.cases.faults import Faults
from sqlassay.cases.outcome import Rows
from sqlassay.cases.policy import Policy
from sqlassay.cases.reading import json_records
from sqlassay.cases.typed_json import relation_from_json
from sqlassay.cases.verdicts import Verdict
from sqlassay.harness.results.evidence import Evidence, Execution


class Label(BaseModel):
    """One labelled case. `label` is people's yes or no, or their grade from 0 to 1; rows are in typed JSON."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    id: str = Field(min_length=1, max_length=200)
    label: bool | float
    question: str = Field(min_length=1)
    evidence: str | None = None
    dialect: str = "sqlite"
    gold_sql: str | None = None
    sql: str | None = None
    answer: str | None = None
    enriched_question: str | None = None
    gold_rows: dict[str, Any] | None = None
    rows: dict[str, Any] | None = None
    note: str | None = None

    @field_validator("label", mode="before")
    @classmethod
    def _yes_no_or_grade(cls, value: object) -> object:
        """Refuse what is neither a yes or no nor a number from 0 to 1."""
        if isinstance(value, bool):
            return value
        if not isinstance(value, int | float) or not 0 <= value <= 1:
            raise ValueError("is neither true, false nor a number from 0 to 1")
        return float(value)

    def positive(self, least: float) -> bool:
        """Return whether people said yes; a grade does from `least` on."""
        return self.label if isinstance(self.label, bool) else self.label >= least

    def judged(self) -> Evidence:
        """Return the evidence a run would hand the metric, so that calibration asks what runs ask.

        Raises:
            InputError: rows that are no relation.
        """
        gold, predicted = (_rows(self.gold_rows, "gold_rows"), _rows(self.rows, "rows"))
        return Evidence(
            case=Case(id=self.id, question=self.question, snapshot="labels", evidence=self.evidence),
            dialect=self.dialect,
            prediction=Prediction(
                case_id=self.id, sql=self.sql, answer=self.answer, enriched_question=self.enriched_question
            ),
            verdict=Verdict.MISMATCH if self.sql else Verdict.NO_PREDICTION,
            reason="the label holds no rows" if predicted is None else "labelled by people",
            policy=Policy(),
            gold_sql=self.gold_sql,
            executions=(Execution("labels", gold, predicted),),
            gold_status="native" if self.gold_sql else "unavailable",
        )


def _rows(value: dict[str, Any] | None, field: str) -> Rows | None:
    """Return a relation as an outcome."""
    return None if value is None else Rows(relation_from_json(value, field=field), 0.0)


def read_labels(path: Path) -> tuple[Label, ...]:
    """Return the labels of a file, in its order.

    Raises:
        InputError: no label, a malformed one, or an id twice; every fault with its line.
    """
    faults, found = Faults(), []
    lines: dict[str, int] = {}
    for record in json_records(path):
        number = record.line
        label = faults.validate(Label, record.value, file=path, line=lambda _place, number=number: number)  # type: ignore[misc]
        if label is None:
            continue
        if label.id in lines:
            message = f"'{label.id}' is labelled already on line {lines[label.id]}"
            faults.add(InputError(message, file=path, line=number, field="id", remedy="Keep one of them"))
        lines.setdefault(label.id, number)
        _faults_of_rows(label, path, number, faults)
        found.append(label)
    faults.check()
    if not found:
        remedy = 'Write lines of {"id": …, "question": …, "sql": …, "label": true}'
        raise InputError("there is no label in it", file=path, remedy=remedy)
    return tuple(found)


def _faults_of_rows(label: Label, path: Path, line: int, faults: Faults) -> None:
    """Keep what is wrong with a label's rows."""
    try:
        label.judged()
    except InputError as error:
        faults.add(InputError(error.message, file=path, line=line, remedy=error.remedy))
