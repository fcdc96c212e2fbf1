"""What is called accuracy or correct is never full where the verdict is no match."""

from __future__ import annotations

import random

from made_evidence import Maker

from sqlassay.cases.verdicts import Verdict
from sqlassay.harness.metrics.registry import installed, metrics, presets_needed

_PEERS = {
    "bird.execution_accuracy": "BIRD's own rule: sets of rows",
    "evalbench.set_match": "EvalBench's document: BIRD's rule",
    "nucleusiq.correct_answer": "of the answer in words, which may be right beside a wrong statement",
    "spider.execution_accuracy": "Spider's own rule: one column permutation, its own sign of an order",
    "spider.test_suite_accuracy": "the same on several databases",
    "strict_execution_accuracy": "under another policy, and named for it",
}
"""Metrics with a documented rule of their own, with what it is."""

_GOLDS = (
    *("SELECT id, name FROM customers ORDER BY id DESC", "SELECT amount FROM orders ORDER BY amount, id LIMIT 3"),
    *("SELECT region, count(*) FROM customers GROUP BY region", "SELECT name FROM customers WHERE active = 1"),
    *(
        "SELECT DISTINCT status FROM orders",
        "SELECT n FROM numbers WHERE n > 999",
        "SELECT id FROM orders ORDER BY day",
    ),
)
_CHANGES = (
    *((" DESC", ""), (" ORDER BY id DESC", ""), (" LIMIT 3", " LIMIT 4"), ("count(*)", "count(*) + 1"), ("= 1", "= 0")),
    *(("SELECT ", "SELECT 1, "), ("FROM", "FROM (SELECT 1) x,"), ("id, name", "name, id"), ("n >", "n + 0 >")),
    *(("ORDER BY day", "ORDER BY day DESC"), ("name FROM", "upper(name) FROM"), ("DISTINCT status", "status")),
)


def _pairs() -> list[tuple[str, str]]:
    """Return golds with statements that are changed a little, once or twice, or are another gold."""
    rng = random.Random(7)
    pairs = [(gold, rng.choice(_GOLDS)) for gold in _GOLDS]
    for gold in _GOLDS:
        for old, new in _CHANGES:
            once = gold.replace(old, new, 1)
            again = once.replace(*rng.choice(_CHANGES), 1)
            pairs += [(gold, text) for text in dict.fromkeys((once, again))]
    return pairs


def test_no_accuracy_is_full_without_a_match() -> None:
    """Over all installed metrics: one called accuracy or correct is below its full value, save a documented peer's."""
    names = [name for name in installed() if ("accuracy" in name or "correct" in name) and name not in _PEERS]
    assert {"execution_accuracy", "sqlas.execution_accuracy"} <= set(names)
    chosen = metrics(names)
    seen: dict[Verdict, int] = {}
    with Maker() as maker:
        for gold, predicted in _pairs():
            evidence = maker.make(gold, predicted, others=presets_needed(chosen), answer="It is 3.")
            seen[evidence.verdict] = seen.get(evidence.verdict, 0) + 1
            for metric in chosen:
                value = metric.compute(evidence, None).value
                if evidence.verdict is Verdict.MATCH:
                    assert value == metric.range[1]
                elif value is not None:
                    assert value < metric.range[1], (metric.name, gold, predicted, evidence.reason)
    assert min(seen[Verdict.MATCH], seen[Verdict.MISMATCH]) > 20


def test_every_exception_is_a_metric() -> None:
    """No peer is excused that is not there."""
    assert set(_PEERS) <= set(installed())
