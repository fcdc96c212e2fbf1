"""Writes the Skill's five files: workflow, routing, structure, comparison and the analysis over all of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

from sqlassay.cases.verdicts import Verdict
from sqlassay.harness.reports import figures, skill_rows
from sqlassay.harness.reports.files import Json, without_folders, write_json
from sqlassay.harness.results.case_result import CaseResult
from sqlassay.harness.results.run_result import RunResult

WORKFLOW = "workflow_output.json"
ROUTING = "routing_eval_output.json"
STRUCTURE = "sql_correctness_output.json"
COMPARISON = "dataframe_comparison_output.json"
ANALYSIS = "post_evaluation_analysis_report.json"
REPRESENTATIVES = 5
_PRIMARY = ("routing", "structural", "execution_accuracy", "strict_execution_accuracy", "execution_score")


def write(run: RunResult, folder: Path) -> tuple[Path, ...]:
    """Write the five files into `folder` and return their paths."""
    settings = run.manifest.settings
    weights: dict[str, Json] = {"alpha": settings.get("alpha"), "beta": settings.get("beta")}
    policy = without_folders(run.manifest.policy)
    return (
        _rows(run, folder / WORKFLOW, skill_rows.workflow_row, (), {}),
        _rows(run, folder / ROUTING, skill_rows.routing_row, ("routing",), {}),
        _rows(run, folder / STRUCTURE, skill_rows.structure_row, ("structural",), {"weights": weights}),
        _rows(run, folder / COMPARISON, skill_rows.comparison_row, _PRIMARY[2:], {"policy": policy}),
        write_json(folder / ANALYSIS, {**analysis(run), "rows": map(_reasoning, run.results)}),
    )


def analysis(run: RunResult) -> dict[str, Json]:
    """Return the aggregate report but for its rows: means with n, disagreement, diagnoses by cause, and blocks."""
    return {
        **figures.header_json(run),
        "aggregate_scores": {name: figures.aggregate_json(run.aggregate(name)) for name in _PRIMARY},
        "disagreement": _disagreement(run),
        "verdicts": figures.sorted_counts(run.verdicts),
        "scorable": run.scorable,
        "diagnoses": _diagnoses(run),
        "safety": _safety(run),
        "policy": without_folders(run.manifest.policy),
        "policy_origin": without_folders(run.manifest.policy_origin),
        "problems": list(run.problems),
        "exit_code": int(run.exit_code),
        "verdict_line": run.verdict_line,
    }


def representatives(run: RunResult) -> list[CaseResult]:
    """Return up to five disagreements: the widest of each cause first, then the next widest."""
    apart = [(figures.gap(result) or 0.0, result) for result in run.results if _disagrees(result)]
    widest = [result for _, result in sorted(apart, key=lambda pair: (-pair[0], *pair[1].key))]
    seen: Counter[str] = Counter()
    ranked: list[tuple[int, int, CaseResult]] = []
    for position, result in enumerate(widest):
        cause = str(result.cause)
        ranked.append((seen[cause], position, result))
        seen[cause] += 1
    return [result for _, _, result in sorted(ranked, key=lambda item: item[:2])][:REPRESENTATIVES]


def _rows(
    run: RunResult,
    path: Path,
    row: Callable[[CaseResult], dict[str, Json]],
    metrics: tuple[str, ...],
    extra: dict[str, Json],
) -> Path:
    """Write one per-row file: header, the means it is about, then a row a result in case order."""
    means: dict[str, Json] = {name: figures.aggregate_json(run.aggregate(name)) for name in metrics}
    scores: dict[str, Json] = {"aggregate_scores": means} if metrics else {}
    return write_json(path, {**figures.header_json(run), **extra, **scores, "rows": map(row, run.results)})


def _disagreement(run: RunResult) -> dict[str, Json]:
    """Return the rate with its n and t, every case counted in it, and the representative ones in full."""
    total = run.aggregate("disagreement")
    return {
        "rate": None if total is None else total.mean,
        "n": 0 if total is None else total.n,
        "threshold": without_folders(run.manifest.settings.get("disagreement")),
        "rule": "|structural - execution_score| > threshold",
        "cases": [{"id": result.case_id, "trial": result.trial} for result in run.results if _disagrees(result)],
        "representative": [_disagreement_row(result) for result in representatives(run)],
    }


def _disagrees(result: CaseResult) -> bool:
    """Return True where the disagreement metric says that structure and execution_score are apart."""
    return figures.score(result, "disagreement") == 1.0


def _disagreement_row(result: CaseResult) -> dict[str, Json]:
    """Return one disagreement with what a person needs to judge it."""
    return {
        **_reasoning(result),
        "gap": figures.gap(result),
        "question": result.question,
        "ground_truth_sql": result.gold_sql,
        "predicted_sql": result.predicted_sql,
        "ground_truth_shape": skill_rows.shape(result.gold_shape),
        "predicted_shape": skill_rows.shape(result.predicted_shape),
    }


def _diagnoses(run: RunResult) -> dict[str, Json]:
    """Return every cause with its count and the results it explains."""
    by_cause: defaultdict[str, list[Json]] = defaultdict(list)
    for result in run.results:
        if result.cause is not None:
            by_cause[result.cause.value].append({"id": result.case_id, "trial": result.trial})
    ordered = sorted(by_cause.items(), key=lambda item: (-len(item[1]), item[0]))
    return {cause: {"n": len(cases), "cases": cases} for cause, cases in ordered}


def _safety(run: RunResult) -> dict[str, Json]:
    """Return what the guard stopped: mutations by statement kind, everything blocked, and any breach."""
    mutations = [result for result in run.results if skill_rows.mutation_blocked(result)]
    kinds = Counter(str(result.guard.statement) for result in mutations if result.guard is not None)
    return {
        "mutation_blocks": {
            "n": len(mutations),
            "by_statement": figures.sorted_counts(dict(kinds)),
            "cases": [{"id": result.case_id, "trial": result.trial} for result in mutations],
        },
        "blocked": sum(1 for result in run.results if result.verdict is Verdict.BLOCKED),
        "flagged": sum(1 for result in run.results if result.guard is not None and result.guard.flags),
        "breaches": list(run.breaches),
    }


def _reasoning(result: CaseResult) -> dict[str, Json]:
    """Return one result's verdict, scores and the reason behind each."""
    return {
        **skill_rows.identity(result),
        "verdict": result.verdict.value,
        "cause": None if result.cause is None else result.cause.value,
        "reason": result.reason,
        "scores": {name: figures.score_json(record) for name, record in sorted(result.scores.items())},
    }
