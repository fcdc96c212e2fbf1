"""The preset `oracle_spider` says what the handed oracle said, word for word."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sqlassay.cases.presets import preset
from sqlassay.cases.relation import Column, Relation
from sqlassay.harness.compare import compare
from sqlassay.harness.compare.order import exact_order

SHARED = Path(__file__).parents[2].parent / "shared" / "data" / "text2sql"


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def fetched(connection: sqlite3.Connection, sql: str) -> Relation:
    """Return what a statement gives, with a limit on the engine's steps."""
    steps = iter(range(2000))
    connection.set_progress_handler(lambda: next(steps, None) is None, 100_000)
    with closing(connection.execute(sql)) as cursor:
        columns = tuple(Column(item[0]) for item in cursor.description)
        return Relation(columns, tuple(cursor.fetchall()))


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.is_dir(), reason="the handed data is not beside the project")
def test_every_verdict_of_the_oracle_comes_back() -> None:
    """On 2,758 published predictions that run, match, order, dup and mismatch are the oracle's own."""
    cases = {case["id"]: case for case in lines(SHARED / "cases" / "spider_dev.jsonl")}
    connections: dict[str, sqlite3.Connection] = {}
    for name in {case["db"] for case in cases.values()}:
        path = SHARED / "databases" / name / f"{name}.sqlite"
        connections[name] = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
        connections[name].text_factory = lambda data: data.decode(errors="replace")
    judged, wrong = 0, []
    for file in sorted((SHARED / "oracle" / "spider_dev").glob("*.jsonl")):
        predictions = {row["case_id"]: row["sql"] for row in lines(SHARED / "predictions" / "spider_dev" / file.name)}
        for said in lines(file):
            if said["verdict"].startswith("error"):
                continue
            case = cases[said["case_id"]]
            gold, predicted = (
                fetched(connections[case["db"]], sql) for sql in (case["gold"]["sqlite"], predictions[case["id"]])
            )
            order = exact_order(len(gold.rows)) if case["ordered"] else None
            found = compare(gold, predicted, preset("oracle_spider"), order=order)
            judged += 1
            if found.rule != said["verdict"]:
                wrong.append(f"{file.stem} {case['id']}: {found.rule}, the oracle said {said['verdict']}")
    for connection in connections.values():
        connection.close()
    assert (wrong, judged) == ([], 2758)
