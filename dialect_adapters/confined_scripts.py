"""Run a pack's SQL script in a process of its own, which it can crash or keep busy until the deadline, and no more."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

from sqlassay.cases.errors import InputError
from sqlassay.cases.sources.scripts import script_text
from sqlassay.dialect_adapters import confined_program

SCRIPT_SECONDS = 300
"""Seconds that one script may take, and of processor time that it may use."""

SCRIPT_BYTES = 4 * 1024**3
"""Address space of the process that runs a script."""


class ScriptRefusedError(Exception):
    """The engine refused a statement: its words, the line, and its code where it has codes."""

    def __init__(self, said: str, line: int, code: int) -> None:
        """Keep what is told."""
        super().__init__(said)
        self.line = line
        self.code = code


def run_confined(runner: str, target: Path, script: Path, **more: str) -> None:
    """Run one script on a database file by a dialect's runner, the path of a Python file.

    Raises:
        ScriptRefusedError: a statement failed.
        InputError: no end was seen, or the process crashed.
    """
    asked = {"path": str(target), "text": script_text(script), "memory": SCRIPT_BYTES, "seconds": SCRIPT_SECONDS}
    command = [sys.executable, "-I", "-S", "-B", confined_program.__file__, runner]
    # A group of its own: Ctrl-C reaches us, and we end it.
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
    ) as process:
        try:
            out, _ = process.communicate(json.dumps(asked | more).encode(), timeout=SCRIPT_SECONDS)
        except subprocess.TimeoutExpired:
            message, remedy = (
                f"the script did not end within {SCRIPT_SECONDS} s",
                "Look for an endless statement in it",
            )
            raise InputError(message, file=script, remedy=remedy) from None
        finally:  # an interrupt too
            process.kill()
    try:
        answer = json.loads(out)
    except ValueError:
        number = -process.returncode
        ended = f"signal {number}" if number > 0 else f"code {process.returncode}"
        late = number in (signal.SIGXCPU, signal.SIGKILL)
        why = f"ran {SCRIPT_SECONDS} s of processor time" if late else f"ended the process that ran it ({ended})"
        raise InputError(f"the script {why}", file=script, remedy="Take out what does that") from None
    if "error" in answer:
        raise ScriptRefusedError(answer["error"], answer["line"], answer["code"])
