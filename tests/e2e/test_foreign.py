"""Other benchmarks' files run as they are: an EvalBench setup directory becomes a database on every engine."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

ENGINES = [
    pytest.param("sqlite", "process", marks=pytest.mark.jail),
    pytest.param("postgres", "docker", marks=pytest.mark.docker),
    pytest.param("mysql", "docker", marks=pytest.mark.docker),
]
DIALECTS = ("sqlite", "postgres", "mysql")
ITEM = {"database": "shop", "dialects": list(DIALECTS), "nl_prompt": "?"}
SETUP = "CREATE TABLE goods (id INTEGER PRIMARY KEY, name VARCHAR(40), sold BOOLEAN, price DECIMAL(8, 2));"


def data_set(folder: Path) -> Path:
    """Lay an EvalBench data set out: a query, a change and a definition, one CSV for every dialect."""
    for dialect in DIALECTS:
        place = folder / "setup" / "shop" / dialect
        place.mkdir(parents=True)
        for name, text in (("pre_setup", ""), ("setup", SETUP), ("post_setup", "-- nothing left to do")):
            (place / f"{name}.sql").write_text(text)
    rows = "1,it's,true,1.50\n2,back\\slash,false,null\n3,'ends; here',,3\n"
    (folder / "setup" / "shop" / "data").mkdir()
    (folder / "setup" / "shop" / "data" / "goods.csv").write_text(rows)
    golden = {
        "dql": "SELECT name, price FROM goods WHERE id > 1",
        "dml": "UPDATE goods SET price = 2 WHERE id = 2",
        "ddl": "CREATE TABLE more (n INTEGER)",
    }
    items = [{**ITEM, "id": kind, "query_type": kind, "golden_sql": [sql]} for kind, sql in golden.items()]
    file = folder / "prompts.json"
    file.write_text(json.dumps(items))
    return file


@pytest.mark.parametrize(("dialect", "sandbox"), ENGINES)
def test_evalbench_runs_as_it_is(cli, tmp_path, dialect, sandbox):
    """Right answers match on all three kinds of statement, an UPDATE without WHERE does not; every cell arrived."""
    answers = {
        "dql": "SELECT name, price FROM goods WHERE name IN ('back\\slash', 'ends; here')",
        "dml": "UPDATE goods SET price = 2",
        "ddl": "CREATE TABLE more (n INTEGER)",
    }
    if dialect == "mysql":
        answers["dql"] = answers["dql"].replace("\\", "\\\\")
    predictions = tmp_path / "predictions.jsonl"
    predictions.write_text("".join(json.dumps({"case_id": case, "sql": sql}) + "\n" for case, sql in answers.items()))
    ran = cli(
        "run",
        str(data_set(tmp_path / "set")),
        "--dialect",
        dialect,
        "--sandbox",
        sandbox,
        "--predictions",
        str(predictions),
    )
    assert ran.code == 0, ran.err
    assert ran.verdicts == {"dql": "match", "dml": "mismatch", "ddl": "match"}
    assert next(result for result in ran.results if result["case_id"] == "dql")["gold_shape"] == [2, 2]


@pytest.mark.docker
def test_a_typed_database_is_in_its_vendors_schema_on_postgres(cli, tmp_path):
    """Gold that names the schema of the vendor's script runs on rows that came from a SQLite file."""
    folder = tmp_path / "databases" / "wallet"
    folder.mkdir(parents=True)
    with closing(sqlite3.connect(folder / "wallet.sqlite")) as connection:
        connection.executescript(
            "CREATE TABLE users (id INTEGER, since DATE); INSERT INTO users VALUES (1, '2026-01-05')"
        )
    (folder / "wallet.sql").write_text("CREATE SCHEMA div;\nCREATE TABLE div.users (id int, since date);\n")
    row = "wallet,a,How long?,SELECT since - date '2026-01-01' AS days FROM div.users\n"
    (tmp_path / "q_postgres.csv").write_text(f"db_name,query_category,question,query\n{row}")
    (tmp_path / "p.json").write_text(json.dumps({"q-0000": "SELECT since - DATE '2025-12-31' - 1 FROM div.users"}))
    ran = cli(
        "run", str(tmp_path / "q_postgres.csv"), "--dialect", "postgres", "--predictions", str(tmp_path / "p.json")
    )
    assert ran.code == 0, ran.err
    assert ran.verdicts == {"q-0000": "match"}
