"""Turn evidence and scores into the written record of a case: pure, field by field."""

from __future__ import annotations

from sqlassay.cases.case import Prediction
from sqlassay.cases.outcome import Changed, Outcome, Rows
from sqlassay.cases.relation import Row
from sqlassay.cases.typed_json import encode
from sqlassay.harness.results.case_result import (
    AgentRecord,
    CaseResult,
    ComparisonRecord,
    DifferenceRecord,
    GuardRecord,
    OrderRecord,
    ScoreRecord,
    StructureRecord,
    Timing,
    UnsafeStepRecord,
)
from sqlassay.harness.results.evidence import Evidence, Score
from sqlassay.harness.results.parsed import OrderFacts, ParsedQuery, TableRef
from sqlassay.harness.results.verdicts import Comparison, GuardVerdict


def case_result(evidence: Evidence, scores: tuple[tuple[str, Score], ...]) -> CaseResult:
    """Return the written record of one judged prediction."""
    case, prediction = evidence.case, evidence.prediction
    execution = evidence.executions[-1] if evidence.executions else None
    gold = execution.gold if execution else None
    predicted = execution.predicted if execution else None
    return CaseResult(
        case_id=case.id,
        trial=prediction.trial if prediction else 0,
        dialect=evidence.dialect,
        question=case.question,
        snapshot=execution.snapshot if execution else case.snapshot,
        expected_route=evidence.expected_route,
        selected_route=evidence.selected_route,
        gold_sql=evidence.gold_sql,
        predicted_sql=prediction.sql if prediction else None,
        answer_rules=evidence.answer.rules if evidence.answer else (),
        answer_text=evidence.answer.text if evidence.answer else None,
        answer=prediction.answer if prediction else None,
        agent=_agent(prediction),
        unsafe_steps=tuple(
            UnsafeStepRecord(
                step=one.step,
                tool=one.tool,
                sql=one.sql,
                executed=one.executed,
                reason=one.guard.reason,
                statement=one.guard.statement,
            )
            for one in evidence.unsafe_steps
        ),
        verdict=evidence.verdict,
        reason=evidence.reason,
        cause=evidence.cause,
        scores={name: _score(score) for name, score in scores},
        guard=_guard(evidence.guard),
        comparison=_compared(execution.comparison if execution else None),
        strict=_compared(execution.strict if execution else None),
        gold_structure=_structure(evidence.gold_parsed),
        predicted_structure=_structure(evidence.predicted_parsed),
        gold_shape=_shape(gold),
        predicted_shape=_shape(predicted),
        gold_columns=_columns(gold),
        predicted_columns=_columns(predicted),
        gold_changed=_touched(gold),
        predicted_changed=_touched(predicted),
        gold_status=evidence.gold_status,
        partial=execution.partial if execution else None,
        policy_digest=evidence.policy.digest,
        policy_overrides=None if case.policy is None else case.policy.model_dump(mode="json", exclude_unset=True),
        order_required=case.order_required,
        allow_extra_predicted_columns=case.allow_extra_predicted_columns,
        scenario=case.scenario,
        difficulty=case.difficulty,
        tags=case.tags,
    )


def with_pace(timing: Timing, evidence: Evidence, scores: tuple[tuple[str, Score], ...]) -> Timing:
    """Return a result's timings with the rounds of gold and prediction in turn and the scores that come from them."""
    execution = evidence.executions[-1] if evidence.executions else None
    if not scores or execution is None:
        return timing.model_copy(update={"scores": {name: _score(score) for name, score in scores}})
    rounds = tuple((round(gold, 9), round(predicted, 9)) for gold, predicted in execution.timings)
    clock = execution.clock if rounds else ""
    told = {"rounds": rounds, "clock": clock, "scores": {name: _score(score) for name, score in scores}}
    return timing.model_copy(update=told)


def _agent(prediction: Prediction | None) -> AgentRecord | None:
    """Return what the agent told beside its SQL, None where it told nothing."""
    if prediction is None:
        return None
    record = AgentRecord(
        enriched_question=prediction.enriched_question,
        steps=prediction.steps,
        tokens=prediction.tokens,
        cost=prediction.cost,
        metadata=prediction.metadata,
    )
    return None if record == AgentRecord() else record


def _score(score: Score) -> ScoreRecord:
    """Return a score's record."""
    return ScoreRecord(value=score.value, reason=score.reason, details=dict(score.details))


def _guard(verdict: GuardVerdict | None) -> GuardRecord | None:
    """Return the guard's record."""
    if verdict is None:
        return None
    return GuardRecord(
        allowed=verdict.allowed,
        reason=verdict.reason,
        statement=verdict.statement,
        node=verdict.node,
        flags=verdict.flags,
    )


def _row(row: Row | None) -> list[object] | None:
    """Return a row's cells in typed JSON."""
    return None if row is None else [encode(cell) for cell in row]


def _compared(comparison: Comparison | None) -> ComparisonRecord | None:
    """Return the comparator's record, None where nothing was compared."""
    return None if comparison is None else comparison_record(comparison)


def comparison_record(comparison: Comparison) -> ComparisonRecord:
    """Return the written record of a comparison."""
    first = comparison.first
    return ComparisonRecord(
        verdict=comparison.verdict,
        rule=comparison.rule,
        reason=comparison.reason,
        policy_digest=comparison.policy_digest,
        missing=comparison.missing,
        extra=comparison.extra,
        first=None
        if first is None
        else DifferenceRecord(
            index=first.index, gold=_row(first.gold), predicted=_row(first.predicted), cells=first.cells
        ),
        columns=comparison.columns,
        flags=comparison.flags,
        looser=comparison.looser,
    )


def _table(table: TableRef) -> str:
    """Return a table's name with its schema where given."""
    return f"{table.schema}.{table.name}" if table.schema else table.name


def _structure(parsed: ParsedQuery | None) -> StructureRecord | None:
    """Return what the parser extracted."""
    if parsed is None:
        return None
    return StructureRecord(
        parser=parsed.parser,
        error=parsed.error,
        root=parsed.root,
        tables=tuple(sorted(_table(table) for table in parsed.tables)),
        projections=parsed.projections,
        filters=parsed.filters,
        joins=parsed.joins,
        group_by=parsed.group_by,
        aggregates=parsed.aggregates,
        order=order_record(parsed.order),
        processed_sql=parsed.processed_sql,
    )


def order_record(facts: OrderFacts | None) -> OrderRecord | None:
    """Return the record of the outermost ORDER BY."""
    if facts is None:
        return None
    keys = tuple((key.column, key.direction, key.nulls, key.sql) for key in facts.keys)
    return OrderRecord(keys=keys, limit=facts.limit, has_limit=facts.has_limit, offset=facts.offset)


def _shape(outcome: Outcome | None) -> tuple[int, int] | None:
    """Return (rows, columns) of a result."""
    return outcome.relation.shape if isinstance(outcome, Rows) else None


def _columns(outcome: Outcome | None) -> tuple[str, ...]:
    """Return the names of a result's columns."""
    return tuple(column.name for column in outcome.relation.columns) if isinstance(outcome, Rows) else ()


def _touched(outcome: Outcome | None) -> tuple[str, ...]:
    """Return the names of what a change touched."""
    return outcome.touched if isinstance(outcome, Changed) else ()
