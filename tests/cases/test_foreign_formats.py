"""The files of other benchmarks load as packs as they are, and every row that cannot be judged is told of."""

from __future__ import annotations

import csv
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from rows import rows_of

from sqlassay.cases.errors import InputError
from sqlassay.cases.formats.defog import accepted
from sqlassay.cases.formats.registry import load_pack

CELLS = rows_of("defog_cells")
SHARED = Path(__file__).parents[2].parent / "shared" / "data" / "text2sql"


def database(path: Path, value: int = 1) -> Path:
    """Write a SQLite file with one table and one row."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (n INTEGER)")
        connection.execute("INSERT INTO t VALUES (?)", (value,))
        connection.commit()
    return path


def written(path: Path, value: object) -> Path:
    """Write a JSON file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def spider(root: Path, rows: list[dict[str, Any]], name: str = "dev.json") -> Path:
    """Lay a Spider data set out."""
    database(root / "database" / "pets" / "pets.sqlite")
    written(root / "tables.json", [])
    return written(root / name, rows)


def spider_row(**fields: Any) -> dict[str, Any]:
    """Return one Spider row."""
    return {"db_id": "pets", "query": "SELECT n FROM t", "question": "Which?", "sql": {}, **fields}


def test_spider_folder_and_file(tmp_path: Path) -> None:
    """The folder means its dev.json; the row's number is the case's id; gold is SQLite's."""
    file = spider(tmp_path / "spider", [spider_row(), spider_row(question="Again?")])
    for path in (tmp_path / "spider", file):
        pack = load_pack(path)
        assert pack.format == "spider"
        assert [case.id for case in pack.cases] == ["dev-0000", "dev-0001"]
        assert pack.cases[1].question == "Again?"
        assert pack.cases[0].gold == {"sqlite": ("SELECT n FROM t",)}
        assert pack.snapshot("pets").database == "pets"


def test_spider_train_file_alone(tmp_path: Path) -> None:
    """A folder without dev.json is read by its train file."""
    spider(tmp_path, [spider_row()], "train_spider.json")
    assert load_pack(tmp_path).cases[0].id == "train_spider-0000"


def test_test_suite_neighbours_are_further_snapshots(tmp_path: Path) -> None:
    """Other SQLite files in a database's folder hold the same schema with other rows: the test suite."""
    spider(tmp_path, [spider_row()])
    for number in (1, 2):
        database(tmp_path / "database" / "pets" / f"pets_fuzz{number}.sqlite", number)
    pack = load_pack(tmp_path)
    assert pack.cases[0].snapshot == "pets"
    assert pack.cases[0].extra_snapshots == ("pets--pets_fuzz1", "pets--pets_fuzz2")
    assert len({snapshot.database for snapshot in pack.snapshots}) == 3


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (spider_row(query=""), "it has no gold SQL"),
        (spider_row(query=None), "it has no gold SQL"),
        (spider_row(db_id="gone"), "its database 'gone' is not there"),
        (spider_row(db_id="../pets"), "its database '../pets' is not there"),
        (spider_row(db_id=None), "it names no database"),
        (7, "it is no object"),
    ],
)
def test_strange_row_is_left_out_with_its_reason(tmp_path: Path, row: object, reason: str) -> None:
    """One bad row costs itself alone, and its line names its id and why."""
    spider(tmp_path, [spider_row(), row])  # type: ignore[list-item]
    pack = load_pack(tmp_path)
    assert [case.id for case in pack.cases] == ["dev-0000"]
    assert pack.left_out == (f"row dev-0001 was left out: {reason}",)
    assert [row_id for row_id, *_ in pack.rows] == ["dev-0000", "dev-0001"]


def test_nothing_left_is_one_clear_error(tmp_path: Path) -> None:
    """A data set without its databases, or without any usable row, ends with what to do."""
    written(tmp_path / "dev.json", [spider_row()])
    with pytest.raises(InputError, match="none of its databases was found.*DB/DB.sqlite"):
        load_pack(tmp_path)
    spider(tmp_path, [spider_row(query=""), spider_row(db_id="gone")])
    with pytest.raises(InputError, match="none of its databases was found"):
        load_pack(tmp_path)


def bird_row(number: int, **fields: Any) -> dict[str, Any]:
    """Return one BIRD row."""
    row = {"question_id": number, "db_id": "pets", "question": "Which?", "evidence": "n is a number"}
    return {**row, "SQL": "SELECT n FROM t", "difficulty": "simple", **fields}


def test_bird_reads_evidence_and_difficulty(tmp_path: Path) -> None:
    """BIRD's dev set: question_id is the case's id."""
    database(tmp_path / "dev_databases" / "dev_databases" / "pets" / "pets.sqlite")
    written(tmp_path / "dev.json", [bird_row(11), bird_row(12, difficulty="challenging", evidence="")])
    pack = load_pack(tmp_path)
    assert (pack.format, [case.id for case in pack.cases]) == ("bird", ["11", "12"])
    assert (pack.cases[0].evidence, pack.cases[0].difficulty) == ("n is a number", "simple")
    assert (pack.cases[1].evidence, pack.cases[1].difficulty) == (None, "challenging")


def test_mini_dev_joins_the_golds_of_its_dialects(tmp_path: Path) -> None:
    """Files that differ by their dialect alone give one case with gold for each; a file alone is itself."""
    database(tmp_path / "dev_databases" / "pets" / "pets.sqlite")
    sqlite = written(tmp_path / "mini_dev_sqlite.json", [bird_row(5), bird_row(9)])
    written(tmp_path / "mini_dev_postgresql.json", [bird_row(5, SQL="SELECT n FROM pg"), bird_row(9)])
    written(tmp_path / "mini_dev_mysql.json", [bird_row(9, SQL="SELECT n FROM my"), bird_row(5)])
    first, second = load_pack(tmp_path).cases
    assert first.gold == {
        "sqlite": ("SELECT n FROM t",),
        "postgres": ("SELECT n FROM pg",),
        "mysql": ("SELECT n FROM t",),
    }
    assert second.gold["mysql"] == ("SELECT n FROM my",)
    assert list(load_pack(sqlite).cases[0].gold) == ["sqlite"]
    written(tmp_path / "mini_dev_mysql.json", [bird_row(6)])
    with pytest.raises(InputError, match=r"mini_dev_mysql.json: question 6 is not in mini_dev_sqlite.json"):
        load_pack(tmp_path)


def test_bird_gold_beside_the_questions(tmp_path: Path) -> None:
    """Where the rows have no SQL, a gold file of as many lines has it; another number of lines is refused."""
    database(tmp_path / "test_databases" / "pets" / "pets.sqlite")
    rows = [{key: value for key, value in bird_row(n).items() if key != "SQL"} for n in (1, 2)]
    written(tmp_path / "test.json", rows)
    (tmp_path / "test_gold.sql").write_text("SELECT 1\tpets\nSELECT 2\tpets\n")
    assert [case.gold["sqlite"] for case in load_pack(tmp_path).cases] == [("SELECT 1",), ("SELECT 2",)]
    (tmp_path / "test_gold.sql").write_text("SELECT 1\tpets\n")
    with pytest.raises(InputError, match="1 gold lines for 2 questions"):
        load_pack(tmp_path)


def test_question_ids_that_stand_twice(tmp_path: Path) -> None:
    """The first keeps the id, the second is told of."""
    database(tmp_path / "dev_databases" / "pets" / "pets.sqlite")
    written(tmp_path / "dev.json", [bird_row(1), bird_row(1)])
    assert load_pack(tmp_path).left_out == ("row 1 was left out: its id stands twice",)


@pytest.mark.parametrize("row", CELLS, ids=[row["name"] for row in CELLS])
def test_defog_cell(row: dict[str, Any]) -> None:
    """A cell stands for exactly these queries."""
    if "refused" in row:
        with pytest.raises(ValueError, match=row["refused"]):
            accepted(row["cell"])
    else:
        assert list(accepted(row["cell"])) == row["accepted"]


def questions(path: Path, *rows: tuple[str, str, str], extra: str = "") -> Path:
    """Write a question file of defog."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["db_name", "query_category", "question", "query", *([extra] if extra else [])])
        for db, question, query in rows:
            writer.writerow([db, "group_by", question, query, *(["Use n."] if extra else [])])
    return path


def test_defog_reads_alternatives_and_joins_dialects(tmp_path: Path) -> None:
    """One cell gives several accepted golds; the files of other dialects join by database and question."""
    database(tmp_path / "databases" / "pets" / "pets.sqlite")
    questions(tmp_path / "questions_gen_postgres.csv", ("pets", "Which?", "SELECT {n, m} FROM t; SELECT 1"))
    questions(tmp_path / "questions_gen_sqlite.csv", ("pets", "Which?", "SELECT n FROM t"), extra="instructions")
    pack = load_pack(tmp_path)
    assert (pack.format, pack.cases[0].id, pack.cases[0].tags) == ("defog", "questions_gen-0000", ("group_by",))
    assert pack.cases[0].gold["postgres"] == (
        "SELECT n FROM t",
        "SELECT m FROM t",
        "SELECT n, m FROM t",
        "SELECT 1",
    )
    assert pack.cases[0].gold["sqlite"] == ("SELECT n FROM t",)
    alone = load_pack(tmp_path / "questions_gen_sqlite.csv")
    assert (list(alone.cases[0].gold), alone.cases[0].evidence) == (["sqlite"], "Use n.")


def test_defog_script_is_a_snapshot(tmp_path: Path) -> None:
    """A database that is there as defog's Postgres script alone serves that dialect."""
    (tmp_path / "defog_data" / "pets").mkdir(parents=True)
    (tmp_path / "defog_data" / "pets" / "pets.sql").write_text("CREATE TABLE t (n int);")
    questions(tmp_path / "q.csv", ("pets", "Which?", "SELECT n FROM t"), ("pets", "Broken?", "SELECT {n FROM t"))
    pack = load_pack(tmp_path / "q.csv")
    assert list(pack.snapshot("pets").scripts) == ["postgres"]
    assert pack.left_out == ("row q-0001 was left out: a brace of its gold is not closed",)


def item(number: int, **fields: Any) -> dict[str, Any]:
    """Return one EvalBench item."""
    made = {"id": number, "nl_prompt": "Which?", "query_type": "DQL", "database": "pets", "dialects": ["sqlite"]}
    return {**made, "golden_sql": {"sqlite": ["SELECT n FROM t"]}, "tags": ["easy"], "other": {}, **fields}


def evalbench(root: Path, items: list[dict[str, Any]]) -> Path:
    """Lay an EvalBench data set with a setup directory out."""
    setup = root / "setup" / "pets"
    for dialect in ("sqlite", "postgres"):
        (setup / dialect).mkdir(parents=True, exist_ok=True)
        (setup / dialect / "pre_setup.sql").write_text("-- nothing\n")
        (setup / dialect / "setup.sql").write_text("CREATE TABLE t (n INTEGER, s TEXT, b BOOLEAN);")
        (setup / dialect / "post_setup.sql").write_text("")
    (setup / "data").mkdir(exist_ok=True)
    (setup / "data" / "t.csv").write_text("1,it's,true\n2,'quoted',false\nnull,\"a, b\",\n")
    return written(root / "prompts.json", items)


def test_evalbench_standard(tmp_path: Path) -> None:
    """Items, query types and dialect lists become cases; the setup directory becomes scripts, rows among them."""
    change = item(2, query_type="dml", golden_sql={"sqlite": "DELETE FROM t"}, eval_query={"sqlite": ["SELECT 1"]})
    far = item(3, dialects=["bigquery"], golden_sql={"bigquery": ["SELECT 1"]})
    file = evalbench(
        tmp_path / "set", [item(1, golden_sql={"postgresql": ["A"], "sqlite": "B"}, dialects=[]), change, far]
    )
    pack = load_pack(file)
    assert pack.format == "evalbench"
    assert pack.cases[0].gold == {"postgres": ("A",), "sqlite": ("B",)}
    assert (pack.cases[1].query_type, pack.cases[1].eval_query) == ("dml", {"sqlite": ("SELECT 1",)})
    assert pack.left_out[0] == "dialect bigquery has no adapter here: its gold of 1 items was left out"
    assert "row 3 was left out: its dialects (bigquery) have no adapter here" in pack.left_out[1]
    scripts = pack.snapshot("pets").scripts
    assert [path.name for path in scripts["sqlite"]][:1] == ["setup.sql"]
    assert scripts["sqlite"][1].read_text() == (
        "INSERT INTO \"t\" VALUES\n('1', 'it''s', TRUE),\n('2', 'quoted', FALSE),\n(NULL, 'a, b', NULL);\n"
    )


def test_evalbench_run_config_filters(tmp_path: Path) -> None:
    """The run config names the files and chooses dialects, databases and query types; no key means all."""
    evalbench(tmp_path / "datasets" / "bat", [item(1), item(2, query_type="ddl"), item(3, database="other")])
    config = tmp_path / "datasets" / "bat" / "run.yaml"
    config.write_text(
        "dataset_config: datasets/bat/prompts.json\nsetup_directory: datasets/bat/setup\nquery_types: [dql]\n"
    )
    pack = load_pack(config)
    assert [case.id for case in pack.cases] == ["1"]
    assert pack.left_out == ("row 3 was left out: its database 'other' is not there",)
    config.write_text("dataset_config: gone.json\n")
    with pytest.raises(InputError, match=r"run.yaml:1:dataset_config: nothing at 'gone.json'"):
        load_pack(config)


def test_evalbench_bird_standard(tmp_path: Path) -> None:
    """The bird-standard format: missing fields may stand under `other`."""
    database(tmp_path / "pets" / "pets.sqlite")
    row = {
        "id": 4,
        "db_id": "pets",
        "other": {"question": "Which?", "evidence": "e"},
        "golden_sql": {"sqlite": "SELECT 1"},
    }
    pack = load_pack(written(tmp_path / "prompts.json", [{**row, "question_id": 4}]), format="evalbench")
    assert (pack.cases[0].id, pack.cases[0].question, pack.cases[0].evidence) == ("4", "Which?", "e")


def test_uneven_csv_is_refused(tmp_path: Path) -> None:
    """A row of another length has no place in the table; the error names file and line."""
    file = evalbench(tmp_path, [item(1)])
    (tmp_path / "setup" / "pets" / "data" / "t.csv").write_text("1,a,true\n2,b\n")
    with pytest.raises(InputError, match=r"t.csv:2: row 2 has 2 cells, the first has 3"):
        load_pack(file)


def test_sqlas_test_cases(tmp_path: Path) -> None:
    """A list beside one SQLite file, or an object that names it; gold_sqls are further accepted queries."""
    database(tmp_path / "my.db")
    cases = [
        {"question": "Which?", "gold_sql": "SELECT n FROM t", "gold_sqls": ["SELECT 1"], "category": "easy"},
        {"question": "None?", "gold_sql": None},
    ]
    pack = load_pack(written(tmp_path / "cases.json", cases))
    assert (pack.format, pack.cases[0].tags) == ("sqlas", ("easy",))
    assert pack.cases[0].gold == {"sqlite": ("SELECT n FROM t", "SELECT 1")}
    assert pack.left_out == ("row case-0002 was left out: it has no gold SQL",)
    named = load_pack(written(tmp_path / "named.json", {"db_path": "my.db", "test_cases": cases}))
    assert named.format == "sqlas"
    database(tmp_path / "other.db")
    with pytest.raises(InputError, match="2 SQLite files beside the test cases"):
        load_pack(tmp_path / "cases.json")


def test_toolkit_records(tmp_path: Path) -> None:
    """IBM's records: accepted SQL as a list, and the predictions of their one pipeline."""
    database(tmp_path / "database" / "pets" / "pets.sqlite")
    record = {
        "id": 5,
        "question_id": 5,
        "db_id": "pets",
        "utterance": "Which?",
        "sql": ["SELECT n FROM t", "SELECT 1"],
        "predictions": {"model-a": {"predicted_sql": "SELECT 2", "token_usage": {"total_tokens": 12}}},
    }
    pack = load_pack(written(tmp_path / "x-predictions.json", [record, {**record, "id": 6, "predictions": {}}]))
    assert (pack.format, pack.cases[0].question) == ("text2sql-eval-toolkit", "Which?")
    assert pack.cases[0].gold == {"sqlite": ("SELECT n FROM t", "SELECT 1")}
    assert [(one.case_id, one.sql, one.tokens) for one in pack.inline_predictions] == [("5", "SELECT 2", 12)]


def test_caselist(tmp_path: Path) -> None:
    """Lines with their database's name; a wrong one costs itself."""
    database(tmp_path / "databases" / "pets" / "pets.sqlite")
    lines = [
        {"id": "a", "db": "pets", "question": "Which?", "gold": {"sqlite": ["SELECT 1", "SELECT 2"]}},
        {"id": "b", "db": "pets", "gold": {"sqlite": "  "}},
    ]
    file = tmp_path / "cases" / "list.jsonl"
    file.parent.mkdir()
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    pack = load_pack(file)
    assert (pack.format, pack.cases[0].gold) == ("caselist", {"sqlite": ("SELECT 1", "SELECT 2")})
    assert pack.left_out == ("row b was left out: it has no gold SQL",)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the handed text2sql data is not here")
@pytest.mark.parametrize(
    ("name", "cases", "snapshots"), [("chinook", 48, 1), ("defog", 142, 5), ("spider_dev", 575, 9)]
)
def test_handed_lists_load_whole(name: str, cases: int, snapshots: int) -> None:
    """Every handed case is one of ours, on every database it names."""
    pack = load_pack(SHARED / "cases" / f"{name}.jsonl")
    assert (len(pack.cases), len(pack.snapshots), pack.left_out) == (cases, snapshots, ())


@pytest.mark.parametrize("script", ["postgres_original.sql", "pets.sql"])
def test_a_typed_database_keeps_the_schemas_of_its_vendors_script(tmp_path: Path, script: str) -> None:
    """Tables that the Postgres script beside makes in a schema are moved there; SQLite has the file alone."""
    folder = tmp_path / "databases" / "pets"
    with closing(sqlite3.connect(database(folder / "pets.sqlite"))) as connection:
        connection.execute("CREATE TABLE plain (n INTEGER)")
    (folder / script).write_text(
        'CREATE SCHEMA zoo;\nCREATE TABLE zoo.t (n int);\nCREATE TABLE IF NOT EXISTS "zoo"."gone" (n int);\n'
        "CREATE TABLE plain (n int);\nCREATE TABLE public.plain (n int);\n"
    )
    questions(tmp_path / "q_postgres.csv", ("pets", "Which?", "SELECT n FROM zoo.t"))
    scripts = load_pack(tmp_path / "q_postgres.csv").snapshot("pets").scripts
    assert {dialect: [path.read_text() for path in paths] for dialect, paths in scripts.items()} == {
        "postgres": ['CREATE SCHEMA "zoo";\nALTER TABLE "t" SET SCHEMA "zoo";\n']
    }
