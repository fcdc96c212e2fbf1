"""What is asked of a crosscheck is checked before any engine is brought up."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from sqlassay.cases.formats.registry import load_pack
from sqlassay.harness.cli.crosscheck_command import _config, _dialects, _files, _one_for_all
from sqlassay.harness.cli.main import _run
from sqlassay.harness.run.options import options_from

BOTH = ("sqlite", "mysql")


@pytest.mark.parametrize("text", ["sqlite", "", "sqlite,sqlite"])
def test_two_different_dialects_are_needed(text):
    """One engine cannot be crossed."""
    with pytest.raises(click.UsageError, match="at least two different dialects"):
        _dialects(text)


def test_files_by_dialect():
    """A name before `=` is a dialect only where it is one of those crossed; each dialect needs a file, and only one."""
    assert _files(("sqlite=a.jsonl", "mysql=b.jsonl"), BOTH) == {"sqlite": Path("a.jsonl"), "mysql": Path("b.jsonl")}
    assert _files(("odd=name.jsonl",), BOTH) == {"": Path("odd=name.jsonl")}
    with pytest.raises(click.UsageError, match="no file for mysql"):
        _files(("sqlite=a.jsonl",), BOTH)
    with pytest.raises(click.UsageError, match="two files for all dialects"):
        _files(("a.jsonl", "b.jsonl"), BOTH)


def test_answers_without_a_dialect_go_to_all_as_they_are(tmp_path):
    """Rows of one dialect or none are one text for every engine; rows of two are asked for each."""
    pack = load_pack(Path("demo"))
    file = tmp_path / "a.jsonl"
    case = pack.cases[0].id
    file.write_text(f'{{"case_id": "{case}", "sql": "SELECT 1"}}\n', encoding="utf-8")
    assert _one_for_all({"": file}, pack)
    rows = "".join(f'{{"case_id": "{case}", "sql": "SELECT 1", "dialect": "{name}"}}\n' for name in BOTH)
    file.write_text(rows, encoding="utf-8")
    assert not _one_for_all({"": file}, pack)


def test_environment_sets_how_but_not_what(monkeypatch):
    """Jobs and limits may come from the environment, the dialect of one engine may not."""
    monkeypatch.setenv("SQLASSAY_JOBS", "3")
    monkeypatch.setenv("SQLASSAY_TIMEOUT", "5")
    monkeypatch.setenv("SQLASSAY_DIALECT", "postgres")
    base = options_from({"timeout": 7}, file=None)
    config = _config(base, load_pack(Path("demo")), "mysql", None)
    assert (config.dialect, config.jobs, config.timeout) == ("mysql", 3, 7)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--dialects", "sqlite,nosuch"], "nosuch"),
        (["--predict", "guess"], "guess"),
        (["--agent", "a.py:f", "--predictions", "x.jsonl"], "x.jsonl"),
    ],
)
def test_wrong_use_ends_with_2(capsys, arguments, said):
    """One line says what is wrong, and nothing runs."""
    assert _run(["crosscheck", "demo", *arguments]) == 2
    assert said in capsys.readouterr().err
