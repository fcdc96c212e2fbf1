"""Standard output and error that are closed, full, left by their reader or narrow in letters."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_ARGUMENTS = [sys.executable, "-m", "sqlassay.harness.cli", "guard", "--dialect", "sqlite"]
_BAD = '{"id": 1, "sql": "SELECT 1"}\n[]\n'


@pytest.fixture
def statements(tmp_path: Path) -> str:
    """Write one statement and one bad line: the command that reads them ends with 2."""
    file = tmp_path / "s.jsonl"
    file.write_text(_BAD, encoding="utf-8")
    return str(file)


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_reader_that_left_changes_no_exit_code(statements: str, stream: str) -> None:
    """`| head` or `2>&1 | head` costs nothing but the lines nobody read."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        ran = subprocess.run([*_ARGUMENTS, statements], timeout=60, **_streams(stream, writing))  # noqa: S603
    finally:
        os.close(writing)
    assert ran.returncode == 2
    assert b"Traceback" not in (ran.stdout or b"") + (ran.stderr or b"")


@pytest.mark.parametrize(("stream", "code"), [("stdout", 3), ("stderr", 2)])
def test_a_full_disk_under_an_output_is_told_where_it_can_be(statements: str, stream: str, code: int) -> None:
    """Verdicts that cannot be written end with 3 and one line; errors that cannot be told leave the code alone."""
    with Path("/dev/full").open("wb") as full:
        ran = subprocess.run([*_ARGUMENTS, statements], timeout=60, **_streams(stream, full))  # noqa: S603
    assert ran.returncode == code
    if stream == "stdout":
        assert ran.stderr.decode().splitlines()[-1].startswith("INFRASTRUCTURE: No space left on device")
        assert b"Traceback" not in ran.stderr
        assert b"Exception ignored" not in ran.stderr


def test_closed_streams_are_no_fault_and_no_file_takes_their_place(statements: str) -> None:
    """`>&- 2>&-` ends with the command's own code."""
    line = 'exec "$@" <&- >&- 2>&-'
    ran = subprocess.run(["/bin/sh", "-c", line, "sh", *_ARGUMENTS, statements], timeout=60, check=False)  # noqa: S603
    assert ran.returncode == 2


def test_letters_a_terminal_cannot_show_are_escaped(statements: str) -> None:
    """Where output is ASCII only, what it cannot hold is written as an escape, and the command ends as ever."""
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    arguments = [sys.executable, "-m", "sqlassay.harness.cli", "list", "policies"]
    ran = subprocess.run(arguments, timeout=60, env=environment, capture_output=True, check=False)  # noqa: S603
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert ran.stdout.isascii()


def _streams(broken: str, where: object) -> dict[str, object]:
    """Return what a command's streams are: one broken, the other caught."""
    return {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, broken: where}
