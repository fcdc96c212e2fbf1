"""Our metrics beside the installed wheels of the systems they are from: equal where those are right."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import yaml
from made_evidence import Maker

from cases.outcome import Failure, Rows
from harness.metrics import evalbench, evalbench_compat, sqlas_context, sqlas_results, sqlas_safety
from harness.metrics.contract import Metric
from harness.results.evidence import Evidence
from harness.results.fetched import dict_rows

_TABLE = yaml.safe_load((Path(__file__).parents[1] / "tables" / "side_by_side.yaml").read_text(encoding="utf-8"))
_PAIRS: list[dict[str, Any]] = _TABLE["pairs"]
_PATTERN = r"(?i)group by"

_SQLAS: tuple[Metric, ...] = (
    sqlas_context.CONTEXT_PRECISION,
    sqlas_context.CONTEXT_RECALL,
    sqlas_context.ENTITY_RECALL,
    sqlas_context.NOISE_ROBUSTNESS,
    sqlas_context.SCHEMA_COMPLIANCE,
    sqlas_results.EXECUTION_ACCURACY,
    sqlas_results.RESULT_SET_SIMILARITY,
    sqlas_results.EXECUTION_SUCCESS,
    sqlas_results.EMPTY_RESULT_PENALTY,
    sqlas_results.DATA_SCAN_EFFICIENCY,
    sqlas_safety.READ_ONLY_COMPLIANCE,
    sqlas_safety.SAFETY_SCORE,
)
_EVALBENCH: tuple[Metric, ...] = (
    evalbench.EXACT_MATCH,
    evalbench.RETURNED_SQL,
    evalbench.EXECUTABLE_SQL,
    evalbench.RECALL_MATCH,
    evalbench.SET_MATCH,
    evalbench.SET_MATCH_COMPAT,
    evalbench.REGEXP_MATCHER,
    *evalbench_compat.METRICS,
)


@pytest.fixture(scope="module")
def maker() -> Iterator[Maker]:
    """One database for the module."""
    with Maker() as made:
        yield made


def _evidence(maker: Maker, pair: dict[str, Any]) -> Evidence:
    """Return our evidence of a pair."""
    return maker.make(
        pair["gold"],
        pair["predicted"],
        question=pair.get("question", "?"),
        answer=pair.get("answer"),
        options={
            f"evalbench.{name}.regexp_string_list": [_PATTERN] for name in ("regexp_matcher", "regexp_matcher_compat")
        },
    )


def _sqlas(maker: Maker, pair: dict[str, Any]) -> dict[str, float]:
    """Return what the wheel sqlas says of a pair; the fifth of its accuracy that is speed is taken off."""
    import sqlas
    from sqlas.production import data_scan_efficiency, execution_result

    gold, predicted = pair["gold"], pair["predicted"] or ""
    outcome, expected = maker.run(predicted), maker.run(gold)
    rows = len(outcome.relation.rows) if isinstance(outcome, Rows) else 0
    ran = isinstance(outcome, Rows) and bool(predicted)
    data = {"row_count": rows} if ran else None
    went = execution_result(data, expected_nonempty=isinstance(expected, Rows) and bool(expected.relation.rows))
    tables = set(maker.columns)
    columns = {name: set(found) for name, found in maker.columns.items()}

    def execute(sql: str) -> list[tuple[object, ...]]:
        """Run a statement as the wheel wants it."""
        found = maker.run(sql)
        if isinstance(found, Failure) or not sql:
            raise ValueError("failed")
        return list(found.relation.rows)  # type: ignore[union-attr]

    _, details = sqlas.execution_accuracy(predicted, gold, execute_fn=execute)
    output, counts = details.get("output_score", 0.0), details.get("structural_score", 0.0)
    return {
        "context_precision": sqlas.context_precision(predicted, gold)[0],
        "context_recall": sqlas.context_recall(predicted, gold)[0],
        "entity_recall": sqlas.entity_recall(predicted, gold)[0],
        "noise_robustness": sqlas.noise_robustness(predicted, gold, tables, columns)[0],
        "schema_compliance": sqlas.schema_compliance(predicted, tables, columns)[0],
        "execution_accuracy": 0.75 * output + 0.25 * counts,
        "result_set_similarity": sqlas.result_set_similarity(predicted, gold, execute_fn=execute)[0],
        "execution_success": went["execution_success"],
        "empty_result_penalty": went["empty_result_penalty"],
        "data_scan_efficiency": data_scan_efficiency(predicted, rows)[0],
        "read_only_compliance": sqlas.read_only_compliance(predicted),
        "safety_score": sqlas.safety_score(predicted, pair.get("answer") or "", None, pair.get("question", "?"))[0],
    }


def _evalbench(maker: Maker, pair: dict[str, Any]) -> dict[str, float]:
    """Return what the scorers of the wheel google-evalbench say of a pair."""
    from scorers import exactmatcher, executablesql, generatedqueryregexpmatcher, recallmatcher, returnedsql, setmatcher

    predicted = pair["predicted"] or ""
    rows, errors = [], []
    for sql in (pair["gold"], predicted):
        found = maker.run(sql)
        error = found.message if isinstance(found, Failure) else None
        errors.append(error if sql else None)  # an empty statement is never run there
        relation = found.relation if isinstance(found, Rows) else None
        rows.append(dict_rows(relation) if relation else [])
    given = ("?", pair["gold"], "dql", rows[0], "", errors[0], predicted, rows[1], "", errors[1])
    scorers = {
        "exact_match": exactmatcher.ExactMatcher({}),
        "returned_sql": returnedsql.ReturnedSQL({}),
        "executable_sql": executablesql.ExecutableGenerationScore({}),
        "recall_match": recallmatcher.RecallMatcher({}),
        "set_match": setmatcher.SetMatcher({}),
        "regexp_matcher": generatedqueryregexpmatcher.GeneratedQueryRegexpMatcher({"regexp_string_list": [_PATTERN]}),
    }
    said = {name: float(scorer.compare(*given)[0]) for name, scorer in scorers.items()}
    if pair["predicted"] is None:  # EvalBench asks no scorer then
        said = dict.fromkeys(said, 0.0)
    return said | {f"{name}_compat": value for name, value in said.items()}


def _sides(
    maker: Maker, family: str, metrics: tuple[Metric, ...], theirs: Callable[[Maker, dict[str, Any]], dict[str, float]]
) -> Iterator[SimpleNamespace]:
    """Yield each pair and metric with both values and the reason of the table, if any."""
    for number, pair in enumerate(_PAIRS):
        evidence, said = _evidence(maker, pair), theirs(maker, pair)
        for metric in metrics:
            short = metric.name.removeprefix(f"{family}.")
            reason = pair.get("differs", {}).get(metric.name)
            yield SimpleNamespace(
                number=number,
                metric=metric.name,
                ours=metric.compute(evidence, None),
                theirs=said[short],
                reason=reason,
            )


def _held(sides: Iterator[SimpleNamespace]) -> int:
    """Hold every pair to the table and return how many values were equal; a stale reason fails as a missing one."""
    wrong, equal = [], 0
    for side in sides:
        value = side.ours.value
        same = value is not None and value == pytest.approx(side.theirs, abs=1e-4)
        equal += same
        if same != (side.reason is None):
            shown = f"pair {side.number} {side.metric}: ours {value} ({side.ours.reason}), theirs {side.theirs}"
            wrong.append(f"{shown}, reason in the table: {side.reason}")
        elif side.reason is not None and side.reason not in _TABLE["reasons"]:
            wrong.append(f"pair {side.number}: no reason named {side.reason}")
    assert not wrong, "\n".join(wrong)
    return equal


def test_there_are_enough_pairs() -> None:
    """At least sixty pairs stand in the table, and every reason is used."""
    assert len(_PAIRS) >= 60
    used = {reason for pair in _PAIRS for reason in pair.get("differs", {}).values()}
    assert used == set(_TABLE["reasons"])


def test_sqlas_side_by_side(maker: Maker) -> None:
    """Every value is the wheel's, or the table says why ours is right."""
    pytest.importorskip("sqlas", reason="needs the wheel sqlas 2.8.0 beside the project")
    assert _held(_sides(maker, "sqlas", _SQLAS, _sqlas)) > 400


def test_evalbench_side_by_side(maker: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every score is the wheel's, or the table says why ours is right; the compat score always is the wheel's."""
    spec = importlib.util.find_spec("evalbench")
    if spec is None or spec.origin is None:
        pytest.skip("needs the wheel google-evalbench 1.20 beside the project")
    folder = Path(spec.origin).parent
    monkeypatch.syspath_prepend(str(folder))
    before = set(sys.modules)
    # The package's own start opens sessions and wants a cloud client; the scorers need only its folder.
    tools = ModuleType("util")
    tools.__path__ = [str(folder / "util")]
    monkeypatch.setitem(sys.modules, "util", tools)
    assert _held(_sides(maker, "evalbench", _EVALBENCH, _evalbench)) > 300
    for name in set(sys.modules) - before:
        monkeypatch.delitem(sys.modules, name)
