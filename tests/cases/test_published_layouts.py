"""Each published data set loads as its repository lays it out: the shapes are theirs, the rows are made here."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sqlassay.cases.errors import InputError
from sqlassay.cases.formats.registry import load_pack
from sqlassay.cases.left_out import FILE, SHOWN, summed
from sqlassay.cases.predictions import check_known, predictions_of
from sqlassay.cases.writing import write_pack

GRANITE = "wxai:ibm/granite-4-h-small-greedy-zero-shot-chatapi"
LLAMA = "wxai:meta-llama/llama-3-3-70b-instruct-greedy-zero-shot-chatapi"


def database(path: Path) -> None:
    """Write a SQLite file with one table and one row."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (1)")


def written(path: Path, value: object) -> None:
    """Write a JSON file, or text as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value, indent=2), encoding="utf-8")


def spider_row(question: str, **fields: Any) -> dict[str, Any]:
    """Return a Spider row with the parts that its tools read."""
    parsed = {"except": None, "from": {"conds": [], "table_units": [["table_unit", 0]]}, "groupBy": []}
    tokens = {"query_toks": ["SELECT", "n"], "query_toks_no_value": ["select", "n"], "question_toks": question.split()}
    return {"db_id": "pets", "query": "SELECT n FROM t", "question": question, "sql": parsed, **tokens, **fields}


def spider(root: Path) -> Path:
    """Lay Spider's archive out."""
    for name in ("dev.json", "train_spider.json", "train_others.json"):
        written(root / name, [spider_row("How many?"), spider_row("Which?")])
    written(root / "tables.json", [{"db_id": "pets", "column_names": [[-1, "*"]], "table_names": ["t"]}])
    written(root / "dev_gold.sql", "SELECT n FROM t\tpets\nSELECT n FROM t\tpets\n")
    written(root / "README.txt", "Spider\n")
    database(root / "database" / "pets" / "pets.sqlite")
    written(root / "database" / "pets" / "schema.sql", "CREATE TABLE t (n INTEGER);")
    return root


def spider_syn(root: Path) -> Path:
    """Lay Spider-Syn's repository out: two questions a row, no database of its own but one put beside."""
    row = {"db_id": "pets", "SpiderQuestion": "How many?", "query": "SELECT n FROM t"}
    written(root / "Spider-Syn" / "dev.json", [{**row, "SpiderSynQuestion": "What number?"}])
    written(root / "Spider-Syn" / "train_spider.json", [{**row, "SpiderSynQuestion": "What sum?"}])
    written(root / "WorstCaseDevSet" / "Adv(BERT).json", [spider_row("How many ?")])
    database(root / "database" / "pets" / "pets.sqlite")
    return root / "Spider-Syn"


def bird_row(number: int, sql: str, **fields: Any) -> dict[str, Any]:
    """Return one of BIRD's rows."""
    return {"question_id": number, "db_id": "pets", "question": f"q {sql}", "evidence": "n is a number", "SQL": sql} | {
        "difficulty": "simple",
        **fields,
    }


def bird(root: Path) -> Path:
    """Lay BIRD's dev archive out: its databases are zipped in a folder of their own name."""
    written(root / "dev.json", [bird_row(0, "SELECT n FROM t"), bird_row(1, "SELECT 1")])
    written(root / "dev.sql", "SELECT n FROM t\tpets\nSELECT 1\tpets\n")
    written(root / "dev_tables.json", [{"db_id": "pets"}])
    written(root / "dev_tied_append.json", [bird_row(0, "SELECT n FROM t")])
    database(root / "dev_databases" / "dev_databases" / "pets" / "pets.sqlite")
    written(root / "dev_databases" / "dev_databases" / "pets" / "database_description" / "t.csv", "a,b\n")
    return root


def mini_dev(root: Path) -> Path:
    """Lay mini-dev's archive out: an id that stands twice, three dialects, gold files beside."""
    ids = (1471, 137, 137, 138)
    for dialect, mark in (("sqlite", ""), ("mysql", " -- my"), ("postgresql", " -- pg")):
        rows = [bird_row(one, f"SELECT {place}{mark}") for place, one in enumerate(ids)]
        for place, row in enumerate(rows):
            row["question"] = f"q{place}"
        written(root / "MINIDEV" / f"mini_dev_{dialect}.json", rows)
        lines = "".join(f"SELECT {place}{mark}\tpets\n" for place in range(len(ids)))
        written(root / "MINIDEV" / f"mini_dev_{dialect}_gold.sql", lines)
    database(root / "MINIDEV" / "dev_databases" / "pets" / "pets.sqlite")
    answers = {str(place): f"SELECT {place}\t----- bird -----\tpets" for place in range(len(ids))}
    written(root / "exp_result" / "predict_mini_dev_gpt-4_sqlite.json", answers)
    return root / "MINIDEV"


def defog(root: Path) -> Path:
    """Lay sql-eval's data beside defog-data out: many dialects, cells quoted loosely, Postgres scripts alone."""
    question = '"Which ""n"" is it?"'
    header = "db_name,db_type,query_category,query,question,instructions"
    for dialect in ("bigquery", "mysql", "snowflake", "sqlite", "tsql"):
        row = f'pets,{dialect},group_by,"SELECT n FROM t;",{question},"Use n."'
        written(root / "sql-eval" / "data" / f"questions_gen_{dialect}.csv", f"{header}\n{row}\n")
    loose = f'{question},"SELECT {{n, m}} FROM zoo.t"";SELECT 1",pets,group_by,""\n'
    loose = loose.replace('""', '"', 0)
    text = "question,query,db_name,query_category,instructions\n" + loose + 'Two?,"SELECT "n" FROM zoo.t",pets,ratio,\n'
    written(root / "sql-eval" / "data" / "questions_gen_postgres.csv", text)
    written(
        root / "sql-eval" / "data" / "idk.csv",
        "question,instructions,query,db_name,query_category\nWhy?,,SELECT 2,pets,a\n",
    )
    script = "CREATE SCHEMA zoo;\nCREATE TABLE zoo.t (n int, m int);\n"
    written(root / "defog-data" / "defog_data" / "pets" / "pets.sql", script)
    written(root / "defog-data" / "defog_data" / "pets" / "pets.json", {"table_metadata": {}})
    return root / "sql-eval" / "data"


def toolkit(root: Path, *, spider_fields: bool = False) -> Path:
    """Lay IBM's toolkit out: records that have BIRD's or Spider's fields too, pipelines named by provider and model."""
    record = {"id": 5, "db_id": "pets", "question": "How many?", "sql": ["SELECT n FROM t"], "meta": {"categories": []}}
    ours = (
        {"query": "SELECT n FROM t"} if spider_fields else {"question_id": 5, "SQL": "SELECT n FROM t", "evidence": ""}
    )
    record |= ours
    written(root / "data" / "benchmarks" / "x_sqlite.json", [record])
    answers = {
        name: {"predicted_sql": f"SELECT '{name}'", "token_usage": {"total_tokens": 9}} for name in (LLAMA, GRANITE)
    }
    results = root / "data" / "results" / "x_sqlite-predictions.json"
    written(results, [{**record, "utterance": "How many?", "predictions": answers}])
    database(root / "data" / "benchmarks" / "dbs" / "spider" / "database" / "pets" / "pets.sqlite")
    return results


LAYOUTS: dict[str, tuple[Callable[[Path], Path], str, int]] = {
    "Spider": (spider, "spider", 2),
    "Spider, train_others.json": (lambda root: spider(root) / "train_others.json", "spider", 2),
    "Spider-Syn": (spider_syn, "spider", 1),
    "Spider-Syn, one file": (lambda root: spider_syn(root) / "dev.json", "spider", 1),
    "Spider-Syn, worst case": (
        lambda root: spider_syn(root).parent / "WorstCaseDevSet" / "Adv(BERT).json",
        "spider",
        1,
    ),
    "BIRD dev": (bird, "bird", 2),
    "mini-dev": (mini_dev, "bird", 3),
    "mini-dev, one file": (lambda root: mini_dev(root) / "mini_dev_postgresql.json", "bird", 3),
    "defog": (defog, "defog", 3),
    "defog, Postgres": (lambda root: defog(root) / "questions_gen_postgres.csv", "defog", 2),
    "defog, SQLite": (lambda root: defog(root) / "questions_gen_sqlite.csv", "defog", 1),
    "toolkit, benchmark": (
        lambda root: toolkit(root).parents[1] / "benchmarks" / "x_sqlite.json",
        "text2sql-eval-toolkit",
        1,
    ),
    "toolkit, BIRD's fields": (toolkit, "text2sql-eval-toolkit", 1),
    "toolkit, Spider's fields": (lambda root: toolkit(root, spider_fields=True), "text2sql-eval-toolkit", 1),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_layout_loads_as_it_is(tmp_path: Path, name: str) -> None:
    """The format is found out, and every row that can be judged is a case."""
    lay, form, cases = LAYOUTS[name]
    pack = load_pack(lay(tmp_path))
    assert (pack.format, len(pack.cases)) == (form, cases)


def test_spider_syn_asks_its_own_question(tmp_path: Path) -> None:
    """The question with synonyms is the case's."""
    assert load_pack(spider_syn(tmp_path)).cases[0].question == "What number?"


def test_mini_dev_with_its_published_predictions(tmp_path: Path) -> None:
    """Answers keyed by row reach their rows, though two rows share an id; each dialect's gold is the row's own."""
    pack = load_pack(mini_dev(tmp_path))
    file = tmp_path / "exp_result" / "predict_mini_dev_gpt-4_sqlite.json"
    found = check_known(predictions_of(file, pack), pack)
    assert {one.case_id: one.sql for one in found} == {case.id: case.gold["sqlite"][0] for case in pack.cases}
    assert [case.gold["postgres"][0] for case in pack.cases] == [f"{c.gold['sqlite'][0]} -- pg" for c in pack.cases]
    assert pack.left_out == ("row 137 was left out: its id stands twice",)


def test_defog_is_read_as_pythons_csv_reads_it(tmp_path: Path) -> None:
    """A quote inside a quoted cell is kept where Python keeps it; dialects without an adapter are told of."""
    pack = load_pack(defog(tmp_path))
    loose = next(case for case in pack.cases if case.question == "Two?")
    assert loose.gold == {"postgres": ('SELECT n" FROM zoo.t"',)}
    joined = next(case for case in pack.cases if case.question == 'Which "n" is it?')
    assert sorted(joined.gold) == ["mysql", "postgres", "sqlite"]
    assert pack.left_out[:3] == tuple(
        f"dialect {name} has no adapter here: its gold of 1 items was left out"
        for name in ("bigquery", "snowflake", "tsql")
    )
    assert list(pack.snapshot("pets").scripts) == ["postgres"]


def test_pipelines_are_named_with_slash_and_colon(tmp_path: Path) -> None:
    """`FILE#PROVIDER:VENDOR/MODEL` chooses; without one the pipelines are listed; a converted pack holds no records."""
    file = toolkit(tmp_path)
    pack = load_pack(file)
    assert predictions_of(Path(f"{file}#{GRANITE}"), pack)[0].sql == f"SELECT '{GRANITE}'"
    assert predictions_of(Path(f"{file}#{LLAMA}"), pack)[0].sql == f"SELECT '{LLAMA}'"
    assert pack.predictions == file
    with pytest.raises(InputError, match=f"2 pipelines, one is needed. Name one as FILE#PIPELINE: {LLAMA}, {GRANITE}"):
        predictions_of(pack.predictions, pack)
    write_pack(pack, tmp_path / "converted")
    assert load_pack(tmp_path / "converted").predictions is None


def test_rows_that_are_no_cases_are_one_line(tmp_path: Path) -> None:
    """Few are told one by one; many are counted by reason and listed in a file beside a converted pack."""
    rows = [
        spider_row("How many?"),
        *(spider_row("Gone?", db_id="gone") for _ in range(SHOWN)),
        spider_row("No?", query=""),
    ]
    written(tmp_path / "dev.json", rows)
    database(tmp_path / "database" / "pets" / "pets.sqlite")
    pack = load_pack(tmp_path)
    told = f"{SHOWN + 1} rows were left out ({SHOWN}: its database 'gone' is not there; 1: it has no gold SQL), "
    assert summed(pack.left_out, "x.txt") == (f"{told}the first is dev-0001; x.txt names each",)
    assert summed(pack.left_out[:SHOWN]) == pack.left_out[:SHOWN]
    write_pack(pack, tmp_path / "converted")
    assert (tmp_path / "converted" / FILE).read_text().splitlines() == list(pack.left_out)
