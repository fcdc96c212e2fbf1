"""Builds run results by hand, kind and hostile ones, for the report tests."""

from __future__ import annotations

from typing import Any

from sqlassay.cases.verdicts import Cause, ExitCode, Verdict
from sqlassay.harness.results.case_result import (
    CaseResult,
    ComparisonRecord,
    DifferenceRecord,
    GuardRecord,
    ScoreRecord,
    StructureRecord,
    Timing,
)
from sqlassay.harness.results.run_result import Aggregate, IsolationRecord, Manifest, RunResult, Threshold

HOSTILE = (
    "=1+1|`x`<script>alert(1)</script>\x1b[31mred\x00\u202e\ud800 "
    "postgres://bob:hunter2@db.example/x [a](http://e.example) @octocat ]]>&amp;\r\n| --- |\n```\n# no"
)
METRICS = (
    "routing",
    "structural",
    "execution_accuracy",
    "strict_execution_accuracy",
    "execution_score",
    "disagreement",
)


def score(value: float | None, reason: str = "because", **details: float | str | None) -> ScoreRecord:
    """Return a score record."""
    return ScoreRecord(value=value, reason=reason, details=dict(details))


def structure(sql: str) -> StructureRecord:
    """Return what a parser extracts from a small query."""
    return StructureRecord(
        parser="sqlglot 30.30.0",
        root="select",
        tables=("orders",),
        projections=("id", "amount"),
        filters=("status = 'paid'",),
        processed_sql=sql.upper(),
    )


def compared(verdict: str) -> ComparisonRecord:
    """Return a comparison that ended as `verdict`."""
    first = DifferenceRecord(index=2, gold=[1, {"$decimal": "1.50"}], predicted=None, cells=(1,))
    return ComparisonRecord(
        verdict=verdict,
        rule="bag",
        reason="3 rows are missing",
        policy_digest="abcd",
        missing=3,
        extra=1,
        first=None if verdict == "match" else first,
        columns=(1, 0),
    )


def result(case_id: str, verdict: Verdict = Verdict.MATCH, **fields: Any) -> CaseResult:
    """Return one result with everything filled in; `fields` override."""
    matched = float(verdict is Verdict.MATCH)
    sql = "SELECT id, amount FROM orders"
    values: dict[str, Any] = {
        "case_id": case_id,
        "dialect": "sqlite",
        "question": "Which orders are paid?",
        "snapshot": "sales",
        "expected_route": "sales_db",
        "selected_route": "sales_db",
        "gold_sql": f"{sql} WHERE status = 'paid'",
        "predicted_sql": sql,
        "verdict": verdict,
        "reason": "it says why",
        "scores": {
            "routing": score(1.0),
            "structural": score(1.0, tau=1.0, rho=1.0),
            "execution_accuracy": score(matched),
            "strict_execution_accuracy": score(matched),
            "execution_score": score(matched),
            "disagreement": score(1.0 - matched),
        },
        "guard": GuardRecord(allowed=True, reason="allowed"),
        "comparison": compared("match" if matched else "mismatch"),
        "gold_structure": structure(sql),
        "predicted_structure": structure(sql),
        "gold_shape": (4, 2),
        "predicted_shape": (7, 2),
        "gold_columns": ("id", "amount"),
        "predicted_columns": ("id", "amount"),
        "policy_digest": "abcd",
        "order_required": False,
    }
    return CaseResult(**{**values, **fields})


def blocked(case_id: str) -> CaseResult:
    """Return a case whose DELETE the guard stopped."""
    return result(
        case_id,
        Verdict.BLOCKED,
        predicted_sql="DELETE FROM orders",
        cause=Cause.UNSAFE_BLOCK,
        guard=GuardRecord(allowed=False, reason="DELETE is rejected", statement="DELETE", node="delete"),
        scores={"structural": score(0.0, tau=0.0, rho=0.0), "execution_score": score(0.0), "disagreement": score(0.0)},
        comparison=None,
        predicted_shape=None,
        predicted_columns=(),
    )


def manifest(**fields: Any) -> Manifest:
    """Return a manifest whose settings name files on this machine, as real ones may."""
    isolation = IsolationRecord(
        provider="process", method="bubblewrap", network="none", limits=("cpu", "memory"), missing=("cgroup pids",)
    )
    values: dict[str, Any] = {
        "run_id": "r1",
        "created": "2026-01-01T00:00:00Z",
        "sqlassay": "0.1.0",
        "packages": {"sqlglot": "30.30.0"},
        "dialect": "sqlite",
        "engine_version": "3.40.1",
        "image": "/home/someone/secret-folder/process/8f3a",
        "image_key": "k",
        "base_image": "host",
        "base_digest": "d",
        "base_source": "host",
        "isolation": isolation,
        "pack": "demo",
        "pack_format": "own",
        "case_set": "c0ffee",
        "cases": 3,
        "agent": "file:/home/someone/secret-folder/predictions.jsonl",
        "predictions_digest": "p",
        "settings": {"disagreement": 0.1, "alpha": 0.3, "beta": 0.2, "out": "/home/someone/secret-folder/runs"},
        "policy": {"columns": "any"},
        "policy_origin": {"columns": "preset skill"},
        "policy_digest": "abcd",
        "metrics": METRICS,
        "seed": 0,
    }
    return Manifest(**{**values, **fields})


def run(*results: CaseResult, **fields: Any) -> RunResult:
    """Return a run over these results with its totals."""
    verdicts: dict[str, int] = {}
    causes: dict[str, int] = {}
    for item in results:
        verdicts[item.verdict.value] = verdicts.get(item.verdict.value, 0) + 1
        if item.cause is not None:
            causes[item.cause.value] = causes.get(item.cause.value, 0) + 1
    values: dict[str, Any] = {
        "manifest": manifest(),
        "results": results,
        "timings": tuple(
            Timing(case_id=item.case_id, trial=item.trial, predicted_seconds=0.002, total_seconds=0.25)
            for item in results
        ),
        "aggregates": tuple(_aggregate(name, results) for name in METRICS),
        "verdicts": verdicts,
        "causes": causes,
        "scorable": sum(item.verdict.value not in ("unavailable", "gold_error") for item in results),
        "blocked": verdicts.get("blocked", 0),
        "percentiles": {"p50": 0.002, "p95": 1.5},
        "thresholds": (Threshold(metric="strict_execution_accuracy", minimum=0.9, value=0.5, held=False),),
        "planned": len(results),
        "exit_code": ExitCode.THRESHOLD,
        "verdict_line": "FAIL: a declared threshold does not hold (exit 1)",
        "folder": "/home/someone/secret-folder/runs/r1",
    }
    return RunResult(**{**values, **fields})


def _aggregate(name: str, results: tuple[CaseResult, ...]) -> Aggregate:
    """Return the mean of one metric over the results that have it."""
    values = [item.scores[name].value for item in results if name in item.scores]
    present = [value for value in values if value is not None]
    return Aggregate(name=name, mean=sum(present) / len(present) if present else None, n=len(present), of=len(results))


def mixed() -> RunResult:
    """Return a run with one result of every verdict."""
    causes = {Verdict.MISMATCH: Cause.MISSING_FILTER, Verdict.TIMEOUT: Cause.TIMEOUT}
    others = [
        result(f"case-{verdict.value}", verdict, cause=causes.get(verdict))
        for verdict in Verdict
        if verdict is not Verdict.BLOCKED
    ]
    return run(*others, blocked("case-blocked"))


def hostile() -> RunResult:
    """Return a run in which every text that comes from outside is hostile."""
    bad = result(
        HOSTILE[:100],
        Verdict.MISMATCH,
        question=HOSTILE,
        predicted_sql=HOSTILE,
        gold_sql=HOSTILE,
        reason=HOSTILE,
        snapshot=HOSTILE,
        predicted_columns=(HOSTILE,),
        guard=GuardRecord(allowed=True, reason=HOSTILE, flags=(HOSTILE,)),
        scores={"execution_score": score(0.0, HOSTILE), HOSTILE: score(1.0, HOSTILE)},
        tags=(HOSTILE,),
    )
    return run(bad, problems=(HOSTILE,), breaches=(HOSTILE,), manifest=manifest(pack=HOSTILE, engine_version=HOSTILE))


def empty() -> RunResult:
    """Return a run without a single case."""
    return run(
        thresholds=(), percentiles={}, exit_code=ExitCode.NOTHING_SCORABLE, verdict_line="NOTHING SCORABLE (exit 5)"
    )


def interrupted() -> RunResult:
    """Return a run that was stopped after one of three results."""
    return run(
        result("a"), planned=3, interrupted=True, exit_code=ExitCode.INTERRUPTED, verdict_line="INTERRUPTED (exit 130)"
    )
