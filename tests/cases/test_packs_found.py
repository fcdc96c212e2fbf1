"""A pack is found by path or by name, and says which of its files hold gold."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from sqlassay.cases.errors import InfrastructureError, InputError
from sqlassay.cases.formats import registry
from sqlassay.cases.formats.registry import PACKS, find_pack, load_pack
from sqlassay.cases.formats.skill_sources import snapshot_of_script
from sqlassay.cases.starter import write_starter

ROW = {"id": "a", "question": "q", "ground_truth_sql": "SELECT 1"}


@pytest.mark.parametrize("inside", [None, "notes.txt", "package.json", "pack.yml"])
def test_a_folder_that_is_no_pack_does_not_hide_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inside: str | None
) -> None:
    """A folder here that happens to be called like one of our packs is passed over."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "demo").mkdir()
    if inside is not None:
        (tmp_path / "demo" / inside).write_text('{"name": "demo"}')
    assert find_pack("demo") == PACKS / "demo"
    assert len(load_pack(Path("demo")).cases) == 11


def test_a_real_pack_here_wins_and_both_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A pack of our name in the current folder is the one meant; a warning names it and the one it hides."""
    monkeypatch.chdir(tmp_path)
    write_starter(tmp_path / "demo")
    with caplog.at_level(logging.WARNING, "sqlassay.packs"):
        assert find_pack("demo") == Path("demo")
    assert caplog.messages == [f"pack 'demo' is {tmp_path / 'demo'}, not the pack of that name in {PACKS}"]
    assert load_pack(Path("demo")).name == "starter"


def test_a_path_is_a_path_and_says_what_it_lacks(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A folder of any other name is taken as given, without a word, and refused for what it is."""
    assert find_pack(str(tmp_path)) == tmp_path
    assert caplog.messages == []
    with pytest.raises(InputError, match="no format recognises this pack"):
        load_pack(tmp_path)


def test_a_folder_with_one_dataset_is_a_pack_and_one_with_other_json_is_not(tmp_path: Path) -> None:
    """What makes a JSON file a dataset is the gold in its rows."""
    (tmp_path / "one.json").write_text(json.dumps({"schema": "CREATE TABLE t(a INT);", "cases": [ROW]}))
    assert load_pack(tmp_path).format == "skill"
    (tmp_path / "one.json").write_text('{"name": "x"}')
    with pytest.raises(InputError, match="no format recognises this pack"):
        load_pack(tmp_path)
    (tmp_path / "one.json").unlink()
    (tmp_path / "one.json").mkdir()
    with pytest.raises(InputError, match="no format recognises this pack"):
        load_pack(tmp_path)


def test_every_file_with_gold_or_predictions_is_named(tmp_path: Path) -> None:
    """Header, case files and predictions of our format; the dataset of the Skill's."""
    write_starter(tmp_path / "own")
    names = {path.name for path in load_pack(tmp_path / "own").files}
    assert names == {"pack.yaml", "cases.jsonl", "predictions.jsonl"}
    single = tmp_path / "own/single.yaml"
    case = "  - {id: z, question: q, gold: {sqlite: SELECT 1}}\n  - cases.jsonl\n"
    head = "format: 1\nname: s\nsnapshots:\n  library: {schema: schema.yaml, data: data}\ncases:\n"
    single.write_text(head + case)
    assert load_pack(single).files == (single, tmp_path / "own/cases.jsonl")
    dataset = tmp_path / "skill/d.json"
    dataset.parent.mkdir()
    dataset.write_text(json.dumps({"schema": "CREATE TABLE t(a INT);", "cases": [ROW]}))
    assert load_pack(dataset.parent).files == (dataset,)


def test_a_script_is_kept_once_for_its_content(cache: Path) -> None:
    """Loading twice leaves one private file; one that was damaged is written anew; the digest is the text's."""
    first, second = snapshot_of_script("CREATE TABLE t(a INT);", "sqlite"), snapshot_of_script("SELECT 'é'", "sqlite")
    again = snapshot_of_script("CREATE TABLE t(a INT);", "sqlite")
    assert (again.digest, again.scripts) == (first.digest, first.scripts)
    assert second.digest != first.digest
    folder = cache / "sqlassay/scripts"
    assert len(list(folder.iterdir())) == 2
    assert folder.stat().st_mode & 0o777 == 0o700
    (path,) = first.scripts["sqlite"]
    path.write_text("DROP TABLE t;")
    snapshot_of_script("CREATE TABLE t(a INT);", "sqlite")
    assert path.read_text() == "CREATE TABLE t(a INT);"


def test_a_cache_that_cannot_be_written_is_said(cache: Path) -> None:
    """The file and the remedy are named, and it is no fault of the dataset."""
    (cache / "sqlassay").write_text("in the way")
    with pytest.raises(InfrastructureError, match=r"cannot be written.*XDG_CACHE_HOME"):
        snapshot_of_script("SELECT 1", "sqlite")


def test_a_home_serves_where_no_cache_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without XDG_CACHE_HOME the cache is ~/.cache."""
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    (path,) = snapshot_of_script("SELECT 1", "mysql").scripts["mysql"]
    assert path.parent == tmp_path / ".cache/sqlassay/scripts"


def test_a_format_that_is_not_there_is_refused_by_name() -> None:
    """The installed ones are listed."""
    with pytest.raises(InputError, match=r"unknown format 'none'.*own, skill"):
        registry.pack_format("none")
