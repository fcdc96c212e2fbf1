"""What the wheels sqlas and google-evalbench say of pairs: run by the Python of the environment that holds them.

Reads one JSON object: `columns` (table to columns), `pattern`, and `pairs`, each with gold and predicted text, with
question, answer and what the engine gave for both (`gold_run`, `predicted_run`: {rows, dicts} or {error}). Writes one
object a pair. Imports nothing of this project.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any


def sqlas_scores(pair: dict[str, Any], columns: dict[str, list[str]]) -> dict[str, float]:
    """Return what the wheel sqlas says of a pair; the fifth of its accuracy that is speed is taken off."""
    import sqlas
    from sqlas.production import data_scan_efficiency, execution_result

    gold, predicted = pair["gold"], pair["predicted"] or ""
    runs = {predicted: pair["predicted_run"], gold: pair["gold_run"]}
    count = len(pair["predicted_run"].get("rows", ()))
    ran = "rows" in pair["predicted_run"] and bool(predicted)
    went = execution_result({"row_count": count} if ran else None, bool(pair["gold_run"].get("rows")))
    known = {name: set(found) for name, found in columns.items()}

    def execute(sql: str) -> list[tuple[object, ...]]:
        """Return the rows of a statement as the wheel wants them."""
        if "rows" not in runs[sql] or not sql:
            raise ValueError("failed")
        return [tuple(row) for row in runs[sql]["rows"]]

    _, details = sqlas.execution_accuracy(predicted, gold, execute_fn=execute)
    output, counts = details.get("output_score", 0.0), details.get("structural_score", 0.0)
    return {
        "context_precision": sqlas.context_precision(predicted, gold)[0],
        "context_recall": sqlas.context_recall(predicted, gold)[0],
        "entity_recall": sqlas.entity_recall(predicted, gold)[0],
        "noise_robustness": sqlas.noise_robustness(predicted, gold, set(known), known)[0],
        "schema_compliance": sqlas.schema_compliance(predicted, set(known), known)[0],
        "execution_accuracy": 0.75 * output + 0.25 * counts,
        "result_set_similarity": sqlas.result_set_similarity(predicted, gold, execute_fn=execute)[0],
        "execution_success": went["execution_success"],
        "empty_result_penalty": went["empty_result_penalty"],
        "data_scan_efficiency": data_scan_efficiency(predicted, count)[0],
        "read_only_compliance": sqlas.read_only_compliance(predicted),
        "safety_score": sqlas.safety_score(predicted, pair.get("answer") or "", None, pair.get("question", "?"))[0],
    }


def evalbench_scores(pair: dict[str, Any], pattern: str) -> dict[str, float]:
    """Return what the scorers of the wheel google-evalbench say of a pair."""
    from scorers import exactmatcher, executablesql, generatedqueryregexpmatcher, recallmatcher, returnedsql, setmatcher

    predicted = pair["predicted"] or ""
    gold_run, predicted_run = pair["gold_run"], pair["predicted_run"]
    # An empty statement is never run there.
    error = predicted_run.get("error") if predicted else None
    sides = (gold_run.get("dicts", []), "", gold_run.get("error"), predicted, predicted_run.get("dicts", []), "", error)
    scorers = {
        "exact_match": exactmatcher.ExactMatcher({}),
        "returned_sql": returnedsql.ReturnedSQL({}),
        "executable_sql": executablesql.ExecutableGenerationScore({}),
        "recall_match": recallmatcher.RecallMatcher({}),
        "set_match": setmatcher.SetMatcher({}),
        "regexp_matcher": generatedqueryregexpmatcher.GeneratedQueryRegexpMatcher({"regexp_string_list": [pattern]}),
    }
    said = {name: float(scorer.compare("?", pair["gold"], "dql", *sides)[0]) for name, scorer in scorers.items()}
    if pair["predicted"] is None:  # EvalBench asks no scorer then
        said = dict.fromkeys(said, 0.0)
    return said | {f"{name}_compat": value for name, value in said.items()}


def find_evalbench() -> None:
    """Make the scorers importable: the package's own start opens sessions and wants a cloud client."""
    spec = importlib.util.find_spec("evalbench")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("google-evalbench is not installed")
    folder = Path(spec.origin).parent
    sys.path.insert(0, str(folder))
    tools = ModuleType("util")
    tools.__path__ = [str(folder / "util")]
    sys.modules["util"] = tools


def main() -> None:
    """Score what stands on standard input."""
    asked = json.load(sys.stdin)
    find_evalbench()
    said = [
        {
            "sqlas": {} if pair.get("only") == "evalbench" else sqlas_scores(pair, asked["columns"]),
            "evalbench": evalbench_scores(pair, asked["pattern"]),
        }
        for pair in asked["pairs"]
    ]
    json.dump(said, sys.stdout)


if __name__ == "__main__":
    main()
