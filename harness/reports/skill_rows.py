"""One row a result for each of the Skill's per-row files: what was answered, routed, parsed and returned."""

from __future__ import annotations

from sqlassay.cases.verdicts import Verdict
from sqlassay.harness.reports.figures import score_json
from sqlassay.harness.reports.files import Json
from sqlassay.harness.results.case_result import CaseResult, ComparisonRecord, StructureRecord

_STRUCTURE_LISTS = ("tables", "projections", "filters", "joins", "group_by", "aggregates")
_EXECUTED = frozenset({Verdict.MATCH, Verdict.MISMATCH, Verdict.UNDECIDED})


def identity(result: CaseResult) -> dict[str, Json]:
    """Return what names a row in every file."""
    return {"id": result.case_id, "trial": result.trial, "dialect": result.dialect, "scenario": result.scenario}


def workflow_row(result: CaseResult) -> dict[str, Json]:
    """Return what was asked and answered, before any score."""
    return {
        **identity(result),
        "question": result.question,
        "snapshot": result.snapshot,
        "ground_truth_sql": result.gold_sql,
        "gold_status": result.gold_status,
        "generated_sql": result.predicted_sql,
        "answer": result.answer,
        "expected_data_source": result.expected_route,
        "selected_data_source": result.selected_route,
        "order_required": result.order_required,
        "allow_extra_predicted_columns": result.allow_extra_predicted_columns,
        "metadata": {
            "difficulty": result.difficulty,
            "tags": list(result.tags),
            **(result.agent.model_dump(mode="json") if result.agent else {}),
        },
        "safety": safety(result),
    }


def routing_row(result: CaseResult) -> dict[str, Json]:
    """Return the routes and whether they agree; unavailable where none is expected or logged."""
    return {
        **identity(result),
        "expected_data_source": result.expected_route,
        "selected_data_source": result.selected_route,
        "routing": score_json(result.scores.get("routing")),
    }


def structure_row(result: CaseResult) -> dict[str, Json]:
    """Return both SQL texts as given and as processed, what was extracted from them, and τ, ρ and the scalar apart."""
    record = result.scores.get("structural")
    details = {} if record is None else record.details
    return {
        **identity(result),
        "original_ground_truth_sql": result.gold_sql,
        "original_predicted_sql": result.predicted_sql,
        "ground_truth": structure(result.gold_structure),
        "predicted": structure(result.predicted_structure),
        "table_match": details.get("tau"),
        "column_match": details.get("rho"),
        "structural": score_json(record),
        "details": dict(sorted(details.items())),
        "safety": safety(result),
    }


def structure(record: StructureRecord | None) -> dict[str, Json]:
    """Return the parser, its version and the extracted structure of one text; `parsed` is false where there is none."""
    if record is None:
        return {"parsed": False, "error": "no SQL text was parsed"}
    parser, _, version = record.parser.partition(" ")
    lists: dict[str, Json] = {name: list(getattr(record, name)) for name in _STRUCTURE_LISTS}
    return {
        "parsed": record.error is None,
        "error": record.error,
        "parser": parser,
        "parser_version": version or None,
        "processed_sql": record.processed_sql,
        "root": record.root,
        **lists,
    }


def comparison_row(result: CaseResult) -> dict[str, Json]:
    """Return shapes, policy, verdict and the first difference; a failed execution is kept apart from a mismatch."""
    executed = result.verdict in _EXECUTED
    return {
        **identity(result),
        "verdict": result.verdict.value,
        "cause": None if result.cause is None else result.cause.value,
        "reason": result.reason,
        "execution_status": "ok" if executed else result.verdict.value,
        "execution_error": None if executed else result.reason,
        "ground_truth_shape": shape(result.gold_shape),
        "predicted_shape": shape(result.predicted_shape),
        "ground_truth_columns": list(result.gold_columns),
        "predicted_columns": list(result.predicted_columns),
        "policy": {
            "digest": result.policy_digest,
            "order_required": result.order_required,
            "allow_extra_predicted_columns": result.allow_extra_predicted_columns,
        },
        "comparison": comparison(result.comparison),
        "strict_comparison": comparison(result.strict),
        "partial_credit": result.partial,
        "execution_accuracy": score_json(result.scores.get("execution_accuracy")),
        "strict_execution_accuracy": score_json(result.scores.get("strict_execution_accuracy")),
        "execution_score": score_json(result.scores.get("execution_score")),
        "safety": safety(result),
    }


def comparison(record: ComparisonRecord | None) -> Json:
    """Return the comparator's verdict with its evidence, null where nothing was compared."""
    return None if record is None else record.model_dump(mode="json")


def shape(pair: tuple[int, int] | None) -> Json:
    """Return a result's size by name, null where there was no result."""
    return None if pair is None else {"rows": pair[0], "columns": pair[1]}


def safety(result: CaseResult) -> dict[str, Json]:
    """Return what the guard said about the predicted text."""
    if result.guard is None:
        return {"checked": False, "allowed": None, "statement": None, "reason": "no text was checked", "flags": []}
    return {
        "checked": True,
        "allowed": result.guard.allowed,
        "statement": result.guard.statement,
        "reason": result.guard.reason,
        "flags": list(result.guard.flags),
    }


def mutation_blocked(result: CaseResult) -> bool:
    """Return True where the guard stopped one of the Skill's ten statement kinds."""
    return result.guard is not None and not result.guard.allowed and result.guard.statement is not None
