"""spider_summary.json is the published script's table: by level, over the queries that have a clause."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from report_runs import manifest, result, run, score

from sqlassay.cases.verdicts import Verdict
from sqlassay.harness.reports.spider_file import CLAUSES, NAME, write


def test_a_run_without_the_metric_has_no_file(tmp_path: Path) -> None:
    """Nothing is written where exact set match was not chosen."""
    assert write(run(result("a")), tmp_path) == ()


def test_clauses_count_where_they_are(tmp_path: Path) -> None:
    """Precision is over the predictions that have a clause, recall over such golds; levels stand apart."""
    same = dict.fromkeys(CLAUSES.values(), 1.0)
    rows = (
        ("a", 1.0, "easy", same, "select", "select"),
        ("b", 0.0, "easy", {**same, "where": 0.0}, "select where", "select"),
        ("c", 0.0, "hard", {**same, "where": 0.0}, "select where", "select where"),
        ("d", 1.0, "hard", same, "select where", "select where"),
    )
    results = [
        result(
            case,
            Verdict.MATCH,
            scores={
                "spider.exact_set_match": score(
                    value, **parts, hardness=level, gold_clauses=gold, predicted_clauses=predicted
                )
            },
        )
        for case, value, level, parts, gold, predicted in rows
    ]
    lost = result("e", Verdict.INFRASTRUCTURE, scores={"spider.exact_set_match": score(None)})
    (path,) = write(run(*results, lost, manifest=manifest(metrics=("spider.exact_set_match",))), tmp_path)
    assert path.name == NAME
    levels = json.loads(path.read_text(encoding="utf-8"))["levels"]
    assert [levels[level]["count"] for level in ("easy", "medium", "hard", "extra", "all")] == [2, 0, 2, 0, 4]
    assert (levels["easy"]["exact"], levels["medium"]["exact"], levels["all"]["exact"]) == (0.5, None, 0.5)
    assert levels["all"]["partial"]["where"] == {"acc": 0.5, "rec": pytest.approx(1 / 3), "f1": pytest.approx(0.4)}
    assert levels["all"]["partial"]["select"] == {"acc": 1.0, "rec": 1.0, "f1": 1.0}
    assert levels["easy"]["partial"]["order"] == {"acc": 0.0, "rec": 0.0, "f1": 1.0}
