"""The data part of an EvalBench run config: filters, data set formats, database configs and answers of its own."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml
from rows import rows_of

from sqlassay.cases.errors import InputError
from sqlassay.cases.formats.evalbench import others
from sqlassay.cases.formats.evalbench_config import RunConfig
from sqlassay.cases.formats.registry import load_pack
from sqlassay.cases.pack import Pack
from sqlassay.cases.predictions import check_known, predictions_of

ROWS = rows_of("evalbench_data")


@pytest.fixture(autouse=True)
def _data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lay out the data set of the table with its databases and database configs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("a", "b"):
        (tmp_path / "files").mkdir(exist_ok=True)
        with closing(sqlite3.connect(tmp_path / "files" / f"{name}.db")) as made, made:
            made.execute("CREATE TABLE t (n INTEGER)")
    for name, text in ROWS["files"].items():
        (tmp_path / name).write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")


def load(config: dict[str, Any] | str) -> Pack:
    """Return the pack of a run config."""
    Path("run.yaml").write_text(config if isinstance(config, str) else yaml.safe_dump(config), encoding="utf-8")
    return load_pack(Path("run.yaml"), format="evalbench")


@pytest.mark.parametrize("row", ROWS["chosen"], ids=lambda row: row["says"])
def test_a_config_chooses_cases(row: dict[str, Any]) -> None:
    """Filters, formats and names choose these cases with this gold, and these rows are told of."""
    pack = load(row["config"])
    assert {case.id: sorted(case.gold) for case in pack.cases} == row["gold"]
    assert list(pack.left_out) == row.get("left_out", [])
    if "generated" in row:
        assert [[one.case_id, one.sql, one.dialect] for one in pack.inline_predictions] == row["generated"]


@pytest.mark.parametrize("row", ROWS["refused"], ids=lambda row: row["error"])
def test_a_config_that_cannot_be_read_is_one_line(row: dict[str, Any]) -> None:
    """File, line and field are named, and what to do."""
    with pytest.raises(InputError) as error:
        load(row["config"])
    assert row["error"] in str(error.value)
    assert error.value.remedy


@pytest.mark.parametrize(("csv", "folder"), [({"output_directory": "out"}, "out"), (None, "results"), ("x", "results")])
def test_tables_of_earlier_runs_are_kept_from_agents(csv: object, folder: str) -> None:
    """They hold gold, so their folder is among the files no agent may read, once it is there."""
    config = {"dataset_config": "prompts.json", "database_configs": ["sqlite.yaml"], "reporting": {"csv": csv}}
    assert load(config).files == (Path("prompts.json"),)
    Path(folder).mkdir()
    assert load(config).files == (Path("prompts.json"), Path(folder))
    assert load({**config, "reporting": None}).files == (Path("prompts.json"),)


def test_what_an_item_keeps_beside_is_spelled_as_evalbench_spells_it() -> None:
    """Each value under `other` is JSON, the whole a Python text; BIRD's items keep their question there."""
    items = [{"id": 1, "other": {"k": "v", "n": [1]}}, {"id": 2, "other": {}}, {"other": "x"}, 7]
    Path("prompts.json").write_text(json.dumps(items), encoding="utf-8")
    assert others(RunConfig(Path("prompts.json"))) == {"1": "{'k': '\"v\"', 'n': '[1]'}", "2": "{}"}
    assert others(RunConfig(Path("prompts.json"), bird=True)) == {}


def test_predictions_of_rows_that_filters_leave_out_are_no_strangers(tmp_path: Path) -> None:
    """A prediction file of the whole data set serves a config that chooses a part of it."""
    file = data_set(tmp_path, "databases: [pets]\nquery_types: [dql]\ndialects: [sqlite]\n")
    pack = load_pack(file)
    answers = tmp_path / "p.jsonl"
    answers.write_text("".join(json.dumps({"case_id": str(n), "sql": "SELECT 1"}) + "\n" for n in range(1, 5)))
    assert [one.case_id for one in check_known(predictions_of(answers, pack), pack)] == ["1"]
    assert pack.left_out == ()


@pytest.mark.parametrize(
    ("filters", "fault"),
    [
        ("databases: [nope]", "databases: no item asks database 'nope'. Choose among cars, pets"),
        ("query_types: [ddl]", "query_types: no item has query type 'ddl'. Choose among dml, dql"),
        ("dialects: [spanner]", "dialects: dialect spanner has no adapter here. Choose among duckdb, mariadb"),
    ],
)
def test_a_filter_that_lets_nothing_through_is_named(tmp_path: Path, filters: str, fault: str) -> None:
    """The error says which name is not there and what is."""
    with pytest.raises(InputError, match=rf"run.yaml:\d+:{fault}"):
        load_pack(data_set(tmp_path, filters))


def test_a_name_of_a_filter_that_is_not_there_is_told(tmp_path: Path) -> None:
    """Where other names let rows through, the run's problems name the one that does not."""
    pack = load_pack(data_set(tmp_path, "dialects: [sqlite, spanner]\ndatabases: [pets, nope]"))
    assert pack.left_out[:2] == (
        "databases of the run config: no item asks database 'nope'",
        "dialects of the run config: dialect spanner has no adapter here",
    )


def data_set(root: Path, filters: str) -> Path:
    """Lay four items, two of another database, type or dialect, and a run config with filters out."""
    for name in ("pets", "cars"):
        (root / "databases" / name).mkdir(parents=True)
        with closing(sqlite3.connect(root / "databases" / name / f"{name}.sqlite")) as connection:
            connection.executescript("CREATE TABLE t (n INTEGER)")
    strange = ({}, {"database": "cars"}, {"query_type": "DML"}, {"dialects": ["postgres"]})
    base = {"nl_prompt": "q", "query_type": "DQL", "database": "pets", "dialects": ["sqlite"]}
    items = [{"id": n, **base, "golden_sql": "SELECT 1", **other} for n, other in enumerate(strange, 1)]
    (root / "items.json").write_text(json.dumps(items))
    file = root / "run.yaml"
    file.write_text(f"dataset_config: items.json\n{filters}\n")
    return file
