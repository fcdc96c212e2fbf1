"""The shop pack's three agents on every engine: each labelled fault gets its verdict and its cause."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import pytest

from sqlassay.cases.formats.registry import load_pack
from sqlassay.cases.presets import preset
from sqlassay.cases.typed_json import relation_from_json
from sqlassay.harness.compare import compare, resolve_policy

SHOP = Path(__file__).parents[2] / "cases" / "packs" / "shop"
ENGINES = [
    pytest.param("sqlite", marks=pytest.mark.jail),
    pytest.param("duckdb", marks=pytest.mark.jail),
    pytest.param("postgres", marks=pytest.mark.docker),
    pytest.param("mysql", marks=pytest.mark.docker),
]
BOUNDS = {"good": (0.9, 1.0), "mediocre": (0.5, 0.9), "careless": (0.0, 0.5)}


def labels(agent: str) -> dict[str, tuple[str, str | None]]:
    """Return the labelled (verdict, cause) of an agent's faulty cases."""
    lines = (SHOP / "labels.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return {row["case_id"]: (row["verdict"], row["cause"]) for row in rows if row["agent"] == agent}


@pytest.mark.parametrize("dialect", ENGINES)
@pytest.mark.parametrize("agent", BOUNDS)
def test_every_labelled_fault_gets_its_verdict_and_cause(cli, agent, dialect):
    """94 answers of an agent: the labelled ones fail as labelled, every other one matches."""
    predictions = SHOP / "predictions" / f"{agent}.jsonl"
    ran = cli("run", str(SHOP), "--dialect", dialect, "--predictions", str(predictions))
    assert ran.code == 0, ran.err
    known = labels(agent)
    said = {r["case_id"]: (r["verdict"], r["cause"]) for r in ran.results}
    wrong = {case: (got, known.get(case)) for case, got in said.items() if got != known.get(case, ("match", None))}
    assert (wrong, len(said)) == ({}, 94)
    low, high = BOUNDS[agent]
    assert low <= (ran.mean("execution_accuracy") or 0) <= high


@pytest.mark.docker
def test_gold_agrees_across_engines(cli, tmp_path):
    """Every gold, executed on all four engines, gives the same relation under `cross_dialect`."""
    import gzip

    from sqlassay.dialect_adapters.registry import adapter
    from sqlassay.harness.parse.parser import Parser

    golds: dict[str, dict[str, tuple]] = {}
    for dialect in ("sqlite", "duckdb", "postgres", "mysql"):
        # The gold predicts itself: rows are kept of predictions that gave some.
        own = tmp_path / f"{dialect}.jsonl"
        cases = [(case.id, case.gold[dialect][0]) for case in load_pack(SHOP).cases]
        own.write_text("".join(json.dumps({"case_id": case_id, "sql": sql}) + "\n" for case_id, sql in cases))
        ran = cli("run", str(SHOP), "--dialect", dialect, "--no-gold-cache", "--predictions", str(own), name=dialect)
        assert ran.code == 0, ran.err
        for result in ran.results:
            path = ran.folder / "relations" / f"{result['case_id']}.0.jsonl.gz"
            sides: dict[str, dict] = {}
            for line in map(json.loads, gzip.decompress(path.read_bytes()).splitlines()):
                sides.setdefault(line["side"], line)  # the gold that counted stands first
            found = {
                side: relation_from_json({"columns": sides[side]["columns"], "rows": sides[side]["rows"]})
                for side in ("gold", "probe")
                if side in sides
            }
            golds.setdefault(result["case_id"], {})[dialect] = (result["gold_sql"], found["gold"], found.get("probe"))
    policy = preset("cross_dialect")
    wrong = []
    with Parser() as parser:
        for case_id, by_dialect in golds.items():
            for one, other in combinations(by_dialect, 2):
                sql, gold, probe = by_dialect[one]
                facts = parser.parse(sql, one, sqlglot_dialect=adapter(one).rules.sqlglot_dialect).order
                resolved, order = resolve_policy(policy, facts=facts, gold=gold, probe=probe)
                verdict = compare(gold, by_dialect[other][1], resolved, order=order)
                if verdict.verdict != "match":
                    wrong.append((case_id, one, other, verdict.reason))
    assert (wrong, len(golds)) == ([], 94)
