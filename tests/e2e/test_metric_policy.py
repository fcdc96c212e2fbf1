"""A metric that compares under a policy says what a run under that policy says: there is one entrance to a verdict."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

_PEERS = ("bird", "spider", "evalbench")
_METRICS = {
    "bird": "bird.execution_accuracy",
    "spider": "spider.execution_accuracy",
    "evalbench": "evalbench.set_match",
}
_CASES = 120
_SCHEMA = """format: 1
tables:
  - name: t
    columns:
      - {name: id, kind: int, nullable: false}
      - {name: grp, kind: text}
      - {name: x, kind: int}
      - {name: note, kind: text}
    primary_key: [id]
"""
_ROWS = "id,grp,x,note\n" + "".join(
    f"{n},{'abc'[n % 3]},{n * 7 % 5},{'order by' if n % 4 else 'plain'}\n" for n in range(1, 13)
)
_COLUMNS = ("id", "grp", "x", "id, grp", "grp, id", "x, x", "grp, x", "x, grp", "note, id", "count(*)", "DISTINCT grp")
_WHERES = (
    *("", "WHERE x > 1", "WHERE id <= 3", "WHERE id > 99", "WHERE note = 'order by'", "WHERE note <> 'ORDER  BY'"),
    *("WHERE id IN (SELECT id FROM t ORDER BY id LIMIT 3)", "WHERE x IN (SELECT max(x) FROM t GROUP BY grp)"),
)
_ORDERS = ("", "", "ORDER BY id", "ORDER BY id DESC", "ORDER BY grp", "ORDER BY x DESC, id", "ORDER BY x LIMIT 4")


def _statement(rng: random.Random) -> str:
    """Return one random statement, now and then with an ORDER BY that orders nothing of its result."""
    columns, where, order = rng.choice(_COLUMNS), rng.choice(_WHERES), rng.choice(_ORDERS)
    text = f"SELECT {columns} FROM t {where}".strip()
    if order and "(" not in columns and "DISTINCT" not in columns:
        text += f" {order}"
    if rng.random() < 0.1:
        text = f"WITH s AS (SELECT * FROM t ORDER BY x, id) {text.replace('FROM t', 'FROM s', 1)}"
    return text + (" -- order by" if rng.random() < 0.05 else "")


def _pair(rng: random.Random) -> tuple[list[str], str]:
    """Return accepted golds with a prediction that is one of them, one written anew, or any other."""
    golds = list(dict.fromkeys(_statement(rng) for _ in range(rng.choice((1, 1, 2)))))
    near = rng.choice(golds)
    choice = rng.random()
    if choice < 0.3:
        return golds, near
    if choice < 0.7:
        again = near.replace("ORDER BY id DESC", "ORDER BY id").replace(
            "id IN (SELECT id FROM t ORDER BY id LIMIT 3)", "id <= 3"
        )
        return golds, again if rng.random() < 0.5 or "LIMIT" in again else f"SELECT * FROM ({again}\n) q"
    return golds, _statement(rng)


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """A pack of random cases, the one that was reported among them."""
    folder = tmp_path / "pack"
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "t.csv").write_text(_ROWS)
    (folder / "schema.yaml").write_text(_SCHEMA)
    header = {"format": 1, "name": "p", "snapshots": {"s": {"schema": "schema.yaml", "data": "data"}}}
    (folder / "pack.yaml").write_text(json.dumps({**header, "cases": ["cases.jsonl"]}))
    rng = random.Random(11)
    pairs = [_pair(rng) for _ in range(_CASES)]
    reported = "SELECT id FROM t WHERE id IN (SELECT id FROM t ORDER BY id LIMIT 3)"
    pairs.append(([reported], "SELECT id FROM t WHERE id <= 3 ORDER BY id DESC"))
    pairs.append((["SELECT id FROM t WHERE x >= 2"], "SELECT id FROM t WHERE x > = 2"))
    cases = [{"id": str(n), "question": "?", "gold": {"sqlite": golds}} for n, (golds, _) in enumerate(pairs)]
    predictions = [{"case_id": str(n), "sql": sql} for n, (_, sql) in enumerate(pairs)]
    (folder / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
    (folder / "predictions.jsonl").write_text("".join(json.dumps(one) + "\n" for one in predictions))
    return folder


@pytest.mark.jail
def test_a_metric_under_a_policy_is_the_run_under_that_policy(cli, pack):
    """On random cases with one or two golds each peer's metric is 1 where its policy gives a match, else 0 or none."""
    common = ("--dialect", "sqlite", "--predictions", str(pack / "predictions.jsonl"), "--store-rows", "none")
    chosen = ",".join(("execution_accuracy", "strict_execution_accuracy", *_METRICS.values()))
    ran = cli("run", str(pack), *common, "--metrics", chosen)
    assert ran.code == 0, ran.out + ran.err
    for policy, metric in {**_METRICS, "strict": "strict_execution_accuracy"}.items():
        under = cli("run", str(pack), *common, "--policy", policy, "--metrics", "execution_accuracy", name=policy)
        assert len(under.verdicts) == _CASES + 2
        assert {"match", "mismatch"} <= set(under.verdicts.values())
        expected = {"match": 1.0, "undecided": None if policy in _PEERS else 0.0}
        apart = {
            (result["case_id"], under.verdicts[result["case_id"]], result["scores"][metric]["value"])
            for result in ran.results
            if _as_one(result["scores"][metric]["value"]) != expected.get(under.verdicts[result["case_id"]], 0.0)
        }
        assert apart == set(), policy
    reported, spaced = ran.results[-2:]
    assert reported["scores"]["spider.execution_accuracy"]["value"] == 0.0
    # Spider's script joins `> =` before it runs a text; to every other rule it is an error.
    assert spaced["verdict"] == "error"
    assert {name: spaced["scores"][name]["value"] for name in _METRICS.values()} == {
        "bird.execution_accuracy": 0.0,
        "spider.execution_accuracy": 1.0,
        "evalbench.set_match": 0.0,
    }


def _as_one(value: float | None) -> float | None:
    """Return a score of 100 as 1."""
    return 1.0 if value == 100 else value
