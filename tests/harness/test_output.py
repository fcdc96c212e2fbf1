"""Folders that commands write: nobody else's files are touched, all is private, and every one is known later."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sqlassay.cases.errors import InputError
from sqlassay.harness.cli.main import main
from sqlassay.harness.run import asking
from sqlassay.harness.store.folder import RunFolder
from sqlassay.harness.store.output import MARKER, check_output, claim, marked_below, note, noted


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give each test a cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache/sqlassay"


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def _state(folder: Path) -> dict[str, tuple[int, str]]:
    """Return what a folder holds: modes and contents."""
    return {
        str(path): (_mode(path), path.read_text() if path.is_file() else "") for path in (folder, *folder.rglob("*"))
    }


@pytest.mark.parametrize("kind", ["run", "check-cases", "redteam", "crosscheck", "rescore", "calibrate"])
def test_a_folder_of_somebody_else_is_refused_and_left_as_it_is(tmp_path: Path, kind: str) -> None:
    """A draft, a summary and the mode of a user's folder stay, even through a link and from inside the folder."""
    mine = tmp_path / "mine"
    mine.mkdir(mode=0o755)
    for name in ("notes.tmp", "summary.json", "results.csv", "manifest.json.tmp"):
        (mine / name).write_text("mine")
    (tmp_path / "link").symlink_to(mine)
    before = _state(mine)
    for place in (mine, tmp_path / "link"):
        with pytest.raises(InputError, match="is not empty and was not written by"):
            RunFolder(place) if kind == "run" else claim(place, kind)
    assert _state(mine) == before


def test_the_mode_of_an_empty_folder_that_was_there_stays(tmp_path: Path) -> None:
    """What a run writes into it is private all the same."""
    (tmp_path / "mine").mkdir(mode=0o755)
    with RunFolder(tmp_path / "mine") as folder:
        folder.finish([], [])
        assert _mode(tmp_path / "mine") == 0o755
        assert {_mode(path) for path in (tmp_path / "mine").iterdir()} == {0o600}


def test_a_new_folder_and_those_above_it_are_private(tmp_path: Path) -> None:
    """Nobody else of the machine can list them."""
    claim(tmp_path / "a/b/c", "redteam")
    assert [_mode(tmp_path / name) for name in ("a", "a/b", "a/b/c", "a/b/c/" + MARKER)] == [0o700] * 3 + [0o600]


def test_a_folder_is_written_again_by_the_command_that_wrote_it_alone(tmp_path: Path) -> None:
    """check-cases may write its folder anew; redteam may not."""
    claim(tmp_path / "out", "check-cases")
    (tmp_path / "out/health.json").write_text("{}")
    check_output(claim(tmp_path / "out", "check-cases"), "check-cases")
    with pytest.raises(InputError, match="not written by `sqlassay redteam`"):
        claim(tmp_path / "out", "redteam")


@pytest.mark.parametrize("marker", ["", "[]", "not json", '{"format": 1}', '{"kind": ["run"]}'])
def test_a_marker_that_says_nothing_marks_nothing(tmp_path: Path, marker: str) -> None:
    """A file of that name is no leave to write."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / MARKER).write_text(marker)
    with pytest.raises(InputError, match="is not empty"):
        claim(tmp_path / "out", "run")


def test_a_run_refused_at_its_folder_starts_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command says so before a sandbox is asked for, with exit code 2, and the folder is as it was."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/summary.json").write_text("mine")
    for command in (["run", "demo"], ["check-cases", "demo"], ["redteam"], ["crosscheck", "demo"]):
        with pytest.raises(SystemExit) as ended:
            main([*command, "--out", str(tmp_path / "mine")])
        assert ended.value.code == 2
        assert "Name a new or an empty folder; nothing was changed" in capsys.readouterr().err
    assert _state(tmp_path / "mine").keys() == {str(tmp_path / "mine"), str(tmp_path / "mine/summary.json")}


def test_what_was_written_is_known_until_it_is_gone(tmp_path: Path) -> None:
    """Folders and files are noted once each; one that was removed is forgotten."""
    claim(tmp_path / "health", "check-cases")
    (tmp_path / "verdicts.jsonl").write_text("")
    for _ in range(2):
        note(tmp_path / "verdicts.jsonl")
    note(tmp_path / "gone")
    assert noted() == (tmp_path / "health", tmp_path / "verdicts.jsonl")
    assert marked_below(tmp_path) == (tmp_path / "health",)


def test_every_folder_that_was_ever_written_is_hidden_from_an_agent(tmp_path: Path, cache: Path) -> None:
    """Reports of other commands, wherever they stand, and the whole cache are among what the veil masks."""
    for place, kind in (("far/away", "check-cases"), ("far/run", "run")):
        claim(tmp_path / place, kind)
    beside = tmp_path / "packs/beside"
    beside.mkdir(parents=True)
    (beside / MARKER).write_text(json.dumps({"format": 1, "kind": "redteam"}))
    pack: Any = SimpleNamespace(path=tmp_path / "packs/p", files=())
    config: Any = SimpleNamespace(out=tmp_path / "out", dry_run=False, judge=(), judge_record=None)
    hidden = set(asking._hidden(config, pack))
    assert {tmp_path / "far/away", tmp_path / "far/run", beside, cache, tmp_path / "out"} <= hidden


@pytest.mark.parametrize("command", ["init", "convert"])
def test_a_pack_that_is_written_is_private_and_noted(tmp_path: Path, command: str) -> None:
    """A pack holds gold: its files are 0600 in folders of 0700, and an agent of another pack cannot read them."""
    arguments = ["init"] if command == "init" else ["convert", "auto", "demo", "--out"]
    with pytest.raises(SystemExit) as ended:
        main([*arguments, str(tmp_path / "new")])
    assert ended.value.code == 0
    modes = {path: _mode(path) for path in (tmp_path / "new", *(tmp_path / "new").rglob("*"))}
    assert {mode for path, mode in modes.items() if path.is_dir()} == {0o700}
    assert {mode for path, mode in modes.items() if path.is_file()} == {0o600}
    assert any((tmp_path / "new/cases.jsonl").is_relative_to(path) for path in noted())
