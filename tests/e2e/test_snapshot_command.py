"""`sqlassay snapshot` from the command line: what it prints, and one clear line with code 2 for every bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sqlassay.harness.cli.main import main


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of this test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def _call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Run one command and return its exit code and what it printed."""
    with pytest.raises(SystemExit) as ended:
        main(["snapshot", *arguments])
    said = capsys.readouterr()
    return int(str(ended.value.code)), said.out, said.err


def test_an_image_is_built_listed_moved_and_collected(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each command says what it did, and the list follows."""
    assert _call(capsys, "list") == (0, "", "")
    code, out, _ = _call(capsys, "build", "demo")
    ref = out.split()[0]
    assert (code, out) == (0, f"{ref}  1 snapshot, 3 tables\n")
    (line,) = json.loads(_call(capsys, "list", "--json")[1])
    assert line["size"] > 8192
    assert {name: line[name] for name in line if name not in ("size", "used")} == {
        "ref": ref, "dialect": "sqlite", "provider": "process", "databases": 1, "in_use": False, "imported": False,
    }  # fmt: skip
    code, out, _ = _call(capsys, "export", str(tmp_path / "b"))
    digest = out.split()[-1]
    assert (code, out.splitlines()[0]) == (0, ref)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))
    code, out, _ = _call(capsys, "import", str(tmp_path / "b"), "--digest", digest)
    assert (code, out.splitlines()) == (0, [ref, f"1 image taken in  {digest}"])
    assert _call(capsys, "list")[1].split()[-1] == "imported"
    code, out, _ = _call(capsys, "gc", "--keep", "0", "--dry-run")
    assert (code, out.split("\n")[0].startswith(f"would be removed  {ref}  ")) == (0, True)
    code, out, _ = _call(capsys, "gc", "--keep", "0")
    assert (code, out.split("\n")[0].startswith(f"removed  {ref}  ")) == (0, True)
    assert _call(capsys, "list") == (0, "", "")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["build", "no-such-pack"], "no-such-pack"),
        (["build", "demo", "--dialect", "oracle"], "oracle"),
        (["build", "demo", "--sandbox", "none"], "none"),
        (["build", "demo", "--pull", "often"], "--pull"),
        (["build", "demo", "--mirror", ","], "--mirror: names nothing"),
        (["gc"], "--keep"),
        (["gc", "--keep", "-1"], "--keep"),
        (["gc", "--keep", "few"], "--keep"),
        (["export", "x.zip"], "REF: there is no image on this machine"),
        (["export"], "FILE"),
        (["import", "missing.zip"], "missing.zip: cannot be read: No such file or directory"),
        (["import", "."], ".: cannot be read: Is a directory"),
        (["import"], "FILE"),
        (["export", "x.zip", "nothing"], "REF"),
        (["other"], "No such command 'other'"),
    ],
)
def test_every_bad_input_is_one_line(capsys: pytest.CaptureFixture[str], arguments: list[str], said: str) -> None:
    """Exit code 2, and the line names what is wrong."""
    code, out, err = _call(capsys, *arguments)
    assert (code, out) == (2, "")
    lines = err.strip().splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("INPUT: ")
    assert lines[0].endswith("(exit 2)")
    assert said in lines[0]
