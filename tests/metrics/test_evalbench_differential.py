"""Random triples of gold, prediction and rows, scored by us and by EvalBench's wheel: equal, or no value and why."""

from __future__ import annotations

import json
import random
import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from made_evidence import SCRIPT, Maker

from sqlassay.harness.metrics.evalbench_compat import METRICS
from sqlassay.harness.results.fetched import unique_names

_HOME = Path(f"{sys.prefix}-peers")
_PATTERN = r"(?i)group by"
_COLUMNS = {
    "customers": ["id", "name", "region", "email", "active"],
    "orders": ["id", "customer_id", "amount", "status", "day"],
    "numbers": ["n"],
}
_VALUES = {
    "region": "'north'",
    "status": "'paid'",
    "name": "'Ann'",
    "active": "1",
    "amount": "10.5",
    "n": "7",
    "id": "2",
}


def _query(rng: random.Random) -> str:
    """Return a random query on the small database."""
    table = rng.choice(list(_COLUMNS))
    columns = _COLUMNS[table]
    chosen = [rng.choice(columns) for _ in range(rng.choice((1, 1, 2, 3)))]
    if rng.random() < 0.2:
        key = rng.choice(columns)
        call = rng.choice(("count(*)", f"max({rng.choice(columns)})", f"sum({rng.choice(columns)})"))
        return f"SELECT {key}, {call} FROM {table} GROUP BY {key}"
    text = f"SELECT {'DISTINCT ' if rng.random() < 0.2 else ''}{', '.join(chosen)} FROM {table}"
    known = [name for name in columns if name in _VALUES]
    if rng.random() < 0.5 and known:
        name = rng.choice(known)
        text += f" WHERE {name} {rng.choice(('=', '<>', '>', '<='))} {_VALUES[name]}"
    if rng.random() < 0.4:
        text += f" ORDER BY {rng.choice(chosen)}{rng.choice(('', ' DESC'))}"
    return text + (f" LIMIT {rng.randint(1, 5)}" if rng.random() < 0.2 else "")


_ODD = (
    *(
        "DELETE FROM orders",
        "DROP TABLE orders",
        "UPDATE orders SET amount = 0",
        "PRAGMA table_info(orders)",
        "SELECT 1;;",
    ),
    *(
        "```sql\n{}\n```",
        "`{}`",
        "{}; SELECT 1",
        "SELECT 1; {}",
        "-- {}",
        "/* {} */",
        "{} -- done",
        "",
        "   ",
        "SELEC id FROM t",
    ),
    *(
        "SELECT name FROM sqlite_master",
        "SELECT ':x' FROM customers",
        "SELECT nope FROM customers",
        "SELECT id FROM nowhere",
    ),
    *(
        "SELECT `id` FROM customers",
        "SELECT  name  FROM  customers",
        "SELECT 'a\\b' AS t",
        "EXPLAIN {}",
        "VALUES (1), (2)",
    ),
    *(
        "SELECT null, null FROM orders",
        "SELECT id AS a, id AS a FROM orders",
        "WITH c AS ({}) SELECT * FROM c",
        "SELECT json('[1]')",
    ),
    *(
        "SELECT 1e400",
        "SELECT x'00ff'",
        "SELECT 9223372036854775807 + 1",
        "SELECT nofunction(1)",
        "SELECT load_extension('x')",
    ),
)


def _prediction(rng: random.Random, gold: str) -> str:
    """Return a prediction: the gold, the gold with one thing changed, another query, or something odd."""
    choice = rng.random()
    if choice < 0.2:
        return gold
    if choice < 0.5:
        changes = (
            (" DESC", ""),
            ("SELECT ", "select "),
            ("DISTINCT ", ""),
            (" = ", " >= "),
            ("FROM", "\nFROM"),
            ("id", "id AS x"),
        )
        return gold.replace(*rng.choice(changes), 1)
    return _query(rng) if choice < 0.75 else rng.choice(_ODD).replace("{}", rng.choice((gold, _query(rng))))


def _as_they_run(sql: str, statement: str) -> dict[str, Any]:
    """Return what EvalBench's SQLite connector gives: the first statement of the text, rolled back, rows as dicts."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        connection.executescript(SCRIPT)
        connection.execute("BEGIN")
        if not sql.strip():
            return {}
        if ":x" in sql:
            return {"error": "A value is required for bind parameter 'x'"}
        cursor = connection.execute(statement)
        names = unique_names([column[0] for column in cursor.description or ()])
        return {"dicts": [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]}
    except (sqlite3.Error, sqlite3.Warning) as error:
        return {"error": str(error)}
    finally:
        connection.close()


def _first(sql: str) -> str:
    """Return the first statement of a text whose literals hold no semicolon."""
    return sql.split(";", 1)[0] if ";" in sql else sql


def _storable(run: dict[str, Any]) -> bool:
    """Return whether a result can be told to the other process as it is."""
    try:
        return json.loads(json.dumps(run)) == run
    except (TypeError, ValueError):
        return False


def _differ(count: int, seed: int) -> tuple[Counter[str], Counter[str], list[str]]:
    """Return how many scores were equal and how many had no value by reason, and every difference."""
    if not (_HOME / ".ready").is_file():
        pytest.skip(f"no wheels in {_HOME.name}: `make check` puts them there where PyPI answers")
    rng = random.Random(seed)
    triples = []
    while len(triples) < count:
        gold = _query(rng)
        predicted = _prediction(rng, gold)
        runs = _as_they_run(gold, gold), _as_they_run(predicted, _first(predicted))
        if all(map(_storable, runs)):
            triples.append((gold, predicted, runs))
    pairs = [
        {"gold": gold, "predicted": predicted, "gold_run": runs[0], "predicted_run": runs[1], "only": "evalbench"}
        for gold, predicted, runs in triples
    ]
    done = subprocess.run(
        [_HOME / "bin" / "python", "-I", Path(__file__).with_name("peer_scores.py")],
        input=json.dumps({"columns": {}, "pattern": _PATTERN, "pairs": pairs}),
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    equal: Counter[str] = Counter()
    without: Counter[str] = Counter()
    apart: list[str] = []
    options = {"evalbench.regexp_matcher_compat.regexp_string_list": [_PATTERN]}
    with Maker() as maker:
        for (gold, predicted, _), said in zip(triples, json.loads(done.stdout), strict=True):
            evidence = maker.make(gold, predicted, others=("evalbench",), options=options)
            for metric in METRICS:
                ours, theirs = metric.compute(evidence, None), said["evalbench"][metric.name.removeprefix("evalbench.")]
                if ours.value is None:
                    without[ours.reason.partition(":")[0]] += 1
                elif ours.value == pytest.approx(theirs, abs=1e-9):
                    equal[metric.name] += 1
                else:
                    apart.append(
                        f"{metric.name}: ours {ours.value} ({ours.reason}), theirs {theirs}: {gold!r} / {predicted!r}"
                    )
    return equal, without, apart


@pytest.mark.parametrize(("count", "seed"), [(200, 3), pytest.param(2000, 4, marks=pytest.mark.slow)])
@pytest.mark.slow
def test_every_compat_score_is_theirs_or_has_no_value(count: int, seed: int) -> None:
    """No score of ours is another number than EvalBench's; what has none is what runs otherwise there, and says so."""
    equal, without, apart = _differ(count, seed)
    assert apart == []
    assert set(equal) == {metric.name for metric in METRICS}
    assert equal.total() > 0.85 * count * len(METRICS), (equal, without)
    assert without["the statement was refused here, and EvalBench has no guard"] > 0
