"""Predictions reach the question they were made for, also where ids stand twice or look like the numbers of rows."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sqlassay.cases.errors import InputError
from sqlassay.cases.formats.registry import load_pack
from sqlassay.cases.pack import Pack
from sqlassay.cases.predictions import check_known, predictions_of

Lay = Callable[[Path, Sequence[int]], Pack]


def database(root: Path) -> None:
    """Write the one database of every data set here."""
    folder = root / "databases" / "pets"
    folder.mkdir(parents=True)
    with closing(sqlite3.connect(folder / "pets.sqlite")) as connection:
        connection.executescript("CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (1)")


def gold(number: int) -> str:
    """Return the gold of a row, which names the row."""
    return f"SELECT {number}"


def bird(root: Path, ids: Sequence[int], name: str = "dev.json", *, select: str = "SELECT {}") -> Pack:
    """Lay a BIRD set of rows with these question ids out."""
    database(root)
    return load_pack(rows_file(root / name, ids, select))


def rows_file(file: Path, ids: Sequence[int], select: str = "SELECT {}", questions: str = "q{}") -> Path:
    """Write BIRD's rows."""
    rows = [
        {"question_id": one, "db_id": "pets", "question": questions.format(n), "SQL": select.format(n)}
        for n, one in enumerate(ids)
    ]
    file.write_text(json.dumps(rows))
    return file


def toolkit(root: Path, ids: Sequence[int]) -> Pack:
    """Lay IBM's records with these ids out; their one pipeline answers each with its own gold."""
    database(root)
    rows = [
        {"id": one, "db_id": "pets", "utterance": f"q{n}", "sql": [gold(n)]}
        | {"predictions": {"a": {"predicted_sql": gold(n)}}}
        for n, one in enumerate(ids)
    ]
    file = root / "x-predictions.json"
    file.write_text(json.dumps(rows))
    return load_pack(file)


def evalbench(root: Path, ids: Sequence[int]) -> Pack:
    """Lay EvalBench's items with these ids out, each with its gold as the statement it brings along."""
    database(root)
    rows = [
        {"id": one, "nl_prompt": f"q{n}", "query_type": "dql", "database": "pets", "dialects": ["sqlite"]}
        | {"golden_sql": {"sqlite": gold(n)}, "generated_sql": {"sqlite": gold(n)}}
        for n, one in enumerate(ids)
    ]
    file = root / "items.json"
    file.write_text(json.dumps(rows))
    return load_pack(file)


def agrees(pack: Pack, found: Sequence[Any]) -> bool:
    """Return whether every case is predicted once, and by its own gold."""
    written = {case.id: case.gold["sqlite"][0] for case in pack.cases}
    return len(found) == len(written) and all(one.sql == written[one.case_id] for one in found)


def by_row(ids: Sequence[int]) -> str:
    """Write BIRD's predictions keyed by row."""
    return json.dumps({str(n): f"{gold(n)}\t----- bird -----\tpets" for n in range(len(ids))})


def by_line(ids: Sequence[int]) -> str:
    """Write one statement a line."""
    return "".join(f"{gold(n)}\n" for n in range(len(ids)))


def own(ids: Sequence[int]) -> str:
    """Write our own form, one line a row."""
    return "".join(json.dumps({"case_id": str(one), "sql": gold(n)}) + "\n" for n, one in enumerate(ids))


@pytest.mark.parametrize("ids", [(137, 137, 140), (140, 137, 137), (7, 8, 9), (137, 138, 137, 138), (0, 1, 2)], ids=str)
@pytest.mark.parametrize("lay", [bird, toolkit, evalbench])
@pytest.mark.parametrize(
    ("name", "write"), [("p.json", by_row), ("p.txt", by_line), ("p.sql", by_line), ("p.jsonl", own)]
)
def test_gold_as_prediction_agrees(
    tmp_path: Path, lay: Lay, name: str, write: Callable[[Sequence[int]], str], ids: Sequence[int]
) -> None:
    """The gold of every row, given as predictions row by row, is each case's own gold, whichever ids stand twice."""
    pack = lay(tmp_path, ids)
    file = tmp_path / name
    file.write_text(write(ids))
    assert agrees(pack, check_known(predictions_of(file, pack), pack))


@pytest.mark.parametrize("lay", [toolkit, evalbench])
@pytest.mark.parametrize("ids", [(137, 137, 140), (1, 0, 2)], ids=str)
def test_predictions_inside_the_rows_stay_with_their_rows(tmp_path: Path, lay: Lay, ids: Sequence[int]) -> None:
    """A row that is left out takes its own prediction with it."""
    pack = lay(tmp_path, ids)
    assert agrees(pack, pack.inline_predictions)


@pytest.mark.parametrize("ids", [(137, 137, 140), (1, 0, 2)], ids=str)
def test_a_pipeline_is_joined_record_by_record(tmp_path: Path, ids: Sequence[int]) -> None:
    """The records of the pack's own file are its rows; records of the same ids in another file are too."""
    pack = toolkit(tmp_path, ids)
    other = tmp_path / "other.json"
    other.write_text((tmp_path / "x-predictions.json").read_text())
    assert agrees(pack, predictions_of(tmp_path / "x-predictions.json", pack))
    assert agrees(pack, predictions_of(other, pack))


def test_records_of_another_order_are_joined_by_id_unless_one_stands_twice(tmp_path: Path) -> None:
    """An id is enough where one question has it, and refused where two have."""
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    pack = toolkit(tmp_path / "one", (5, 6))
    records = json.loads((tmp_path / "one" / "x-predictions.json").read_text())
    turned = tmp_path / "turned.json"
    turned.write_text(json.dumps(records[::-1]))
    assert agrees(pack, predictions_of(turned, pack))
    twice = toolkit(tmp_path / "two", (5, 5, 6))
    with pytest.raises(InputError, match="question '5' stands 2 times in the pack"):
        predictions_of(turned, twice)


def test_two_readings_are_refused_until_one_is_named(tmp_path: Path) -> None:
    """Keys that are row numbers and ids alike are read as the file's name says, and not at all without it."""
    pack = bird(tmp_path, (1, 0, 2))
    file = tmp_path / "p.json"
    file.write_text(json.dumps({"0": "A", "1": "B", "2": "C"}))
    with pytest.raises(
        InputError, match=r"fit row numbers and ids: '0' is row 0 .question '1'.*p.json#rows or p.json#ids"
    ):
        predictions_of(file, pack)
    rows = predictions_of(Path(f"{file}#rows"), pack)
    assert {one.case_id: one.sql for one in rows} == {"1": "A", "0": "B", "2": "C"}
    ids = predictions_of(Path(f"{file}#ids"), pack)
    assert {one.case_id: one.sql for one in ids} == {"0": "A", "1": "B", "2": "C"}
    with pytest.raises(InputError, match="it has no part 'x'"):
        predictions_of(Path(f"{file}#x"), pack)


def test_an_id_of_two_questions_is_refused_until_ids_are_named(tmp_path: Path) -> None:
    """A map keyed by id cannot say which of two questions it means; named so, the first one is meant."""
    pack = bird(tmp_path, (137, 137, 140))
    file = tmp_path / "p.json"
    file.write_text(json.dumps({"137": "A", "140": "B"}))
    with pytest.raises(InputError, match="question '137' stands 2 times in the pack"):
        predictions_of(file, pack)
    named = predictions_of(Path(f"{file}#ids"), pack)
    assert [(one.case_id, one.sql) for one in named] == [("137", "A"), ("140", "B")]
    lines = tmp_path / "p.jsonl"
    lines.write_text(json.dumps({"case_id": "137", "sql": "A"}) + "\n")
    with pytest.raises(InputError, match="question '137' stands twice in the pack"):
        predictions_of(lines, pack)
    assert [one.sql for one in predictions_of(Path(f"{lines}#ids"), pack)] == ["A"]


def test_empty_lines_at_the_end_are_answers_too(tmp_path: Path) -> None:
    """The last rows may have no statement; a tab inside a statement names no database."""
    pack = bird(tmp_path, (1, 2, 3))
    file = tmp_path / "p.txt"
    file.write_text("SELECT\t1\n\n\n")
    assert [(one.case_id, one.sql) for one in predictions_of(file, pack)] == [
        ("1", "SELECT\t1"),
        ("2", None),
        ("3", None),
    ]


@pytest.mark.parametrize("ids", [(137, 137, 140), (137, 140, 137), (1, 0, 2)], ids=str)
def test_the_golds_of_dialects_are_joined_row_by_row(tmp_path: Path, ids: Sequence[int]) -> None:
    """Files of equal rows give each case the gold of its own row in every dialect, also where an id stands twice."""
    database(tmp_path)
    rows_file(tmp_path / "mini_dev_sqlite.json", ids)
    rows_file(tmp_path / "mini_dev_postgresql.json", ids, "SELECT {} -- pg")
    for case in load_pack(tmp_path).cases:
        assert case.gold["postgres"] == (f"{case.gold['sqlite'][0]} -- pg",)


def test_the_golds_of_files_in_another_order(tmp_path: Path) -> None:
    """The question tells apart what an id does not; where it does not either, the files are refused."""
    database(tmp_path)
    rows_file(tmp_path / "mini_dev_sqlite.json", (5, 5, 6))
    file = rows_file(tmp_path / "mini_dev_postgresql.json", (5, 5, 6), "SELECT {} -- pg")
    file.write_text(json.dumps(json.loads(file.read_text())[::-1]))
    assert [case.gold["postgres"] for case in load_pack(tmp_path).cases] == [("SELECT 0 -- pg",), ("SELECT 2 -- pg",)]
    same = rows_file(tmp_path / "mini_dev_postgresql.json", (6, 5, 5), "SELECT {} -- pg", "the same")
    with pytest.raises(InputError, match="question 5 stands twice and in another order"):
        load_pack(tmp_path)
    assert same.exists()
