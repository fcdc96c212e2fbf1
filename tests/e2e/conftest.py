"""Run the command as a user does: a process of its own, with a cache of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Ran:
    """What a command printed, what it ended with and where its run folder is."""

    code: int
    out: str
    err: str
    folder: Path

    @property
    def summary(self) -> dict:
        """Return summary.json."""
        return json.loads((self.folder / "summary.json").read_text(encoding="utf-8"))

    @property
    def results(self) -> list[dict]:
        """Return the lines of results.jsonl."""
        return [json.loads(line) for line in (self.folder / "results.jsonl").read_text(encoding="utf-8").splitlines()]

    @property
    def verdicts(self) -> dict[str, str]:
        """Return each case's verdict."""
        return {result["case_id"]: result["verdict"] for result in self.results}

    def mean(self, metric: str) -> float | None:
        """Return the mean of one metric over the results that have it."""
        values = [r["scores"][metric]["value"] for r in self.results]
        present = [value for value in values if value is not None]
        return sum(present) / len(present) if present else None


@pytest.fixture
def cli(tmp_path: Path) -> Callable[..., Ran]:
    """Return a function that runs `sqlassay` and waits for its end."""

    def ran(*arguments: str, timeout: float = 600, env: dict[str, str] | None = None, name: str = "run") -> Ran:
        folder = tmp_path / name
        command = [sys.executable, "-m", "sqlassay.harness.cli", *arguments]
        if arguments[0] == "run" and "--out" not in arguments:
            command += ["--out", str(folder)]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **(env or {})},
            cwd=tmp_path,
        )
        assert "Traceback" not in done.stderr + done.stdout, done.stderr
        return Ran(done.returncode, done.stdout, done.stderr, folder)

    return ran
