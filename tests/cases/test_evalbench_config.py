"""The data part of an EvalBench run config: filters, data set formats, database configs and answers of its own."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml

from cases.errors import InputError
from cases.formats.evalbench import others
from cases.formats.evalbench_config import RunConfig
from cases.formats.registry import load_pack
from cases.pack import Pack

ROWS = yaml.safe_load((Path(__file__).parents[1] / "tables" / "evalbench_data.yaml").read_text(encoding="utf-8"))


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
