"""Predictions as other benchmarks write them are read by line, index or pipeline, and never for the wrong question."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sqlassay.cases.case import Case
from sqlassay.cases.errors import InputError
from sqlassay.cases.pack import Pack, PackRow
from sqlassay.cases.prediction_forms import foreign_form
from sqlassay.cases.predictions import check_known, predictions_of

ROWS = (("q1", "pets"), ("q2", "cars"), ("q3", "pets"))


def pack(*left_out: str) -> Pack:
    """Return a pack of three rows, some of which are no case."""
    gold: dict[str, tuple[str, ...]] = {"sqlite": ("SELECT 1",)}
    cases = tuple(
        Case(id=row_id, question="", snapshot=database, gold=gold)
        for row_id, database in ROWS
        if row_id not in left_out
    )
    rows = tuple(PackRow(row_id, database, row_id not in left_out) for row_id, database in ROWS)
    return Pack("p", Path("p"), "", cases, (), rows=rows)


def read(path: Path, text: str, of: Pack | None = None) -> list[tuple[str, str | None]]:
    """Write a prediction file and read it."""
    path.write_text(text, encoding="utf-8")
    return [(one.case_id, one.sql) for one in predictions_of(path, of or pack())]


def test_one_a_line(tmp_path: Path) -> None:
    """Lines follow the rows; a database behind a tab is checked; an empty line is no statement."""
    assert read(tmp_path / "p.txt", "SELECT 1\tpets\n\nSELECT 3\n") == [
        ("q1", "SELECT 1"),
        ("q2", None),
        ("q3", "SELECT 3"),
    ]
    assert read(tmp_path / "p.sql", "A\n\nB\n\nC\n") == [("q1", "A"), ("q2", "B"), ("q3", "C")]


def test_rows_that_are_no_case_still_count(tmp_path: Path) -> None:
    """A row left out keeps its line, so that the ones behind it are not moved."""
    assert read(tmp_path / "p.txt", "A\nB\nC\n", pack("q2")) == [("q1", "A"), ("q3", "C")]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("A\nB\n", "2 lines for 3 questions"),
        ("A\tcars\nB\nC\n", "line 1 is for database 'cars', case 'q1' asks 'pets'"),
    ],
)
def test_misaligned_lines(tmp_path: Path, text: str, fault: str) -> None:
    """Another number of lines or another database is refused before anything runs."""
    with pytest.raises(InputError, match=f"{fault}.*misaligned"):
        read(tmp_path / "p.txt", text)


def bird(*pairs: tuple[str, object]) -> str:
    """Write BIRD's prediction file."""
    return json.dumps(dict(pairs))


def test_bird_counts_from_nought(tmp_path: Path) -> None:
    """Keys are the rows' numbers; what stands behind the marker is the database; no text is no prediction."""
    text = bird(("0", "SELECT 1\t----- bird -----\tpets"), ("1", 0), ("2", "SELECT 3"))
    assert read(tmp_path / "p.json", text) == [("q1", "SELECT 1"), ("q2", None), ("q3", "SELECT 3")]


def test_bird_keys_may_be_question_ids(tmp_path: Path) -> None:
    """Where counting fits no database and the ids do, the ids are meant."""
    rows = (("0", "cars"), ("7", "pets"))
    gold: dict[str, tuple[str, ...]] = {"sqlite": ("SELECT 1",)}
    cases = tuple(Case(id=row_id, question="", snapshot=db, gold=gold) for row_id, db in rows)
    of = Pack("p", Path("p"), "", cases, (), rows=tuple(PackRow(*row) for row in rows))
    text = bird(("7", "B\t----- bird -----\tpets"), ("0", "A\t----- bird -----\tcars"))
    assert sorted(read(tmp_path / "p.json", text.replace('{"7"', '{"7"'), of)) == [("0", "A"), ("7", "B")]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            bird(("0", "A\t----- bird -----\tcars"), ("1", "B")),
            "prediction '0' is for database 'cars', case 'q1' asks 'pets'",
        ),
        (bird(("0", "A"), ("3", "B")), "no question '3' among 3"),
    ],
)
def test_bird_of_other_questions(tmp_path: Path, text: str, fault: str) -> None:
    """Shifted or foreign predictions are detected by their databases and numbers."""
    with pytest.raises(InputError, match=fault):
        read(tmp_path / "p.json", text)


def records(*pipelines: str) -> str:
    """Write a file of IBM's records."""
    answers = {name: {"predicted_sql": f"SELECT '{name}'"} for name in pipelines}
    return json.dumps([{"id": row_id, "db_id": db, "sql": ["x"], "predictions": answers} for row_id, db in ROWS])


def test_pipeline_is_named_behind_the_file(tmp_path: Path) -> None:
    """The only pipeline needs no name; of several one is named, and a wrong name lists them."""
    file = tmp_path / "r.json"
    assert read(file, records("a"))[0] == ("q1", "SELECT 'a'")
    file.write_text(records("a", "b"))
    named = predictions_of(Path(f"{file}#b"), pack("q3"))
    assert [(one.case_id, one.sql) for one in named] == [("q1", "SELECT 'b'"), ("q2", "SELECT 'b'")]
    for path, fault in ((file, "2 pipelines, one is needed"), (Path(f"{file}#c"), "no pipeline 'c'")):
        with pytest.raises(InputError, match=f"{fault}.*a, b"):
            predictions_of(path, pack())


def test_our_own_lines_may_name_rows_left_out(tmp_path: Path) -> None:
    """A prediction for a row that cannot be judged is no stranger."""
    path = tmp_path / "p.jsonl"
    path.write_text('{"case_id": "q2", "sql": "A"}\n{"case_id": "q1", "sql": "B"}\n')
    of = pack("q2")
    assert [one.case_id for one in check_known(predictions_of(path, of), of)] == ["q1"]


@pytest.mark.parametrize("name", ["p.yaml", "p.YML"])
def test_predictions_in_yaml_name_the_forms_that_are_read(tmp_path: Path, name: str) -> None:
    """The error says that YAML is none of them, before any JSON is blamed."""
    (tmp_path / name).write_text("- {case_id: a, sql: SELECT 1}\n")
    with pytest.raises(InputError, match=r"not read from YAML.*\.jsonl.*\.csv"):
        foreign_form(tmp_path / name)
