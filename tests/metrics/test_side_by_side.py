"""Our metrics beside the installed wheels of the systems they are from: equal where those are right.

The wheels live in an environment of their own (requirements/peers.txt), beside the one the tests run in, and are asked
in a process of it (peer_scores.py).
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from made_evidence import Maker
from rows import rows_of

from sqlassay.cases.outcome import Failure, Rows
from sqlassay.harness.metrics import evalbench, evalbench_compat, sqlas_context, sqlas_results, sqlas_safety
from sqlassay.harness.metrics.contract import Metric
from sqlassay.harness.results.evidence import Evidence
from sqlassay.harness.results.fetched import dict_rows

_TABLE = rows_of("side_by_side")
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


def _ran(maker: Maker, sql: str) -> dict[str, Any]:
    """Return what a statement gives, as the process of the wheels is told."""
    found = maker.run(sql)
    if isinstance(found, Failure):
        return {"error": found.message}
    return {"rows": found.relation.rows, "dicts": dict_rows(found.relation)} if isinstance(found, Rows) else {}


@pytest.fixture(scope="module")
def said(maker: Maker) -> list[dict[str, dict[str, float]]]:
    """What the wheels say of every pair, both families."""
    home = Path(f"{sys.prefix}-peers")
    if not (home / ".ready").is_file():
        pytest.skip(f"no wheels in {home.name}: `make check` puts them there where PyPI answers")
    asked = {
        "columns": maker.columns,
        "pattern": _PATTERN,
        "pairs": [
            {**pair, "gold_run": _ran(maker, pair["gold"]), "predicted_run": _ran(maker, pair["predicted"] or "")}
            for pair in _PAIRS
        ],
    }
    script = Path(__file__).with_name("peer_scores.py")
    done = subprocess.run(
        [home / "bin" / "python", "-I", script],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: list[dict[str, dict[str, float]]] = json.loads(done.stdout)
    return found


def _sides(
    maker: Maker, family: str, metrics: tuple[Metric, ...], said: Sequence[dict[str, dict[str, float]]]
) -> Iterator[SimpleNamespace]:
    """Yield each pair and metric with both values and the reason of the table, if any."""
    for number, (pair, theirs) in enumerate(zip(_PAIRS, said, strict=True)):
        evidence = _evidence(maker, pair)
        for metric in metrics:
            yield SimpleNamespace(
                number=number,
                metric=metric.name,
                ours=metric.compute(evidence, None),
                theirs=theirs[family][metric.name.removeprefix(f"{family}.")],
                reason=pair.get("differs", {}).get(metric.name),
            )


def _held(sides: Iterator[SimpleNamespace]) -> int:
    """Hold every pair to the table and return how many values were equal; a stale reason fails as a missing one."""
    wrong, equal = [], 0
    for side in sides:
        value = side.ours.value
        if value is None and side.metric.endswith("_compat"):
            continue  # it runs otherwise there; test_evalbench_differential.py has the reasons
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


def test_sqlas_side_by_side(maker: Maker, said: list[dict[str, dict[str, float]]]) -> None:
    """Every value is the wheel's, or the table says why ours is right."""
    assert _held(_sides(maker, "sqlas", _SQLAS, said)) > 400


def test_evalbench_side_by_side(maker: Maker, said: list[dict[str, dict[str, float]]]) -> None:
    """Every score is the wheel's, or the table says why ours is right; a compat score is, or has none."""
    assert _held(_sides(maker, "evalbench", _EVALBENCH, said)) > 300
