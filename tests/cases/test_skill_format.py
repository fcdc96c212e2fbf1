"""The Skill's dataset and config load as a pack with inline predictions."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sqlassay.cases.errors import InputError
from sqlassay.cases.formats.registry import load_pack

DEMO = Path(__file__).parents[2].parent / "shared" / "data" / "skill_demo.json"
ROW: dict[str, Any] = {
    "id": 7,
    "question": "q",
    "ground_truth_sql": "SELECT 1",
    "predicted_sql": "SELECT 2",
    "expected_data_source": "sales_db",
    "selected_data_source": "archive_db",
    "scenario": "s",
    "unheard_of": True,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a SQLite file, a dataset and a config."""
    with closing(sqlite3.connect(tmp_path / "demo.db")) as connection:
        connection.executescript("CREATE TABLE t(a INT);")
    (tmp_path / "dataset.json").write_text(json.dumps([ROW], indent=1))
    (tmp_path / "config.yaml").write_text(
        "dataset: dataset.json\nalpha: 0.4\ndata_sources:\n"
        "  sales_db: sqlite:///demo.db\n  archive_db: {uri: 'sqlite:///demo.db'}\n"
    )
    return tmp_path


@pytest.mark.parametrize("name", ["dataset.json", "config.yaml", ""])
def test_dataset_and_config_find_each_other(folder: Path, name: str) -> None:
    """A dataset, its config or their folder mean the same pack."""
    pack = load_pack(folder / name)
    assert (pack.format, pack.settings.policy_preset, pack.settings.alpha) == ("skill", "skill", 0.4)
    assert pack.routes == (("sales_db", "sales_db"), ("archive_db", "sales_db"))
    assert pack.snapshots[0].sqlite_file == folder / "demo.db"
    (case,) = pack.cases
    assert (case.id, case.route, case.gold) == ("7", "sales_db", {"sqlite": ("SELECT 1",)})
    assert (case.order_required, case.allow_extra_predicted_columns) == (False, True)
    (prediction,) = pack.inline_predictions
    assert (prediction.case_id, prediction.sql, prediction.route) == ("7", "SELECT 2", "archive_db")


def test_a_flat_config_maps_names_to_uris(folder: Path) -> None:
    """A config of nothing but names and URIs is read; an absolute path has four slashes."""
    (folder / "config.yaml").write_text(f"sales_db: sqlite:///{folder / 'demo.db'}\n")
    assert load_pack(folder / "dataset.json").snapshots[0].sqlite_file == folder / "demo.db"


def test_rows_under_cases_and_without_predictions(folder: Path) -> None:
    """{"cases": [...]} is accepted; a row without an answer gives no prediction; one source needs no name."""
    row = {"id": "x", "question": "q", "ground_truth_sql": "SELECT 1", "order_required": True}
    (folder / "dataset.json").write_text(json.dumps({"cases": [row]}))
    pack = load_pack(folder / "dataset.json")
    assert pack.inline_predictions == ()
    assert (pack.cases[0].route, pack.cases[0].order_required) == (None, True)


@pytest.mark.skipif(not DEMO.exists(), reason="the shared demo is not here")
def test_the_shared_demo_loads_from_its_own_schema() -> None:
    """Eleven rows, a schema script for SQLite, both routes to the one snapshot."""
    pack = load_pack(DEMO)
    assert len(pack.cases) == len(pack.inline_predictions) == 11
    assert pack.routes == (("sales_db", "data"), ("archive_db", "data"))
    (script,) = pack.snapshots[0].scripts["sqlite"]
    assert "CREATE TABLE customers" in script.read_text()
    ours = load_pack(Path("demo"))
    assert [case.gold["sqlite"] for case in ours.cases] == [case.gold["sqlite"] for case in pack.cases]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"ground_truth_sql": None}, "dataset.json:2:ground_truth_sql"),
        ({"ground_truth_sql": " "}, "gold.sqlite: empty SQL"),
        ({"order_required": "perhaps"}, "dataset.json:2:order_required"),
        ({"expected_data_source": "nowhere"}, "unknown route 'nowhere'"),
    ],
)
def test_a_fault_in_a_row_names_its_line(folder: Path, change: dict[str, Any], said: str) -> None:
    """The line is where the row starts."""
    (folder / "dataset.json").write_text(json.dumps([{**ROW, **change}], indent=1))
    with pytest.raises(InputError) as caught:
        load_pack(folder / "dataset.json")
    assert said in str(caught.value)


def test_ids_that_stand_twice_are_refused(folder: Path) -> None:
    """The second row's line is named."""
    (folder / "dataset.json").write_text("[" + json.dumps(ROW) + ",\n" + json.dumps(ROW) + "]")
    with pytest.raises(InputError, match=r"dataset.json:2:id: case '7' stands already at dataset.json:1"):
        load_pack(folder / "dataset.json")


def test_a_server_is_refused_without_repeating_its_password(folder: Path) -> None:
    """The remedy is to take a snapshot; the URI, which may hold a password, is not printed."""
    (folder / "config.yaml").write_text("data_sources:\n  sales_db: postgresql://u:hunter2@db.example/sales\n")
    with pytest.raises(InputError) as caught:
        load_pack(folder / "dataset.json")
    assert "config.yaml:2:data_sources.sales_db: data source is a postgresql server" in str(caught.value)
    assert "sqlassay snapshot build --from" in caught.value.remedy
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("data_sources: {sales_db: 'sqlite:///none.db'}\n", "no file 'none.db'"),
        ("data_sources: {sales_db: 'sqlite:///:memory:'}\n", "in-memory"),
        ("data_sources: {sales_db: 5}\n", "config.yaml:1:data_sources.sales_db"),
        ("timeout: -1\n", "config.yaml:1:timeout"),
        ("other: 1\n", "no data source is configured"),
    ],
)
def test_a_fault_in_a_config_names_its_place(folder: Path, config: str, said: str) -> None:
    """File, line and field are named."""
    (folder / "config.yaml").write_text(config)
    with pytest.raises(InputError) as caught:
        load_pack(folder / "dataset.json")
    assert said in str(caught.value)


def test_several_sources_and_none_named(folder: Path) -> None:
    """A row must say which of several files it means."""
    with closing(sqlite3.connect(folder / "two.db")) as connection:
        connection.executescript("CREATE TABLE t(a INT);")
    (folder / "config.yaml").write_text("data_sources: {a: 'sqlite:///demo.db', A: 'sqlite:///two.db'}\n")
    (folder / "dataset.json").write_text(json.dumps([{"id": "x", "question": "q", "ground_truth_sql": "SELECT 1"}]))
    with pytest.raises(InputError, match="names none of several data sources"):
        load_pack(folder / "dataset.json")


@pytest.mark.parametrize("text", ["{}", '{"cases": 5}', '{"cases": []}', "[]", "["])
def test_what_is_no_dataset_says_so(folder: Path, text: str) -> None:
    """Other JSON is one clear error."""
    (folder / "dataset.json").write_text(text)
    with pytest.raises(InputError, match=r"dataset.json"):
        load_pack(folder / "dataset.json")
