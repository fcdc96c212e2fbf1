"""Execution accuracy of BIRD and Spider, and soft F1, are what the published rules give on the handed predictions."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from rows import rows_of

from sqlassay.cases.case import Case, Prediction
from sqlassay.cases.outcome import Rows
from sqlassay.cases.presets import preset
from sqlassay.cases.relation import Column, Relation
from sqlassay.cases.verdicts import Verdict
from sqlassay.harness.compare import compare, resolve_policy
from sqlassay.harness.metrics import bird
from sqlassay.harness.parse import Parser
from sqlassay.harness.results.evidence import Evidence, Execution
from sqlassay.harness.results.parsed import OrderFacts

_ROOT = Path(__file__).parents[2]
_DATA = _ROOT.parent / "shared" / "data" / "text2sql"
_WANTED = rows_of("bird_published")["bird"]
_SPIDER = rows_of("spider_published")["execution"]
_SECONDS = 20.0


@pytest.fixture(scope="module")
def run() -> Iterator[Callable[[str, str], Rows | None]]:
    """What runs a statement on a handed database, None where it fails."""
    opened: dict[str, sqlite3.Connection] = {}

    def run_one(database: str, sql: str) -> Rows | None:
        """Run one statement, read only."""
        if database not in opened:
            file = _DATA / "databases" / database / f"{database}.sqlite"
            opened[database] = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
            opened[database].text_factory = lambda raw: raw.decode(errors="ignore")
        end = time.monotonic() + _SECONDS
        opened[database].set_progress_handler(lambda: time.monotonic() > end, 10_000)
        try:
            with closing(opened[database].execute(sql)) as cursor:
                rows = tuple(cursor.fetchall())
                return Rows(Relation(tuple(Column(each[0]) for each in cursor.description), rows), 0.0)
        except sqlite3.Error:
            return None

    yield run_one
    for connection in opened.values():
        connection.close()


@pytest.fixture(scope="module")
def orders() -> dict[str, OrderFacts | None]:
    """How each handed gold orders its rows."""
    golds = {row["gold"]["sqlite"] for row in _lines(_DATA / "cases" / "spider_dev.jsonl")}
    with Parser() as parser:
        return {sql: parser.parse(sql, "sqlite", sqlglot_dialect="sqlite").order for sql in sorted(golds)}


def _lines(path: Path) -> list[dict[str, Any]]:
    """Return a file's objects."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.slow
@pytest.mark.skipif(not _DATA.is_dir(), reason="the handed data is not beside the project")
@pytest.mark.parametrize("system", sorted(_WANTED))
def test_the_scores_are_the_published_rules(run: Callable[[str, str], Rows | None], system: str) -> None:
    """Each prediction's EX is the equality of the sets of rows, and the sum of soft F1 is the script's."""
    predictions = {
        row["case_id"]: row["sql"] for row in _lines(_DATA / "predictions" / "spider_dev" / f"{system}.jsonl")
    }
    ran, matched, shared = 0, 0, 0.0
    for row in _lines(_DATA / "cases" / "spider_dev.jsonl"):
        gold, predicted = run(row["db"], row["gold"]["sqlite"]), run(row["db"], predictions[row["id"]])
        assert gold is not None
        if predicted is None:
            continue
        compared = compare(gold.relation, predicted.relation, preset("bird"))
        evidence = Evidence(
            case=Case(id=row["id"], question="?", snapshot="s"),
            dialect="sqlite",
            prediction=Prediction(case_id=row["id"], sql=predictions[row["id"]]),
            verdict=Verdict(compared.verdict),
            reason=compared.reason,
            policy=preset("bird"),
            executions=(Execution("s", gold, predicted, compared, others=(("bird", compared),)),),
        )
        correct, soft = (metric.compute(evidence, None).value for metric in (bird.EXECUTION_ACCURACY, bird.SOFT_F1))
        assert correct == float(set(gold.relation.rows) == set(predicted.relation.rows)), row["id"]
        assert soft is not None
        ran, matched, shared = ran + 1, matched + int(correct), shared + soft
    wanted = _WANTED[system]
    assert (ran, matched) == (wanted["ran"], wanted["matched"])
    assert shared == pytest.approx(wanted["soft_f1"], abs=1e-6)


@pytest.mark.slow
@pytest.mark.skipif(not _DATA.is_dir(), reason="the handed data is not beside the project")
@pytest.mark.parametrize("system", sorted(_SPIDER))
def test_spider_compares_results_as_its_script(
    run: Callable[[str, str], Rows | None], orders: dict[str, OrderFacts | None], system: str
) -> None:
    """Under the preset `spider` each prediction matches exactly where the test-suite script says so."""
    predictions = {
        row["case_id"]: row["sql"] for row in _lines(_DATA / "predictions" / "spider_dev" / f"{system}.jsonl")
    }
    digest, matched = hashlib.sha256(), 0
    for row in _lines(_DATA / "cases" / "spider_dev.jsonl"):
        sql = row["gold"]["sqlite"]
        gold, predicted = run(row["db"], sql), run(row["db"], predictions[row["id"]])
        assert gold is not None
        equal = False
        if predicted is not None:
            policy, order = resolve_policy(preset("spider"), facts=orders[sql], gold=gold.relation, probe=None)
            equal = compare(gold.relation, predicted.relation, policy, order=order).verdict == "match"
        matched += equal
        digest.update(f"{row['id']} {int(equal)}\n".encode())
    assert (matched, digest.hexdigest()) == (_SPIDER[system]["matched"], _SPIDER[system]["digest"])


@pytest.mark.parametrize(
    ("ratio", "reward"),
    [
        (5.0, 1.25),
        (2.0, 1.25),
        (1.99, 1.0),
        (1.0, 1.0),
        (0.99, 0.75),
        (0.5, 0.75),
        (0.49, 0.5),
        (0.25, 0.5),
        (0.24, 0.25),
    ],
)
def test_the_rewards_are_the_published_steps(ratio: float, reward: float) -> None:
    """A ratio of gold to predicted seconds earns the published reward."""
    assert bird.reward(ratio) == reward
