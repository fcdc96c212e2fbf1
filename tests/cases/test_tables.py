"""Tables that people bring are read in every shape, whole, and their columns are guessed alike in all of them."""

from __future__ import annotations

import csv
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from rows import rows_of

from sqlassay.cases.columns import guess
from sqlassay.cases.errors import InputError
from sqlassay.cases.formats.registry import load_pack
from sqlassay.cases.formats.table import NEEDED, ROLES
from sqlassay.cases.pack import Pack
from sqlassay.cases.predictions import check_known, predictions_of
from sqlassay.cases.tables import choices, named_part, read_table

GUESSES = rows_of("columns")
HEADER = ("id", "question", "sql")
ROWS = (("a", 'Which, "and" how?', "SELECT 1, 2"), ("b", "Zwei\nZeilen; äöü?", 'SELECT "x;y"'))


def delimited(path: Path, *, mark: str = ",", encoding: str = "utf-8", first: str = "", end: str = "\n") -> Path:
    """Write the rows with a separator."""
    with path.open("w", encoding=encoding, newline="") as stream:
        stream.write(first)
        writer = csv.writer(stream, delimiter=mark, lineterminator=end)
        writer.writerows((HEADER, *ROWS))
    return path


def json_list(path: Path) -> Path:
    """Write the rows as one JSON list."""
    path.write_text(json.dumps([dict(zip(HEADER, row, strict=True)) for row in ROWS]))
    return path


def json_lines(path: Path) -> Path:
    """Write the rows as JSON lines."""
    path.write_text("".join(json.dumps(dict(zip(HEADER, row, strict=True))) + "\n" for row in ROWS))
    return path


def under_a_key(path: Path) -> Path:
    """Write the rows as the list of an object."""
    path.write_text(json.dumps({"version": "1", "data": [dict(zip(HEADER, row, strict=True)) for row in ROWS]}))
    return path


def excel(path: Path) -> Path:
    """Write the rows on a workbook's second sheet, behind an empty one."""
    openpyxl = pytest.importorskip("openpyxl", reason="the extra `excel` is not installed")
    book = openpyxl.Workbook()
    sheet = book.create_sheet("Fragen")
    for row in (HEADER, *ROWS):
        sheet.append(row)
    book.save(path)
    return path


SHAPES = {
    "comma.csv": delimited,
    "semicolon.csv": lambda path: delimited(path, mark=";"),
    "tab.tsv": lambda path: delimited(path, mark="\t"),
    "pipe.csv": lambda path: delimited(path, mark="|"),
    "bom.csv": lambda path: delimited(path, encoding="utf-8-sig", end="\r\n"),
    "utf16.csv": lambda path: delimited(path, encoding="utf-16", mark="\t"),
    "sep.csv": lambda path: delimited(path, mark=";", first="sep=;\r\n", end="\r\n"),
    "list.json": json_list,
    "lines.jsonl": json_lines,
    "key.json": under_a_key,
    "book.xlsx": excel,
}


@pytest.mark.parametrize("name", SHAPES)
def test_every_shape_gives_the_same_cases(tmp_path: Path, name: str) -> None:
    """A table beside one SQLite file is a pack, whatever it is written in."""
    database(tmp_path / "shop.sqlite")
    pack = load_pack(SHAPES[name](tmp_path / name))
    assert (pack.format, pack.left_out) == ("table", ())
    assert [(case.id, case.question, case.gold) for case in pack.cases] == [
        (row[0], row[1], {"sqlite": (row[2],)}) for row in ROWS
    ]


@pytest.mark.parametrize("name", SHAPES)
def test_every_shape_is_read_as_predictions_too(tmp_path: Path, name: str) -> None:
    """The same table, given as predictions, answers each case by its id."""
    database(tmp_path / "shop.sqlite")
    pack = load_pack(delimited(tmp_path / "questions.csv"))
    found = check_known(predictions_of(SHAPES[name](tmp_path / name), pack), pack)
    assert [(one.case_id, one.sql) for one in found] == [(row[0], row[2]) for row in ROWS]


@pytest.mark.parametrize("row", GUESSES, ids=[" ".join(row["header"]) for row in GUESSES])
def test_columns_are_guessed(tmp_path: Path, row: dict[str, Any]) -> None:
    """A column plays its role by its name and content; what fits twice, or not at all, is asked for."""
    path = tmp_path / "t.csv"
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows((row["header"], row["row"]))
    if "fault" in row:
        with pytest.raises(InputError, match=row["fault"]):
            guess(read_table(path), ROLES, NEEDED, choices(row.get("named", "")))
        return
    found = guess(read_table(path), ROLES, NEEDED, choices(row.get("named", "")))
    assert (dict(found.columns), dict(found.gold)) == (row["roles"], row.get("gold", {}))


def test_the_guess_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A person reads which column was taken for what, and which was not used."""
    database(tmp_path / "shop.sqlite")
    (tmp_path / "q.csv").write_text("Nr;Frage;SQL;Autor\n1;Wie viele?;SELECT 1;Ada\n")
    load_pack(tmp_path / "q.csv")
    told = "columns of q.csv (separated by semicolon): id = Nr, gold = SQL, question = Frage; not used: Autor"
    assert told in caplog.text


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            "id,question,sql\n1,How many?,SELECT a, b FROM t\n",
            r"q.csv:2: record has 4 cells for 3 columns.*double quotes",
        ),
        ('id,question,sql\n1,How many?,"SELECT 1\n2,Which?,SELECT 2\n', "q.csv:2: quote is never closed"),
        ("", "no column is clearly the question"),
    ],
)
def test_a_table_is_never_cut(tmp_path: Path, text: str, fault: str) -> None:
    """A cell that would lose its end is refused at its line."""
    (tmp_path / "q.csv").write_text(text)
    with pytest.raises(InputError, match=fault):
        load_pack(tmp_path / "q.csv")


def test_bytes_of_another_encoding_are_refused_at_their_line(tmp_path: Path) -> None:
    """Text of an old code page is no UTF-8."""
    (tmp_path / "q.csv").write_bytes("id;question;sql\n1;Für wen?;SELECT 1\n".encode("cp1252"))
    with pytest.raises(InputError, match=r"q.csv:2: not UTF-8 text"):
        load_pack(tmp_path / "q.csv")


def test_a_table_names_its_databases(tmp_path: Path) -> None:
    """A column of databases is looked up in the folder beside; without one, exactly one SQLite file is needed."""
    database(tmp_path / "databases" / "pets" / "pets.sqlite")
    file = tmp_path / "q.csv"
    file.write_text("db_id,question,sql\npets,How many?,SELECT 1\ngone,Which?,SELECT 2\n")
    pack = load_pack(file)
    assert ([case.id for case in pack.cases], pack.cases[0].snapshot) == (["row-0001"], "pets")
    assert pack.left_out == ("row row-0002 was left out: its database 'gone' is not there",)
    file.write_text("question,sql\nHow many?,SELECT 1\n")
    with pytest.raises(InputError, match="0 SQLite files beside the questions.*sqlassay init DIR --from SOURCE"):
        load_pack(file)


def test_rows_of_the_skill_and_of_benchmarks_keep_their_formats(tmp_path: Path) -> None:
    """A list of question and sql is a table, one with ground_truth_sql the Skill's, one with gold_sql SQLAS'."""
    database(tmp_path / "shop.sqlite")
    file = tmp_path / "q.json"
    file.write_text(json.dumps([{"question": "How many?", "sql": "SELECT 1"}]))
    assert load_pack(file).format == "table"
    file.write_text(json.dumps([{"question": "How many?", "gold_sql": "SELECT 1"}]))
    assert load_pack(file).format == "sqlas"
    file.write_text(json.dumps([{"id": "a", "question": "How many?", "ground_truth_sql": "SELECT 1"}]))
    with pytest.raises(InputError, match="no data source is configured"):
        load_pack(file)


def test_order_types_and_predictions_in_the_rows(tmp_path: Path) -> None:
    """Further columns say what our own cases say; a prediction may stand in its question's row."""
    database(tmp_path / "shop.sqlite")
    (tmp_path / "q.csv").write_text(
        "id,question,gold,prediction,ordered,tags,query_type\n"
        "1,How many?,SELECT 1,SELECT 2,yes,easy,\n"
        "2,Drop?,DELETE FROM t,,,,dml\n"
        "3,What?,SELECT 3,,,,other\n"
    )
    pack = load_pack(tmp_path / "q.csv")
    first, second = pack.cases
    assert (first.order_required, first.tags, second.order_required, second.query_type) == (
        True,
        ("easy",),
        None,
        "dml",
    )
    assert [(one.case_id, one.sql) for one in pack.inline_predictions] == [("1", "SELECT 2")]
    assert pack.left_out == ("row 3 was left out: query_type 'other' is none of dql, dml, ddl",)


PREDICTIONS = {
    "ids.csv": "case_id,sql\nb,B\na,A\n",
    "words.csv": "id;question;Predicted SQL\nb;Second?;B\na;First?;A\n",
    "rows.csv": ",sql\n1,B\n0,A\n",
    "order.csv": "sql\nA\nB\n",
    "questions.csv": "question,response\nFirst?,A\nSecond?,B\n",
    "defog.csv": "db_name,query_category,question,query,generated_query,correct\nx,a,Second?,SELECT 2,B,1\n"
    "x,a,First?,SELECT 1,A,0\n",
    "evalbench.csv": "database,dialects,generated_sql,golden_sql,id,nl_prompt,prompt,prompt_id,sanitized_sql\n"
    "shop,['sqlite'],B,SELECT 2,b_trial_0,Second?,You are …,b,B\nshop,['sqlite'],A,SELECT 1,a_trial_0,First?,,a,A\n",
    "sqlas.json": '[{"question": "second?", "generated_sql": "B"}, {"question": "First?", "generated_sql": "A"}]',
    "map.json": '{"b": "B", "a": "A"}',
    "numbers.json": '{"1": "B", "0": "A"}',
    "fields.json": '{"a": {"sql": "A", "tokens": 3}, "b": {"sql": "B"}}',
    "list.json": '[{"id": "b", "sql": "B"}, {"id": "a", "sql": "A"}]',
    "lines.jsonl": '{"question_id": "b", "generated_sql": "B"}\n{"question_id": "a", "generated_sql": "A"}\n',
    "one.jsonl": '{"case_id": "b", "sql": "B"}\n{"case_id": "a", "sql": "A"}\n',
}


@pytest.mark.parametrize("name", PREDICTIONS)
def test_predictions_in_every_shape(tmp_path: Path, name: str) -> None:
    """Ids, the numbers of rows and the order of rows find the case."""
    file = tmp_path / name
    file.write_text(PREDICTIONS[name])
    found = check_known(predictions_of(file, two(tmp_path)), two(tmp_path))
    assert {one.case_id: one.sql for one in found} == {"a": "A", "b": "B"}


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("p.csv", "sql\nA\n", "1 rows for 2 questions of pack 'q', and no column of ids"),
        ("p.csv", "id,question,sql\na,Second?,B\n", "the prediction of case 'a' repeats the question of case 'b'"),
        ("p.csv", "question,sql\nSecond?,B\nOther?,A\n", "repeats the question of case 'b': misaligned"),
        ("p.csv", "question,sql\nOther?,B\n", "1 rows for 2 questions of pack 'q', and no column of ids"),
        ("p.csv", "id,sql\na,A\na,B\n", "case 'a' is predicted twice"),
        ("p.csv", "id,note\na,A\n", "no column is clearly the sql"),
        ("p.json", '{"a": "A", "z": "B"}', "no question 'z' among 2"),
    ],
)
def test_predictions_of_other_questions(tmp_path: Path, name: str, text: str, fault: str) -> None:
    """What cannot be joined, or would be joined to another question, is refused."""
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=fault):
        predictions_of(tmp_path / name, two(tmp_path))


def test_a_strange_id_of_a_table_is_a_stranger_as_in_our_own_form(tmp_path: Path) -> None:
    """`--allow-unknown` leaves it out."""
    (tmp_path / "p.csv").write_text("id,sql\na,A\nz,Z\n")
    pack = two(tmp_path)
    found = predictions_of(tmp_path / "p.csv", pack)
    with pytest.raises(InputError, match="predictions for 1 cases that pack 'q' does not have: z"):
        check_known(found, pack)
    assert [one.case_id for one in check_known(found, pack, allow_unknown=True)] == ["a"]


def test_columns_are_named_behind_the_file(tmp_path: Path) -> None:
    """`FILE#sql=COLUMN` decides where two columns fit; a file whose own name has a # is found too."""
    file = tmp_path / "p#1.csv"
    file.write_text("id,sql,query\na,SELECT 1,SELECT 2\n")
    with pytest.raises(InputError, match="columns sql and query both fit 'sql'"):
        predictions_of(file, two(tmp_path))
    assert predictions_of(Path(f"{file}#sql=query"), two(tmp_path))[0].sql == "SELECT 2"
    assert named_part(Path(f"{file}#a/b#c")) == (file, "a/b#c")


def two(root: Path) -> Pack:
    """Return a pack of two questions."""
    folder = root / "pack"
    folder.mkdir(exist_ok=True)
    if not (folder / "q.csv").exists():
        database(folder / "shop.sqlite")
        (folder / "q.csv").write_text("id,question,sql\na,First?,SELECT 1\nb,Second?,SELECT 2\n")
    return load_pack(folder / "q.csv")


def database(path: Path) -> None:
    """Write a SQLite file with one table."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (1)")


OWN = {
    "cases.jsonl": '{"id": "a", "question": "How many?", "gold": {"sqlite": "SELECT 1"}, "tags": ["x"]}\n',
    "cases.json": '[{"id": "a", "question": "How many?", "gold": {"sqlite": "SELECT 1"}, "tags": ["x"]}]',
    "cases.yaml": "- {id: a, question: 'How many?', gold: {sqlite: SELECT 1}, tags: [x]}\n",
    "cases.csv": "id,question,sqlite,tags\na,How many?,SELECT 1,x\n",
}


@pytest.mark.parametrize("name", OWN)
def test_a_packs_cases_may_be_in_every_shape(tmp_path: Path, name: str) -> None:
    """Lines, a list, YAML and a table say the same cases."""
    database(tmp_path / "data.sqlite")
    (tmp_path / name).write_text(OWN[name])
    (tmp_path / "pack.yaml").write_text(
        f"format: 1\nname: p\nsnapshots: {{data: {{sqlite: data.sqlite}}}}\ncases: {name}\n"
    )
    (case,) = load_pack(tmp_path).cases
    assert (case.id, case.question, case.gold, case.tags) == ("a", "How many?", {"sqlite": ("SELECT 1",)}, ("x",))


def test_a_fault_in_a_table_of_cases_is_at_its_line(tmp_path: Path) -> None:
    """The row's own line is named, as for every other shape."""
    database(tmp_path / "data.sqlite")
    (tmp_path / "cases.csv").write_text("id,question,sqlite\na,How many?,SELECT 1\n\nb,Which?,\n")
    (tmp_path / "pack.yaml").write_text(
        "format: 1\nname: p\nsnapshots: {data: {sqlite: data.sqlite}}\ncases: cases.csv\n"
    )
    with pytest.raises(InputError, match=r"cases.csv:4:gold: case 'b' has no gold SQL"):
        load_pack(tmp_path)


@pytest.mark.parametrize("name", ["list.json", "list.jsonl"])
def test_a_case_list_is_lines_or_one_list(tmp_path: Path, name: str) -> None:
    """Both name their database and hold gold by dialect."""
    database(tmp_path / "databases" / "pets" / "pets.sqlite")
    row = json.dumps({"id": "a", "db": "pets", "question": "How many?", "gold": {"sqlite": "SELECT 1"}})
    (tmp_path / name).write_text(f"[{row}]" if name == "list.json" else f"{row}\n")
    pack = load_pack(tmp_path / name)
    assert (pack.format, [case.id for case in pack.cases]) == ("caselist", ["a"])


def test_a_database_in_the_predictions_tells_questions_apart(tmp_path: Path) -> None:
    """The same question of two databases is joined by both; an id with another database than its case's is refused."""
    for name in ("pets", "cars"):
        database(tmp_path / "databases" / name / f"{name}.sqlite")
    (tmp_path / "q.csv").write_text("id,db,question,sql\na,pets,How many?,SELECT 1\nb,cars,How many?,SELECT 2\n")
    pack = load_pack(tmp_path / "q.csv")
    (tmp_path / "p.csv").write_text("db,question,sql\ncars,How many?,B\npets,How many?,A\n")
    found = predictions_of(tmp_path / "p.csv", pack)
    assert {one.case_id: one.sql for one in found} == {"a": "A", "b": "B"}
    (tmp_path / "p.csv").write_text("id,db,sql\na,cars,A\n")
    with pytest.raises(InputError, match="prediction 'a' is for database 'cars', case 'a' asks 'pets'"):
        predictions_of(tmp_path / "p.csv", pack)
