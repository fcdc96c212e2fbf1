"""The metrics of SQLAS that a judge decides: meaning, craft and complexity of the SQL, and the answer in words."""

from __future__ import annotations

from collections.abc import Callable

from sqlassay.cases.outcome import Rows
from sqlassay.cases.verdicts import Verdict
from sqlassay.harness.metrics.contract import Ask, Metric
from sqlassay.harness.metrics.grading import NO_JUDGE, Claims, Craft, Grade, asked, by, clipped, silent, statement
from sqlassay.harness.prompts.rows import rows_text
from sqlassay.harness.results.evidence import Evidence, Score

_OURS = frozenset({Verdict.OUT_OF_SCOPE, Verdict.INFRASTRUCTURE})
_NO_WORDS = Score(None, "the agent gave no answer in words")


def _sql(evidence: Evidence, ask: Ask | None) -> str | Score:
    """Return the predicted text without comments, or the score of a case that has none."""
    if evidence.verdict in _OURS:
        return Score(None, f"not scored: {evidence.verdict.value}")
    if ask is None:  # what is decided without one alone would give a mean over those cases
        return Score(None, NO_JUDGE)
    sql = evidence.prediction.sql if evidence.prediction is not None else None
    if sql is None or not sql.strip():
        return Score(0.0, "there is no predicted statement")
    return statement(evidence)


def _words(evidence: Evidence) -> str | Score:
    """Return the agent's answer in words, or the score of a case that has none."""
    if evidence.verdict in _OURS:
        return Score(None, f"not scored: {evidence.verdict.value}")
    answer = evidence.prediction.answer if evidence.prediction is not None else None
    return answer if answer is not None and answer.strip() else _NO_WORDS


def _graded(ask: Ask | None, name: str, /, **slots: str | None) -> Score:
    """Return the score a judge gives."""
    said = asked(ask, Grade, name, **slots)
    if said.value is None:
        return silent(said)
    return Score(said.value.score, clipped(said.value.reason), by(said))


def _semantic_equivalence(evidence: Evidence, ask: Ask | None) -> Score:
    """Score whether the SQL answers the intent; the gold's own text does, and no judge is asked."""
    sql = _sql(evidence, ask)
    if isinstance(sql, Score):
        return sql
    gold = None if evidence.verdict is Verdict.GOLD_ERROR else evidence.gold_sql
    if gold is not None and gold.strip().rstrip(";").strip() == sql.strip().rstrip(";").strip():
        return Score(1.0, "the text of the gold")
    case = evidence.case
    return _graded(
        ask,
        "semantic_equivalence",
        question=case.question,
        hint=case.evidence,
        gold_sql=gold,
        dialect=evidence.dialect,
        generated_sql=sql,
    )


def _sql_quality(evidence: Evidence, ask: Ask | None) -> Score:
    """Score how the SQL is written: the mean of joins, aggregation and filters."""
    sql = _sql(evidence, ask)
    if isinstance(sql, Score):
        return sql
    question = evidence.case.question
    said = asked(ask, Craft, "sql_quality", question=question, dialect=evidence.dialect, generated_sql=sql)
    if said.value is None:
        return silent(said)
    parts = (
        ("joins", said.value.joins),
        ("aggregation", said.value.aggregation),
        ("filters", said.value.filters),
    )
    return Score(sum(part for _, part in parts) / len(parts), clipped(said.value.reason), (*parts, *by(said)))


def _complexity_match(evidence: Evidence, ask: Ask | None) -> Score:
    """Score whether the SQL is as complex as the question needs."""
    sql = _sql(evidence, ask)
    if isinstance(sql, Score):
        return sql
    question = evidence.case.question
    return _graded(ask, "complexity_match", question=question, dialect=evidence.dialect, generated_sql=sql)


def _rows(evidence: Evidence) -> str:
    """Return the predicted rows, or why there are none: an answer that rests on nothing is judged as such."""
    last = evidence.executions[-1].predicted if evidence.executions else None
    return rows_text(last.relation) if isinstance(last, Rows) else f"no rows: {evidence.reason}"


def _faithfulness(evidence: Evidence, ask: Ask | None) -> Score:
    """Score the share of the answer's facts that the rows support."""
    answer = _words(evidence)
    if isinstance(answer, Score):
        return answer
    written = evidence.prediction is not None and bool((evidence.prediction.sql or "").strip())
    sql = statement(evidence) if written else None
    if isinstance(sql, Score):
        return Score(None, NO_JUDGE) if ask is None else sql
    question, rows = evidence.case.question, _rows(evidence)
    said = asked(ask, Claims, "faithfulness", question=question, generated_sql=sql, rows=rows, answer=answer)
    if said.value is None:
        return silent(said)
    parts = (("claims", float(said.value.claims)), ("supported", float(said.value.supported)), *by(said))
    if said.value.claims == 0:
        return Score(None, f"the answer claims no fact: {clipped(said.value.reason)}", parts)
    return Score(said.value.supported / said.value.claims, clipped(said.value.reason), parts)


def _answer_relevance(evidence: Evidence, ask: Ask | None) -> Score:
    """Score whether the answer answers this question."""
    answer = _words(evidence)
    if isinstance(answer, Score):
        return answer
    return _graded(ask, "answer_relevance", question=evidence.case.question, answer=answer)


def _answer_completeness(evidence: Evidence, ask: Ask | None) -> Score:
    """Score whether the answer gives all that was asked for."""
    answer = _words(evidence)
    if isinstance(answer, Score):
        return answer
    question = evidence.case.question
    return _graded(ask, "answer_completeness", question=question, rows=_rows(evidence), answer=answer)


def _fluency(evidence: Evidence, ask: Ask | None) -> Score:
    """Score how the answer reads."""
    answer = _words(evidence)
    return answer if isinstance(answer, Score) else _graded(ask, "fluency", answer=answer)


def _metric(name: str, needs: set[str], formula: str, compute: Callable[[Evidence, Ask | None], Score]) -> Metric:
    """Return one metric of SQLAS by judge."""
    return Metric(
        name=f"sqlas.{name}",
        needs=frozenset({"judge", *needs}),
        citation="SQLAS 2.8 (prompt of ours)",
        formula=formula,
        range=(0.0, 1.0),
        compute=compute,
    )


SEMANTIC_EQUIVALENCE = _metric(
    "semantic_equivalence", set(), "judge: does the SQL answer the intent, 0–1", _semantic_equivalence
)
SQL_QUALITY = _metric("sql_quality", set(), "judge: (joins + aggregation + filters) / 3", _sql_quality)
COMPLEXITY_MATCH = _metric(
    "complexity_match", set(), "judge: is the SQL as complex as the question needs, 0–1", _complexity_match
)
FAITHFULNESS = _metric("faithfulness", {"answer"}, "judge: supported / claimed facts of the answer", _faithfulness)
ANSWER_RELEVANCE = _metric(
    "answer_relevance", {"answer"}, "judge: does the answer answer the question, 0–1", _answer_relevance
)
ANSWER_COMPLETENESS = _metric(
    "answer_completeness", {"answer"}, "judge: does the answer give all that was asked for, 0–1", _answer_completeness
)
FLUENCY = _metric("fluency", {"answer"}, "judge: does the answer read well, 0–1", _fluency)
