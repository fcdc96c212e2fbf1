"""A fault in an input names its file, its line and its field, and a dry run finds what a run would."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sqlassay.cases.errors import InputError
from sqlassay.cases.formats.registry import load_pack
from sqlassay.cases.sources.rows_check import check
from sqlassay.cases.starter import write_starter
from sqlassay.dialect_adapters.contract import Endpoint
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.harness.cli.main import _run
from sqlassay.sandboxes.registry import provider

Edit = Callable[[str], str]

BOOKS = r"data/books\.csv"
ROWS: list[tuple[str, Edit, str]] = [
    ("no number", lambda text: text.replace("\n1,", "\nx,", 1), rf"{BOOKS}:2:id: 'x' is no whole number"),
    ("too wide", lambda text: text.replace("\n1,", f"\n{2**63},", 1), rf"{BOOKS}:2:id: '9223372036854775808' is"),
    ("twice", lambda text: text + text.splitlines()[1] + "\n", rf"{BOOKS}:(?!2:)\d+:books: .*(another|UNIQUE)"),
    ("short", lambda text: text + "\n9\n", rf"{BOOKS}:\d+: record has 1 fields"),
]


def _pack(folder: Path, edit: Edit) -> Path:
    """Write the starter pack with its rows edited."""
    write_starter(folder)
    rows = folder / "data" / "books.csv"
    rows.write_text(edit(rows.read_text()))
    return folder


@pytest.mark.parametrize(("edit", "said"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_dry_run_refuses_the_rows_that_a_run_refuses(
    tmp_path: Path, edit: Edit, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit code is 2 and the line names file, line and column."""
    folder = _pack(tmp_path / "p", edit)
    assert _run(["run", str(folder), "--dry-run"]) == 2
    shown = capsys.readouterr().err
    with pytest.raises(InputError, match=said) as caught:
        check(load_pack(folder))
    assert str(caught.value) in shown


@pytest.mark.parametrize(("edit", "said"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_sqlite_load_names_the_line_of_the_row(tmp_path: Path, edit: Edit, said: str) -> None:
    """The engine's own refusal is placed in the file."""
    (snapshot,) = load_pack(_pack(tmp_path / "p", edit)).snapshots
    (tmp_path / "data").mkdir()
    with pytest.raises(InputError, match=said):
        adapter("sqlite").load(Endpoint(tmp_path / "data"), [snapshot])


@pytest.mark.docker
@pytest.mark.parametrize("dialect", ["postgres", "mysql"])
def test_server_load_names_the_line_of_the_row(tmp_path: Path, dialect: str) -> None:
    """A key that stands twice is found at its line, blank lines and line ends inside fields counted."""
    edit: Edit = lambda text: text.replace("\n", "\n\n", 1) + text.splitlines()[1] + "\n"  # noqa: E731
    folder = _pack(tmp_path / "p", edit)
    lines = (folder / "data" / "books.csv").read_text().splitlines()
    host = provider("docker")
    try:
        with pytest.raises(InputError, match=rf"data/books\.csv:{len(lines)}:books: ") as caught:
            host.prepare(adapter(dialect), load_pack(folder).snapshots, lambda _: None)
    finally:
        host.close()
    assert caught.value.exit_code == 2


def test_whole_pack_counts_its_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A dry run says how many rows it read, and NULL keys are never twice."""
    folder = _pack(tmp_path / "p", lambda text: text)
    rows = check(load_pack(folder))
    assert rows > 0
    assert _run(["run", str(folder), "--dry-run"]) == 0
    assert f"{rows} rows" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("trials: 1\njobs: x\n", "c.yaml:2:jobs: "),
        ("\n\nnonsense: 1\n", "c.yaml:3:nonsense: "),
        ("jobs: 1\ntags:\n  - 5\n", "c.yaml:2:tags: "),
    ],
)
def test_run_file_fault_names_its_line(
    tmp_path: Path, content: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A malformed option of a run file is named as file:line:field."""
    folder = _pack(tmp_path / "p", lambda text: text)
    (tmp_path / "c.yaml").write_text(content)
    assert _run(["run", str(folder), "--dry-run", "--config", str(tmp_path / "c.yaml")]) == 2
    assert f"{tmp_path}/{said}" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["JOBS", "GOLD_TIMEOUT", "ROW_LIMIT"])
def test_environment_fault_names_the_variable_as_it_is_set(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The name can be copied into a shell."""
    folder = _pack(tmp_path / "p", lambda text: text)
    monkeypatch.setenv(f"SQLASSAY_{name}", "x")
    assert _run(["run", str(folder), "--dry-run"]) == 2
    assert f"INPUT: SQLASSAY_{name}: " in capsys.readouterr().err
