"""What EvalBench's tables show of a result beyond its record: rows as text, cut, and whose error it was."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from sqlassay.cases.case import Case
from sqlassay.cases.outcome import Changed, Failure, Rows
from sqlassay.cases.relation import FarTemporal, Relation
from sqlassay.cases.verdicts import FailureKind, Verdict
from sqlassay.harness.metrics.outcomes import last
from sqlassay.harness.results.case_result import CaseResult
from sqlassay.harness.results.evidence import Evidence, GoldAnswer
from sqlassay.harness.results.fetched import as_fetched, dict_rows


@dataclass(frozen=True, slots=True)
class Seen:
    """One result as EvalBench's tables show it; None where there is nothing to show."""

    case: Case
    generated_result: str | None = None
    golden_result: str | None = None
    eval_results: str | None = None
    golden_eval_results: str | None = None
    generated_error: str | None = None
    golden_error: str | None = None
    generator_error: str | None = None


class Watcher:
    """Keeps what the tables need of each result as it is judged: a text of a few rows, never the whole result."""

    def __init__(self, rows: int) -> None:
        """Cut results after `rows` rows."""
        self.seen: dict[tuple[str, int], Seen] = {}
        self._rows = rows

    def __call__(self, evidence: Evidence, gold: Sequence[GoldAnswer], result: CaseResult) -> None:
        """Keep one result."""
        execution = last(evidence)
        predicted = execution.predicted if execution is not None else None
        answer = next((one for one in gold if one.usable and one.sql == evidence.gold_sql), None)
        answer = answer or next((one for one in gold if one.usable), None)
        ran = isinstance(predicted, Rows | Changed)
        self.seen[result.key] = Seen(
            evidence.case,
            generated_result=self._outcome(predicted) if evidence.verdict is not Verdict.NO_PREDICTION else None,
            golden_result=self._gold(answer),
            eval_results=self._answer(predicted),
            golden_eval_results=self._answer(answer.changed if answer is not None else None),
            generated_error=None if ran else _error(evidence, predicted),
            golden_error=evidence.reason if evidence.verdict is Verdict.GOLD_ERROR else None,
            generator_error=evidence.reason if evidence.verdict is Verdict.NO_PREDICTION else None,
        )

    def _outcome(self, outcome: object) -> str:
        """Return the rows a statement gave; one that gave none shows an empty list."""
        return self._text(outcome.relation) if isinstance(outcome, Rows) else "[]"

    def _gold(self, answer: GoldAnswer | None) -> str | None:
        """Return the gold's rows, None where it has none to compare with."""
        if answer is None:
            return None
        return self._text(answer.relation) if answer.relation is not None else "[]"

    def _answer(self, outcome: object) -> str | None:
        """Return the rows of a change's first eval query."""
        first = outcome.answers[0] if isinstance(outcome, Changed) and outcome.answers else None
        return self._text(first) if isinstance(first, Relation) else None

    def _text(self, relation: Relation) -> str:
        """Return rows as JSON, cut as EvalBench cuts them and saying so in its words."""
        kept = as_fetched(Relation(relation.columns, relation.rows[: self._rows]))
        left = len(relation.rows) - self._rows
        text = json.dumps(dict_rows(kept), default=_plain)
        return f"{text}...and {left} more items truncated" if left > 0 else text


def _plain(cell: object) -> str:
    """Return a cell JSON has no type for as text."""
    return cell.text if isinstance(cell, FarTemporal) else str(cell)


def _error(evidence: Evidence, predicted: object) -> str | None:
    """Return why the prediction gave no rows, None where it did not come to that through no doing of the statement."""
    if isinstance(predicted, Failure):
        plain = predicted.kind is FailureKind.ERROR
        return predicted.message if plain else f"{predicted.kind.value}: {predicted.message}"
    silent = evidence.verdict in (Verdict.NO_PREDICTION, Verdict.GOLD_ERROR, Verdict.OUT_OF_SCOPE)
    return None if silent else f"{evidence.verdict}: {evidence.reason}"
