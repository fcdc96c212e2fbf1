"""Writes spider_summary.json where a run measured exact set match: the published script's table, level by level."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlassay.harness.reports.files import write_json
from sqlassay.harness.results.case_result import CaseResult, ScoreRecord
from sqlassay.harness.results.run_result import RunResult

NAME = "spider_summary.json"
LEVELS = ("easy", "medium", "hard", "extra")
CLAUSES = {
    "select": "select",
    "select(no AGG)": "select_no_agg",
    "where": "where",
    "where(no OP)": "where_no_op",
    "group(no Having)": "group_no_having",
    "group": "group",
    "order": "order",
    "and/or": "and_or",
    "IUEN": "iuen",
    "keywords": "keywords",
}
"""The script's names of the partial scores, and ours."""

_EXACT = "spider.exact_set_match"
_EXECUTION = "spider.execution_accuracy"


def write(run: RunResult, folder: Path) -> tuple[Path, ...]:
    """Write spider_summary.json into `folder` and return its path; a run without the metric has none."""
    if _EXACT not in run.manifest.metrics:
        return ()
    return (write_json(folder / NAME, summary(run.results)),)


def summary(results: Sequence[CaseResult]) -> dict[str, Any]:
    """Return count, exact match, execution accuracy and the partial scores of each level and of all."""
    scored = [result for result in results if _value(result, _EXACT) is not None]
    by_level = {level: [one for one in scored if one.scores[_EXACT].details["hardness"] == level] for level in LEVELS}
    return {"format": 1, "levels": {name: _level(some) for name, some in (*by_level.items(), ("all", scored))}}


def _level(results: Sequence[CaseResult]) -> dict[str, Any]:
    """Return the figures of one level."""
    exact = [result.scores[_EXACT] for result in results]
    return {
        "count": len(results),
        "exact": _mean([score.value for score in exact]),
        "execution": _mean([_value(result, _EXECUTION) for result in results]),
        "partial": {shown: _partial(exact, name) for shown, name in CLAUSES.items()},
    }


def _partial(scores: Sequence[ScoreRecord], name: str) -> dict[str, float]:
    """Return the precision over the predictions with a clause, the recall over the golds with it, and their F1.

    Where neither is above 0 the script calls F1 1, and 0 what nothing was measured of.
    """
    found = {
        side: [float(score.details[name] or 0.0) for score in scores if name in str(score.details[side]).split()]
        for side in ("predicted_clauses", "gold_clauses")
    }
    precision, recall = (_mean(values) or 0.0 for values in found.values())
    both = precision + recall
    return {"acc": precision, "rec": recall, "f1": 2 * precision * recall / both if both else 1.0}


def _value(result: CaseResult, metric: str) -> float | None:
    """Return a score's value, None where there is none."""
    score = result.scores.get(metric)
    return None if score is None else score.value


def _mean(values: Sequence[float | None]) -> float | None:
    """Return the mean of what has a value."""
    present = [value for value in values if value is not None]
    return sum(present) / len(present) if present else None
