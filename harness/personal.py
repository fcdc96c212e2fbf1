"""Mask personal data: what stands in a case's `pii_columns` leaves no evaluation, neither to a judge nor to a file.

A cell is personal where its column bears such a name or its expression reads such a column. Equal cells of one case get
equal marks, so that stored rows can still be judged again; the verdict was found on the values themselves. What an
engine quotes in an error of such a case is masked as well, unless it stands in the statement.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from sqlassay.cases.case import Case
from sqlassay.cases.outcome import Changed, Outcome, Rows, TableState
from sqlassay.cases.relation import Column, Json, Kind, Relation
from sqlassay.harness.prompts import without_comments
from sqlassay.harness.results.case_result import CaseResult
from sqlassay.harness.results.evidence import Evidence, Execution, GoldAnswer, Score
from sqlassay.harness.results.parsed import ParsedQuery
from sqlassay.harness.results.verdicts import Comparison

_QUOTED = re.compile(r"'((?:[^']|'')*)'|\"([^\"]*)\"|=\(([^()]*)\)")
_SHORT = 4
"""Of a shorter value nothing can be found in a text for sure: a text that may hold one is replaced as a whole."""

_MARK = re.compile(r"\[masked \d+\]")
_OURS = frozenset(
    {"case_id", "dialect", "snapshot", "verdict", "cause", "policy_digest", "rule", "expected_route", "selected_route"}
)
_CUT = 12
"""A text that shows the first characters of a longer value shows a cut one."""

Kept = TypeVar("Kept")


def hidden_message(case: Case, sql: str, message: str) -> str:
    """Return an engine's error without what it quotes from the data of a case with personal columns."""
    if not case.pii_columns:
        return message

    def mask(found: re.Match[str]) -> str:
        """Return the quotation where the statement has it, else a mark."""
        inside = next(each for each in found.groups() if each is not None)
        return found.group() if inside and inside.lower() in sql.lower() else found.group().replace(inside, "[masked]")

    return _QUOTED.sub(mask, message)


class Personal:
    """The personal cells of one case and one prediction, or of answers alone, and the marks that stand for them."""

    def __init__(self, case: Case, gold: Sequence[GoldAnswer], evidence: Evidence | None = None) -> None:
        """Find them in every answer and in what the prediction gave."""
        self._names = frozenset(name.lower() for name in case.pii_columns)
        self._words = re.compile(rf"(?<!\w)(?:{'|'.join(sorted(map(re.escape, self._names)))})(?!\w)", re.IGNORECASE)
        self._marks: dict[str, str] = {}
        self._gold_sql = evidence.gold_parsed if evidence is not None else None
        self._predicted_sql = evidence.predicted_parsed if evidence is not None else None
        for answer in gold:
            for relation in (answer.relation, answer.probe):
                self._find(relation, answer.parsed)
            self._find_states(answer.changed)
        for execution in evidence.executions if evidence is not None else ():
            for outcome, parsed in ((execution.gold, self._gold_sql), (execution.predicted, self._predicted_sql)):
                self._find(outcome.relation if isinstance(outcome, Rows) else None, parsed)
                self._find_states(outcome)
        self._long = sorted((value for value in self._marks if len(value) >= _SHORT), key=len, reverse=True)
        short = [value for value in self._marks if value and len(value) < _SHORT]
        self._short = re.compile(rf"(?<![\w.])(?:{'|'.join(map(re.escape, short))})(?![\w.])") if short else None

    def _personal(self, relation: Relation, parsed: ParsedQuery | None) -> frozenset[int]:
        """Return the personal columns of a relation: by name, and by the expression each one is."""
        shown = parsed.projections if parsed is not None and len(parsed.projections) == len(relation.columns) else ()
        named = {at for at, column in enumerate(relation.columns) if column.name.lower() in self._names}
        computed = {at for at, expression in enumerate(shown) if self._words.search(expression)}
        if parsed is not None and not shown and not named and self._reads(parsed):
            return frozenset(range(len(relation.columns)))  # which of them it is cannot be said
        return frozenset(named | computed)

    def _reads(self, parsed: ParsedQuery) -> bool:
        """Return whether a statement reads a personal column anywhere."""
        return any(name.lower() in self._names for name in parsed.columns) or self._words.search(parsed.sql) is not None

    def _find(self, relation: Relation | None, parsed: ParsedQuery | None) -> None:
        """Give every personal cell of a relation its mark, in the order they stand there."""
        if relation is None:
            return
        for at in sorted(self._personal(relation, parsed)):
            for row in relation.rows:
                self._mark(row[at])

    def _find_states(self, outcome: Outcome | None) -> None:
        """Give the personal cells of a change's tables and answers their marks."""
        if isinstance(outcome, Changed):
            for relation in _relations(outcome):
                self._find(relation, None)

    def _mark(self, cell: object) -> str:
        """Return the mark of a cell's value, a new one at its first sight."""
        text = cell.text if isinstance(cell, Json) else str(cell)
        return self._marks.setdefault(text, f"[masked {len(self._marks) + 1}]")

    def relation(self, relation: Relation, parsed: ParsedQuery | None) -> Relation:
        """Return a relation with its personal cells masked; NULL says nothing and stays."""
        hidden = self._personal(relation, parsed)
        if not hidden:
            return relation
        columns = tuple(
            Column(column.name, Kind.TEXT) if at in hidden else column for at, column in enumerate(relation.columns)
        )
        rows = tuple(
            tuple(self._mark(cell) if at in hidden and cell is not None else cell for at, cell in enumerate(row))
            for row in relation.rows
        )
        return Relation(columns, rows)

    def text(self, text: str, *, said: bool = False) -> str:
        """Return a text without any personal value, a cut one included; what is `said` of rows without short ones too.

        A short value (an age) is any number: in a statement or a question it says nothing of a person.
        """
        for value in self._long:
            if value in text:
                text = text.replace(value, self._marks[value])
            elif len(value) > _CUT and value[:_CUT] in text:
                text = re.sub(re.escape(value[:_CUT]) + r"[^'\"]*", self._marks[value], text)
        short = said and self._short is not None and self._short.search(_MARK.sub("", text)) is not None
        return "[masked]" if short else text

    def value(self, value: Any) -> Any:
        """Return a JSON value with every text in it masked, but for what names things of ours."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {
                name: each
                if name in _OURS
                else self.text(each, said=True)
                if name == "reason" and isinstance(each, str)
                else self.value(each)
                for name, each in value.items()
            }
        return [self.value(each) for each in value] if isinstance(value, list | tuple) else value

    def _told(self, value: Any) -> Any:
        """Return what an agent told with its personal values masked, numbers too."""
        if isinstance(value, dict):
            return {name: self._told(each) for name, each in value.items()}
        if isinstance(value, list | tuple):
            return [self._told(each) for each in value]
        if isinstance(value, str):
            return self.text(value)
        shown = str(value)
        return self._marks[shown] if shown in self._marks and len(shown) >= _SHORT else value

    def outcome(self, outcome: Outcome | None, parsed: ParsedQuery | None) -> Outcome | None:
        """Return what a statement gave, masked."""
        if isinstance(outcome, Rows):
            return replace(outcome, relation=self.relation(outcome.relation, parsed))
        return self._changed(outcome) if isinstance(outcome, Changed) else outcome

    def _changed(self, changed: Changed) -> Changed:
        """Return what a change left, masked."""
        answers = tuple(
            self.relation(answer, None) if isinstance(answer, Relation) else answer for answer in changed.answers
        )
        return replace(changed, state=tuple(map(self._state, changed.state)), answers=answers)

    def _state(self, state: TableState) -> TableState:
        """Return one part of a state, masked."""
        relation = state.relation
        return state if not isinstance(relation, Relation) else replace(state, relation=self.relation(relation, None))

    def gold(self, answers: Sequence[GoldAnswer]) -> tuple[GoldAnswer, ...]:
        """Return gold answers as they may be stored."""
        return tuple(
            replace(
                answer,
                sql=self.text(answer.sql),
                relation=None if answer.relation is None else self.relation(answer.relation, answer.parsed),
                probe=None if answer.probe is None else self.relation(answer.probe, answer.parsed),
                changed=None if answer.changed is None else self._changed(answer.changed),
            )
            for answer in answers
        )

    def evidence(self, evidence: Evidence) -> Evidence:
        """Return evidence as a judge may be shown it and as it may be written."""
        prediction = evidence.prediction
        if prediction is not None:
            told = prediction.model_dump(
                include={"sql", "answer", "enriched_question", "steps", "result", "raw", "metadata"}
            )
            prediction = prediction.model_copy(update=_frozen_steps(self._told(told)))
        known = {"question": self.text(evidence.case.question), "evidence": self.value(evidence.case.evidence)}
        case = evidence.case.model_copy(update=known)
        return replace(
            evidence,
            case=case,
            prediction=prediction,
            predicted_parsed=self._parsed(evidence.predicted_parsed),
            reason=self.text(evidence.reason, said=True),
            gold_sql=None if evidence.gold_sql is None else self.text(evidence.gold_sql),
            executions=tuple(map(self._execution, evidence.executions)),
        )

    def _parsed(self, parsed: ParsedQuery | None) -> ParsedQuery | None:
        """Return a statement's facts as judges are shown them: its text without comments, and its clauses, masked."""
        struck = without_comments(parsed)
        if parsed is None or struck is None:
            return parsed
        masked = self.text(struck)
        letters = "".join(" " if each.isspace() else "c" for each in masked)
        return replace(parsed, sql=masked, lexmap=letters, blocks=self._facts(parsed.blocks))

    def _facts(self, facts: Any) -> Any:
        """Return plain facts with every text in them masked."""
        if isinstance(facts, str):
            return self.text(facts)
        if isinstance(facts, tuple):
            return tuple(map(self._facts, facts))
        if not is_dataclass(facts) or isinstance(facts, type):
            return facts
        return replace(facts, **{field.name: self._facts(getattr(facts, field.name)) for field in fields(facts)})

    def _execution(self, execution: Execution) -> Execution:
        """Return one execution, masked."""
        return replace(
            execution,
            gold=self.outcome(execution.gold, self._gold_sql),
            predicted=self.outcome(execution.predicted, self._predicted_sql),
            comparison=self._comparison(execution.comparison, execution),
            strict=self._comparison(execution.strict, execution),
            others=tuple((name, self._known(self._comparison(each, execution))) for name, each in execution.others),
        )

    @staticmethod
    def _known(comparison: Comparison | None) -> Comparison:
        """Return a comparison that was given as one."""
        if comparison is None:
            raise AssertionError("a comparison stays one")
        return comparison

    def _comparison(self, comparison: Comparison | None, execution: Execution) -> Comparison | None:
        """Return a comparison whose reason and first difference show nothing personal."""
        if comparison is None or comparison.first is None:
            return None if comparison is None else replace(comparison, reason=self.text(comparison.reason, said=True))
        first = comparison.first
        sides = []
        for row, outcome, parsed in (
            (first.gold, execution.gold, self._gold_sql),
            (first.predicted, execution.predicted, self._predicted_sql),
        ):
            hidden = self._personal(outcome.relation, parsed) if isinstance(outcome, Rows) else frozenset[int]()
            sides.append(None if row is None else tuple(self._cell(at, cell, hidden) for at, cell in enumerate(row)))
        shown = replace(first, gold=sides[0], predicted=sides[1])
        return replace(comparison, reason=self.text(comparison.reason, said=True), first=shown)

    def _cell(self, at: int, cell: object, hidden: frozenset[int]) -> object:
        """Return one cell of a shown row, its mark where it is personal or equals what is."""
        if cell is None:
            return None
        text = cell.text if isinstance(cell, Json) else str(cell)
        return self._mark(cell) if at in hidden or (text in self._marks and len(text) >= _SHORT) else cell

    def score(self, score: Score) -> Score:
        """Return a score whose words show nothing personal."""
        details = tuple(
            (name, self.text(each, said=True) if isinstance(each, str) else each) for name, each in score.details
        )
        return replace(score, reason=self.text(score.reason, said=True), details=details)

    def result(self, result: CaseResult) -> CaseResult:
        """Return a record as it may be written: no text in it shows a personal value."""
        return CaseResult.model_validate(self.value(result.model_dump(mode="json")))


def _frozen_steps(told: dict[str, Any]) -> dict[str, Any]:
    """Return a prediction's fields with its steps as the tuple they are."""
    return {**told, "steps": tuple(told["steps"])}


def _relations(changed: Changed) -> Iterator[Relation]:
    """Yield the relations of a state: of its tables and views, and of its eval queries."""
    for state in changed.state:
        if isinstance(state.relation, Relation):
            yield state.relation
    yield from (answer for answer in changed.answers if isinstance(answer, Relation))


def personal(case: Case, gold: Sequence[GoldAnswer], evidence: Evidence | None = None) -> Personal | None:
    """Return what masks a case's personal data in all that is said of these answers, None where it names none."""
    return Personal(case, gold, evidence) if case.pii_columns else None
