"""Edges of reading packs that no ordinary file reaches, each with its one clear outcome."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sqlassay.cases.errors import InputError
from sqlassay.cases.formats.registry import load_pack
from sqlassay.cases.reading import MAX_LINE, element_lines, read_bytes, starts_with
from sqlassay.cases.relation import Column, FarTemporal, Kind, Relation
from sqlassay.cases.schemas.generate import rendered, write
from sqlassay.cases.sources.cells import parse
from sqlassay.cases.sources.csv_rows import csv_source
from sqlassay.cases.sources.sqlite_file import sqlite_content
from sqlassay.cases.starter import write_starter
from sqlassay.cases.verdicts import ExitCode, worst
from sqlassay.cases.yaml_reading import YamlDocument, read_yaml

HEAD = "format: 1\nname: s\nsnapshots:\n"
CASE = "cases:\n  - {id: z, question: q, gold: {sqlite: SELECT 1}}\n"


def _refused(path: Path, said: str, **more: str) -> None:
    """Check that a pack is refused in these words."""
    with pytest.raises(InputError) as caught:
        load_pack(path, **more)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("  m: {scripts: 5}\n" + CASE, "p.yaml:4:snapshots.m.scripts"),
        ("  m: {schema: s, data: d, sqlite: x}\n" + CASE, "schema and data, or sqlite, not both"),
        ("  m: {schema: s}\n" + CASE, "schema and data belong together"),
        (
            "  m: {data: d}\n" + CASE,
            "belong together; `sqlassay snapshot build --from FOLDER --out DIR` writes the sch",
        ),
        ("  m: {sqlite: x.db}\n" + CASE.replace("{sqlite: SELECT 1}", "SELECT 1"), "gold"),
        ("  m: {sqlite: x.db}\ncases: [empty.jsonl]\n", "the pack has no case"),
        ("  m: {sqlite: x.db}\ncases: [one.yaml]\n", "one.yaml:1: a case file is a list of cases"),
        ("  m: {sqlite: x.db}\ncases: 5\n", "p.yaml:5:cases"),
    ],
)
def test_a_header_or_case_file_of_the_wrong_shape_is_named(tmp_path: Path, header: str, said: str) -> None:
    """The place of the fault is told."""
    with closing(sqlite3.connect(tmp_path / "x.db")) as connection:
        connection.executescript("CREATE TABLE t(a INT);")
    (tmp_path / "empty.jsonl").write_text("\n")
    (tmp_path / "one.yaml").write_text("id: z\n")
    (tmp_path / "p.yaml").write_text(HEAD + header)
    _refused(tmp_path / "p.yaml", said)


def test_a_pack_on_a_sqlite_file_carries_it_and_its_clock_is_utc(tmp_path: Path) -> None:
    """Tables are read from the file, counters of SQLite's own are not; a clock without an offset is in UTC."""
    with closing(sqlite3.connect(tmp_path / "x.db")) as connection:
        connection.executescript("CREATE TABLE t(a INTEGER PRIMARY KEY AUTOINCREMENT); INSERT INTO t VALUES (1);")
    case = CASE.replace("question: q", "question: q, clock: 2026-01-31 12:00:00")
    (tmp_path / "p.yaml").write_text(HEAD + "  m: {sqlite: x.db}\n" + case)
    pack = load_pack(tmp_path / "p.yaml")
    assert pack.snapshots[0].sqlite_file == tmp_path / "x.db"
    assert [table.name for table in pack.snapshots[0].tables] == ["t"]
    assert pack.cases[0].clock == datetime(2026, 1, 31, 12, tzinfo=UTC)


def test_a_dataset_that_cannot_be_found_or_used_is_named(tmp_path: Path) -> None:
    """Two datasets, none, one that is not there, and a schema that is no text."""
    (tmp_path / "a.json").write_text("[]")
    (tmp_path / "b.json").write_text("[]")
    _refused(tmp_path, "2 JSON files here, one is needed", format="skill")
    (tmp_path / "c.yaml").write_text("dataset: none.json\n")
    _refused(tmp_path / "c.yaml", "c.yaml:1:dataset: no file 'none.json'")
    (tmp_path / "c.yaml").write_text("alpha: 0.1\n")
    _refused(tmp_path / "c.yaml", "c.yaml:dataset: the config names no dataset", format="skill")
    (tmp_path / "c.yaml").unlink()
    (tmp_path / "a.json").write_text(json.dumps({"schema": 5, "cases": []}))
    _refused(tmp_path / "a.json", "a.json:schema: the schema is an SQL script")


def test_a_dataset_of_a_folder_above_and_a_uri_under_another_key(tmp_path: Path) -> None:
    """A config in a folder of its own names files beside that folder; a URI may stand under `path` or nowhere."""
    with closing(sqlite3.connect(tmp_path / "x.db")) as connection:
        connection.executescript("CREATE TABLE t(a INT);")
    row = {"id": "a", "question": "q", "ground_truth_sql": "SELECT 1"}
    (tmp_path / "d.json").write_text(json.dumps([row]))
    config = tmp_path / "conf/config.yaml"
    config.parent.mkdir()
    config.write_text("dataset: d.json\ndata_sources: {s: {kind: file, path: x.db}}\n")
    assert load_pack(config).snapshots[0].sqlite_file == tmp_path / "x.db"
    config.write_text("dataset: d.json\ndata_sources: {s: {kind: file}}\n")
    _refused(config, "config.yaml:2:data_sources.s")


def test_files_past_their_limit_or_out_of_reach_are_refused(tmp_path: Path) -> None:
    """Size, kind and reach are checked before a byte is read."""
    file = tmp_path / "f"
    file.write_bytes(b"12345")
    assert read_bytes(file, limit=5) == b"12345"
    with pytest.raises(InputError, match="5 bytes is more than the limit of 4"):
        read_bytes(file, limit=4)
    with pytest.raises(InputError, match="not a regular file"):
        read_bytes(tmp_path)
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_bytes(tmp_path / "none")
    assert starts_with(file, b"1") is True
    assert starts_with(tmp_path / ("x" * 5000), b"[") is False
    assert element_lines('{"other": [1],\n"cases": [2]}', key="cases")(0) == 2


def test_a_quote_left_open_is_told_before_memory_is_gone(tmp_path: Path) -> None:
    """A record longer than a line may be is refused at the line it starts on."""
    table = read_table(tmp_path)
    (tmp_path / "t.csv").write_bytes(b'a\n1\n"' + (b"x" * 1023 + b"\n") * (MAX_LINE // 1024 + 1))
    source, _ = csv_source((table,), tmp_path)
    with pytest.raises(InputError, match=r"t.csv:3: record is too long"):
        list(source.rows("t"))


def read_table(folder: Path):  # type: ignore[no-untyped-def]
    """Return a table of one text column, as a SQLite file tells it."""
    with closing(sqlite3.connect(folder / "one.db")) as connection:
        connection.executescript("CREATE TABLE t(a TEXT);")
    return sqlite_content(folder / "one.db").tables[0]


def test_a_column_of_an_unknown_type_without_values_is_text(tmp_path: Path) -> None:
    """Nothing else is known of it."""
    with closing(sqlite3.connect(tmp_path / "x.db")) as connection:
        connection.executescript("CREATE TABLE t(a WIBBLE); INSERT INTO t VALUES (NULL);")
    assert sqlite_content(tmp_path / "x.db").tables[0].columns[0].kind is Kind.TEXT


@pytest.mark.parametrize(
    ("kind", "text"),
    [(Kind.DATE, "infinity"), (Kind.TIMESTAMP, "-infinity"), (Kind.TIMESTAMPTZ, "0044-03-15 12:00:00+00 BC")],
)
def test_moments_python_cannot_hold_are_kept_as_written(kind: Kind, text: str) -> None:
    """Infinity and years before Christ are values."""
    assert parse(kind, text) == FarTemporal(text)


@pytest.mark.parametrize(("kind", "text"), [(Kind.DATE, "no infinity"), (Kind.ARRAY, "5"), (Kind.ARRAY, "null")])
def test_what_only_looks_like_such_a_value_is_refused(kind: Kind, text: str) -> None:
    """A word before infinity and an array that is none are no values."""
    with pytest.raises(ValueError, match="is no"):
        parse(kind, text)


def test_a_starter_that_cannot_be_written_names_the_file(tmp_path: Path) -> None:
    """A file in the folder's place is told, not overwritten."""
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match=r"cannot be written: Not a directory"):
        write_starter(tmp_path / "file/new")
    assert (tmp_path / "file").read_text() == "mine"


def test_schemas_are_written_as_rendered(tmp_path: Path) -> None:
    """One file for each schema, nothing else."""
    write(tmp_path)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == rendered()


def test_the_worst_exit_code_wins() -> None:
    """130 > 4 > 3 > 2 > 5 > 1 > 0."""
    order = [130, 4, 3, 2, 5, 1, 0]
    for index in range(len(order)):
        assert worst({ExitCode(code) for code in order[index:]}) == order[index]
    assert worst(set()) == 0


def test_a_relation_knows_its_shape() -> None:
    """Rows, then columns."""
    assert Relation((Column("a", Kind.INT), Column("b", Kind.INT)), ((1, 2), (3, 4), (5, 6))).shape == (3, 2)


def test_a_document_without_lines_and_one_without_content(tmp_path: Path) -> None:
    """A place that was never written has no line; an empty file is a document of nothing."""
    assert YamlDocument(tmp_path, None, {}).line(("a",)) is None
    (tmp_path / "e.yaml").write_text("# nothing\n")
    assert read_yaml(tmp_path / "e.yaml") == YamlDocument(tmp_path / "e.yaml", None, {(): 1})
    (tmp_path / "t.yaml").write_text("a: !!timestamp x\n")
    with pytest.raises(InputError, match="not YAML"):
        read_yaml(tmp_path / "t.yaml")
