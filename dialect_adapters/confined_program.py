"""The program that runs a dialect's script runner in a process of its own, without anything a script has no use for.

Runs as `python confined_program.py RUNNER` with the standard library alone; RUNNER is a Python file with a function
`run_script` that takes what standard input holds (JSON) and returns what standard output gets: {"error", "line",
"code"} where a statement failed, else {}. It starts no process and ends with whoever started it.
"""

from __future__ import annotations

import ctypes
import json
import resource
import runpy
import signal
import sys
from typing import Any

_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS = 1, 38


def main() -> None:
    """Run the script that standard input holds and say how it went."""
    asked: dict[str, Any] = json.load(sys.stdin)
    confine(int(asked["memory"]), int(asked["seconds"]))
    json.dump(runpy.run_path(sys.argv[1])["run_script"](asked), sys.stdout)


def confine(memory: int, seconds: int) -> None:
    """Give up what a script has no use for, for good."""
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    limits = ((resource.RLIMIT_AS, memory), (resource.RLIMIT_CPU, seconds), (resource.RLIMIT_CORE, 0))
    for limit, value in (*limits, (resource.RLIMIT_NPROC, 0), (resource.RLIMIT_NOFILE, 64)):
        hard = resource.getrlimit(limit)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)  # noqa: PLW2901 - a lower limit holds
        try:
            resource.setrlimit(limit, (value, value))
        except (ValueError, OSError):
            if sys.platform == "linux" or limit != resource.RLIMIT_AS:
                raise  # macOS alone takes no limit below what a process has mapped


if __name__ == "__main__":
    main()
