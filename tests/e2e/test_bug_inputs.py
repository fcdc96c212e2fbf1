"""The handed bug inputs through the real command, on the engines they name; tests/tables/bug_inputs.yaml lists them."""

from __future__ import annotations

import ast
import json
import threading
from collections import Counter
from pathlib import Path
from uuid import uuid4

import pytest
from rows import rows_of

from sqlassay.cases.outcome import Failure, Rows
from sqlassay.cases.snapshot import Snapshot
from sqlassay.cases.sources.scripts import scripts_digest
from sqlassay.cases.verdicts import FailureKind
from sqlassay.dialect_adapters.conformance import run_on
from sqlassay.dialect_adapters.contract import Limits, Mode, Pins
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.sandboxes.pool import Pool
from sqlassay.sandboxes.pool_size import PoolSize
from sqlassay.sandboxes.registry import provider
from sqlassay.sandboxes.station import Station

ROOT = Path(__file__).parents[2]
HANDED = ROOT.parent / "shared" / "data" / "bug_inputs.jsonl"
ROWS = rows_of("bug_inputs")
STARTS = 3
ENDLESS = "SELECT COUNT(*) AS c FROM n a, n b, n c, n d WHERE a.a + b.a + c.a + d.a < 0"
SCHEMA = (
    "CREATE TABLE fruit (name VARCHAR(10)); INSERT INTO fruit VALUES ('apple'), ('apple'), ('pear');"
    "CREATE TABLE people (name VARCHAR(10), born INTEGER); INSERT INTO people VALUES ('x', NULL), ('y', 1990);"
    "CREATE TABLE letters (name VARCHAR(10)); INSERT INTO letters VALUES ('c'), ('a'), ('b');"
    "CREATE TABLE n (a INTEGER); INSERT INTO n VALUES " + ", ".join(f"({number})" for number in range(200)) + ";"
    "CREATE TABLE item (name VARCHAR(10), id INTEGER); INSERT INTO item VALUES ('a', 1), ('b', 2);"
)
OWN = {
    "postgres": "CREATE TABLE m AS SELECT 'SME' AS seg, (i * 0.37)::real AS c FROM generate_series(1, 1000000) g(i);",
    "mysql": "CREATE TABLE flags (b BIT(1)); INSERT INTO flags VALUES (b'1');",
    "sqlite": "",
}
NEIGHBOUR = "INSERT INTO item VALUES ('a', 2);"
ENGINES = [
    pytest.param("sqlite", marks=pytest.mark.jail),
    pytest.param("postgres", marks=pytest.mark.docker),
    pytest.param("mysql", marks=pytest.mark.docker),
]


def scripts(folder: Path) -> dict[str, dict[str, list[str]]]:
    """Write the scripts of both snapshots and return their names, by snapshot and dialect."""
    found: dict[str, dict[str, list[str]]] = {"plain": {}, "neighbour": {}}
    for dialect, own in OWN.items():
        for name, more in (("plain", own), ("neighbour", NEIGHBOUR)):
            (folder / f"{name}.{dialect}.sql").write_text(SCHEMA + more, encoding="utf-8")
            found[name][dialect] = [f"{name}.{dialect}.sql"]
    return found


def questions(dialect: str) -> list[dict]:
    """Return the cases of the table for one dialect, each with an id of its own."""
    found = []
    for row in ROWS:
        asked = [case for case in row["cases"] if dialect in case["dialects"] for _ in range(case.get("times", 1))]
        found += [{**case, "id": f"bug-{row['number']:02}-{place}"} for place, case in enumerate(asked)]
    return found


def written(folder: Path, dialect: str) -> tuple[str, str]:
    """Write the pack and its predictions and return their paths."""
    folder.mkdir()
    asked = questions(dialect)
    header = {
        "format": 1,
        "name": "bugs",
        "snapshots": {name: {"scripts": files} for name, files in scripts(folder).items()},
        "cases": ["cases.jsonl"],
    }
    (folder / "pack.yaml").write_text(json.dumps(header), encoding="utf-8")
    cases = [
        {
            "id": case["id"],
            "question": "?",
            "snapshot": case.get("snapshot", "plain"),
            "gold": {dialect: case["gold"]},
            **({"policy": case["policy"]} if "policy" in case else {}),
        }
        for case in asked
    ]
    (folder / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases), encoding="utf-8")
    answers = folder.parent / "p.jsonl"
    lines = [json.dumps({"case_id": case["id"], "sql": case["sql"]}) + "\n" for case in asked]
    answers.write_text("".join(lines), encoding="utf-8")
    return str(folder), str(answers)


@pytest.mark.parametrize("dialect", ENGINES)
def test_every_bug_input_gets_its_verdict(cli, tmp_path, dialect):
    """Each input ends in the verdict it should have had, for the reason it should have had."""
    pack, answers = written(tmp_path / "pack", dialect)
    limits = ("--timeout", "5", "--gold-timeout", "5", "--row-limit", "1001")
    ran = cli("run", pack, "--dialect", dialect, "--predictions", answers, "--no-gold-cache", "--jobs", "1", *limits)
    assert ran.code == (3 if any(case["verdict"] == "gold_error" for case in questions(dialect)) else 0), ran.err
    results = {result["case_id"]: result for result in ran.results}
    for case in questions(dialect):
        result = results[case["id"]]
        assert result["verdict"] in case["verdict"].split("|"), (case, result["reason"])
        assert case.get("says", "").lower() in result["reason"].lower(), case
        assert case.get("looser", "") in json.dumps(result), case


@pytest.mark.docker
@pytest.mark.parametrize("dialect", ["postgres", "mysql"])
def test_a_ready_server_answers_at_once(tmp_path, dialect):
    """A server that was started answers its first statements: ready means a query was answered, not a line in a log."""
    files = {spoken: (tmp_path / names[0],) for spoken, names in scripts(tmp_path)["neighbour"].items()}
    content = Snapshot("ready", "ready", scripts_digest(files), scripts=files)
    makes = provider("docker")
    try:
        image = makes.prepare(adapter(dialect), (content,), lambda line: None)
        for _ in range(STARTS):
            server = makes.start(adapter(dialect), image, Mode.READ, f"ready-{uuid4().hex[:8]}")
            outcomes = [run_on(server, "SELECT 1 AS one", Limits(), database="ready").outcome for _ in range(5)]
            server.destroy()
            assert all(isinstance(outcome, Rows) and outcome.relation.rows == ((1,),) for outcome in outcomes)
    finally:
        makes.close()


@pytest.mark.parametrize("dialect", ENGINES)
def test_a_killed_server_is_replaced_under_the_same_statement(tmp_path, dialect):
    """A server that dies under a statement costs nobody a verdict: the statement runs again on a fresh one."""
    files = {spoken: (tmp_path / names[0],) for spoken, names in scripts(tmp_path)["neighbour"].items()}
    content = Snapshot("ready", "ready", scripts_digest(files), scripts=files)
    makes = provider("process" if dialect == "sqlite" else "docker")
    try:
        image = makes.prepare(adapter(dialect), (content,), lambda line: None)
        pool = Pool(makes, adapter(dialect), f"lost-{uuid4().hex[:8]}", PoolSize(most=2, ahead=0))
        station = Station(pool, image)
        first = pool.lease(image, Mode.READ, fresh=False)
        pool.release(first, again=True)
        killer = threading.Timer(0.7, first.kill)
        killer.start()
        slow = station.run("ready", ENDLESS, Limits(timeout=2.5), Pins())
        killer.join()
        assert isinstance(slow, Failure)
        assert (slow.kind, pool.figures.started) == (FailureKind.TIMEOUT, 2)
        after = station.run("ready", "SELECT COUNT(*) AS c FROM fruit", Limits(), Pins())
        assert isinstance(after, Rows)
        assert after.relation.rows == ((3,),)
        pool.settle()
        assert pool.drift == ()
    finally:
        makes.close()


def test_each_row_is_proven_by_cases_or_by_tests_that_exist():
    """The tests a row names are there, and no row is without a proof."""
    assert [row["number"] for row in ROWS] == list(range(26))
    for row in ROWS:
        assert row["cases"] or row["covered_by"], row["input"]
        for named in row["covered_by"]:
            file, _, function = named.partition("::")
            tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
            assert function in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}, named


@pytest.mark.skipif(not HANDED.is_file(), reason="the handed bug inputs are not beside the project")
def test_the_table_follows_the_handed_file():
    """Each handed input has its row, in the same order and of the same area."""
    handed = [json.loads(line)["area"] for line in HANDED.read_text(encoding="utf-8").splitlines()]
    assert [row["area"] for row in ROWS] == handed
    assert Counter(handed)["driver types"] == 2
