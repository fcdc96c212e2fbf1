"""The worker's own process: reads texts from a socket, answers facts; it may die at any text and nobody minds."""

from __future__ import annotations

import logging
import resource
import signal
import socket
import sys
import threading
from typing import Any, cast

from sqlassay.harness.parse.facts import TOO_LARGE, facts_of
from sqlassay.harness.parse.frames import receive, send
from sqlassay.harness.parse.spelling import NONE, Spelled

_STACK = 256 * 1024 * 1024
_RECURSION = 12_000
_MEMORY = 4 * 1024 * 1024 * 1024


def main(descriptor: int, dialect: str, seconds: float) -> None:
    """Serve until the parent hangs up, on a thread with a stack deep enough for the deepest allowed text.

    A text may take `seconds` of this process's own CPU time: a machine that is busy or asleep is no fault of a text.
    Past them the kernel ends the process with SIGPROF, also where the parent is gone.
    """
    logging.disable(logging.CRITICAL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    lower = _limit_memory()
    sys.setrecursionlimit(_RECURSION)
    threading.stack_size(_STACK)
    thread = threading.Thread(
        target=_serve, args=(socket.socket(fileno=descriptor), dialect, seconds, lower), daemon=True
    )
    thread.start()
    thread.join()


def _limit_memory() -> bool:
    """Lower the limit of the address space; return True where it is lower already, as by a shell's `ulimit -v`."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    lower = soft != resource.RLIM_INFINITY and soft < _MEMORY
    if not lower:
        try:
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        except (ValueError, OSError):
            if sys.platform == "linux":
                raise
            # macOS refuses any that is less than what a process has mapped, which is nearly all there is.
    return lower


def _serve(sock: socket.socket, dialect: str, seconds: float, lower: bool) -> None:
    """Answer one text after the other; catalogues are kept by their key, spellings until others come.

    Memory that runs out under a limit lower than ours says nothing about the text: the process ends without an answer.
    """
    catalogs: dict[int, tuple[dict[str, list[str]], list[list[str]]]] = {}
    spellings = NONE
    warm = facts_of("SELECT 1", dialect, None)
    if warm.get("error") == TOO_LARGE:  # any other fault is the dialect's, and each text will say it
        sys.stderr.write(f"SELECT 1: {warm['error']}\n")
        return
    send(sock, "ready")
    while True:
        try:
            request = cast(dict[str, Any], receive(sock))
        except EOFError:
            return
        if "tables" in request:
            catalogs[request["catalog"]] = request["tables"], request["keys"]
            continue
        if "spellings" in request:
            spellings = NONE if request["spellings"] is None else Spelled(*request["spellings"])
            continue
        signal.setitimer(signal.ITIMER_PROF, seconds)
        tables, keys = catalogs.get(request["use"], (None, []))
        answer = facts_of(
            request["sql"],
            request["dialect"],
            tables,
            keys=keys,
            scope=request["scope"],
            brief=request["brief"],
            spellings=spellings,
        )
        signal.setitimer(signal.ITIMER_PROF, 0)
        if lower and answer.get("error") == TOO_LARGE:
            return
        send(sock, answer)
