"""What the page says of macOS, on a Python that lacks what macOS's lacks; it is no Mac, and the page says so."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from sqlassay.dialect_adapters import confined_program

HERE = Path(__file__).parent / "macos"


def _sqlassay(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command as on macOS."""
    command = [sys.executable, "-c", "import sys; from sqlassay.harness.cli.main import main; sys.exit(main())", *words]
    root = Path(__file__).parents[2]
    environment = os.environ | {"PYTHONPATH": f"{HERE}:{root}", "XDG_CACHE_HOME": str(folder / "cache")}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_what_needs_no_database_works(tmp_path: Path) -> None:
    """The parser's worker starts where its memory cannot be limited; rows are compared."""
    (tmp_path / "q.jsonl").write_text('{"id": "a", "sql": "SELECT 1"}\n{"id": "b", "sql": "DROP TABLE t"}\n')
    done = _sqlassay("guard", "--dialect", "postgres", "q.jsonl", folder=tmp_path)
    assert [json.loads(line)["verdict"] for line in done.stdout.splitlines()] == ["allowed", "rejected"], done.stderr
    (tmp_path / "g.csv").write_text("a\n1\n")
    done = _sqlassay("compare", "g.csv", "g.csv", folder=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dialect", "remedy"),
    [
        ("sqlite", "Use an engine that runs Linux containers: `--sandbox docker`"),
        ("postgres", "Use an engine that runs Linux containers: `--sandbox docker`"),
        ("duckdb", "Run sqlassay in a Linux container or virtual machine"),
    ],
)
def test_a_jail_is_refused_with_what_serves_in_its_place(tmp_path: Path, dialect: str, remedy: str) -> None:
    """One line before anything runs; DuckDB, which no container holds, has another way."""
    done = _sqlassay("run", "demo", "--dialect", dialect, "--sandbox", "process", "--out", "out", folder=tmp_path)
    assert done.returncode == 3
    assert f"every jail is made by Linux's kernel, and this is macOS. {remedy}" in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
def test_engines_run_in_containers_met_at_a_port(tmp_path: Path, dialect: str) -> None:
    """`auto` takes a container for SQLite too; sockets, which no virtual machine shares, are not used."""
    words = ("run", "demo", "--dialect", dialect, "--limit", "2", "--jobs", "1", "--out", "out")
    done = _sqlassay(*words, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    isolation = json.loads((tmp_path / "out" / "manifest.json").read_text("utf-8"))["isolation"]
    assert isolation["provider"] == "docker"
    assert "one port published on" in isolation["network"]


def test_a_script_s_process_is_limited_as_far_as_the_kernel_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Linux's own calls and a limit of memory those of time, files and processes still hold."""
    held: dict[int, int] = {}

    def limit(kind: int, limits: tuple[int, int]) -> None:
        if kind == confined_program.resource.RLIMIT_AS:
            raise ValueError("current limit exceeds maximum limit")
        held[kind] = limits[0]

    monkeypatch.setattr(confined_program.resource, "setrlimit", limit)
    monkeypatch.setattr(confined_program.ctypes, "CDLL", lambda name: SimpleNamespace(prctl=lambda *given: 0))
    with pytest.raises(ValueError, match="exceeds"):
        confined_program.confine(1 << 30, 7)
    monkeypatch.setattr(confined_program.sys, "platform", "darwin")
    confined_program.confine(1 << 30, 7)
    assert held[confined_program.resource.RLIMIT_CPU] == 7
    assert held[confined_program.resource.RLIMIT_NPROC] == 0
