"""Every fenced block of every page is run or validated; a block that cannot be is marked `text`.

`console` blocks hold `$ command` lines, each followed by lines its output must contain in that order (`…` stands for
anything). A command ends with exit code 0 unless its expected lines say `(exit N)`. `sh` blocks must end with 0.
`python` blocks of a page run one after the other in one namespace. A block whose info string says `file=NAME` is
written there first, so that later blocks of the page can use it.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import sqlglot
import yaml

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    page
    for pattern in ("*.md", "docs/**/*.md", "changelog/*.md", "skill/**/*.md")
    for page in ROOT.glob(pattern)
    if page.is_file()
)
_FENCE = re.compile(r"(?ms)^(?P<indent> *)(?P<fence>`{3,})(?P<info>[^\n`]*)\n(?P<body>.*?)^ *(?P=fence) *$")
_RUN_MARKS = ("console", "sh", "python")


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, the file it is written to, its text and where it starts."""

    language: str
    file: str | None
    text: str
    line: int


def blocks(page: Path) -> list[Block]:
    """Return the fenced blocks of a page in order."""
    text = page.read_text(encoding="utf-8")
    found = []
    for match in _FENCE.finditer(text):
        language, *rest = match["info"].split() or [""]
        named = next((word.removeprefix("file=") for word in rest if word.startswith("file=")), None)
        body = re.sub(rf"(?m)^{match['indent']}", "", match["body"]) if match["indent"] else match["body"]
        found.append(Block(language, named, body, text.count("\n", 0, match.start()) + 1))
    return found


def shell(command: str, folder: Path) -> tuple[int, str]:
    """Run one command in bash with this environment's programs; return its exit code and everything it printed."""
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": programs, "CI": "true", "COLUMNS": "110", "PYTHONPATH": str(folder)}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    return done.returncode, done.stdout


def contains(output: str, expected: list[str]) -> str | None:
    """Return the first expected line that does not appear in its turn, None where all do."""
    rest = [" ".join(line.split()) for line in output.splitlines()]
    for line in expected:
        pattern = ".*".join(map(re.escape, " ".join(line.split()).split("…")))
        hit = next((index for index, shown in enumerate(rest) if re.search(pattern, shown)), None)
        if hit is None:
            return line
        rest = rest[hit + 1 :]
    return None


def check_console(block: Block, folder: Path) -> None:
    """Run each command of a console block and compare what it prints."""
    entries = re.split(r"(?m)^\$ ", block.text)
    assert not entries[0].strip(), "a console block starts with `$ `"
    for entry in entries[1:]:
        command, *expected = entry.rstrip("\n").split("\n")
        wanted = re.search(r"\(exit (\d+)\)", "\n".join(expected))
        code, output = shell(command, folder)
        assert code == (int(wanted[1]) if wanted else 0), f"{command}\n{output}"
        missing = contains(output, [line for line in expected if line.strip()])
        assert missing is None, f"{command} does not print {missing!r}:\n{output}"


def check_shell(block: Block, folder: Path) -> None:
    """Run a shell block as a whole."""
    code, output = shell(block.text, folder)
    assert code == 0, output


_CHECKS: dict[str, Callable[[str], object]] = {
    "yaml": lambda text: list(yaml.safe_load_all(text)),
    "json": json.loads,
    "jsonl": lambda text: [json.loads(line) for line in text.splitlines() if line],
    "toml": tomllib.loads,
    "csv": lambda text: list(csv.DictReader(io.StringIO(text), strict=True)),
    "sql": lambda text: sqlglot.parse(text, read="sqlite"),
}


def runs_something(page: Path) -> bool:
    """Return True where a page has a block that is run."""
    return any(block.language in _RUN_MARKS for block in blocks(page))


def page_parameters() -> list[object]:
    """Return every page; the ones that run something start jailed workers."""
    return [
        pytest.param(page, id=str(page.relative_to(ROOT)), marks=[pytest.mark.jail] if runs_something(page) else [])
        for page in PAGES
        if page.name != "SKILL.md"
    ]


@pytest.mark.parametrize("page", page_parameters())
def test_every_block_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands print what the page says, code runs, data can be read; nothing is left unmarked."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    namespace: dict[str, object] = {"__name__": "docs"}
    for block in blocks(page):
        where = f"{page.relative_to(ROOT)}:{block.line}"
        if block.file is not None:
            target = tmp_path / block.file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(block.text, encoding="utf-8")
        if block.language == "console":
            check_console(block, tmp_path)
        elif block.language == "sh":
            check_shell(block, tmp_path)
        elif block.language == "python":
            exec(compile(block.text, where, "exec"), namespace)  # noqa: S102
        elif block.language in _CHECKS:
            _CHECKS[block.language](block.text)
        else:
            assert block.language == "text", f"{where}: mark the block with a language, or `text`"


def test_pages_are_found() -> None:
    """The walk sees the pages it is for."""
    names = {str(page.relative_to(ROOT)) for page in PAGES}
    assert {"README.md", "docs/tutorial.md", "docs/architecture.md", "docs/glossary.md"} <= names


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    """Every relative link names a file or folder of the repository."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        if not re.match(r"[a-z]+:", target):
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_make_targets_exist(page: Path) -> None:
    """Every `make TARGET` a page speaks of is a target of the Makefile."""
    targets = set(re.findall(r"(?m)^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8")))
    spoken = re.findall(r"(?:`|^\s*\$? ?)make ([a-z]+)", page.read_text(encoding="utf-8"), flags=re.M)
    assert set(spoken) <= targets


def test_console_output_is_really_compared() -> None:
    """A line that is not printed, or not in that order, is found out."""
    assert contains("a 1\nb 2", ["a", "b …2"]) is None
    assert contains("a 1\nb 2", ["b", "a"]) == "a"
    assert contains("a 1", ["c"]) == "c"


def test_blocks_are_read_with_language_file_and_indent(tmp_path: Path) -> None:
    """An indented block loses its indent; the info string names language and file."""
    page = tmp_path / "page.md"
    page.write_text("1. x\n\n   ```yaml file=a.yaml\n   a: 1\n   ```\n\n````text\n```\n````\n")
    first, second = blocks(page)
    assert (first.language, first.file, first.text) == ("yaml", "a.yaml", "a: 1\n")
    assert (second.language, second.text) == ("text", "```\n")
