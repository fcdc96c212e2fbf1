"""EvalBench's llmrater: results that agree by its set_match are right; the others, and empty ones, reach the judge."""

from __future__ import annotations

from sqlassay.cases.outcome import Changed, Rows
from sqlassay.cases.verdicts import UNSCORABLE, Verdict
from sqlassay.harness.metrics.contract import Ask, Metric
from sqlassay.harness.metrics.grading import NO_JUDGE, Rating, asked, by, clipped, silent, statement, unanswered
from sqlassay.harness.prompts.rows import rows_text
from sqlassay.harness.results.evidence import Evidence, Execution, Score

PRESET = "evalbench"


def _set_match(execution: Execution) -> bool:
    """Return whether the two results agree by EvalBench's set_match; equal under `strict`, they agree by any."""
    by_set = next((comparison for name, comparison in execution.others if name == PRESET), None)
    return any(comparison is not None and comparison.verdict == "match" for comparison in (by_set, execution.strict))


def _llmrater(evidence: Evidence, ask: Ask | None) -> Score:
    """Score 100 on a set match or where the judge calls the results as good; 0 where the statement gave none."""
    if evidence.verdict in UNSCORABLE:
        return Score(None, f"{evidence.verdict.value}: {evidence.reason}")
    if ask is None:  # the short cut alone would give a mean over the easy cases
        return Score(None, NO_JUDGE)
    execution = evidence.executions[-1] if evidence.executions else None
    if execution is None or not isinstance(execution.predicted, Rows | Changed):
        return Score(0.0, evidence.reason)
    if not (isinstance(execution.gold, Rows) and isinstance(execution.predicted, Rows)):
        matched = evidence.verdict is Verdict.MATCH or _set_match(execution)
        return Score(100.0 if matched else 0.0, f"a change is judged by the state it left: {evidence.reason}")
    # Two empty results are equal whatever was asked of the database: as in EvalBench the judge reads the queries.
    empty = not execution.gold.relation.rows and not execution.predicted.relation.rows
    if _set_match(execution) and not empty:
        return Score(100.0, "set_match: no judge was asked", (("set_match", 1.0),))
    sql = statement(evidence)
    if isinstance(sql, Score):
        return unanswered(sql.reason, most=100.0)
    texts = {"question": evidence.case.question, "gold_sql": evidence.gold_sql, "generated_sql": sql}
    if empty:
        said = asked(ask, Rating, "llmrater_empty", **texts)
    else:
        rows = {"gold_rows": execution.gold, "generated_rows": execution.predicted}
        said = asked(
            ask, Rating, "llmrater", **texts, **{name: rows_text(side.relation) for name, side in rows.items()}
        )
    if said.value is None:
        return silent(said, 100.0)
    value = 100.0 if said.value.verdict == "correct" else 0.0
    return Score(value, clipped(said.value.reason), (("set_match", float(_set_match(execution))), *by(said)))


LLMRATER = Metric(
    name="evalbench.llmrater",
    needs=frozenset({"gold", "judge", f"policy:{PRESET}"}),
    citation="EvalBench 1.20 (prompt of ours)",
    formula="100 if set_match with rows, else 100 if the judge calls the rows as good as the gold's, else 0",
    range=(0.0, 100.0),
    compute=_llmrater,
)
"""The metric."""
