"""The worker's own process: reads texts from a socket, answers facts; it may die at any text and nobody minds."""

from __future__ import annotations

import logging
import resource
import signal
import socket
import sys
import threading
from typing import Any, cast

from harness.parse.facts import facts_of
from harness.parse.frames import receive, send
from harness.parse.spelling import NONE, Spelled

_STACK = 256 * 1024 * 1024
_RECURSION = 12_000
_MEMORY = 4 * 1024 * 1024 * 1024
_ORPHAN_SECONDS = 20


def main(descriptor: int, dialect: str) -> None:
    """Serve until the parent hangs up, on a thread with a stack deep enough for the deepest allowed text."""
    logging.disable(logging.CRITICAL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    sys.setrecursionlimit(_RECURSION)
    threading.stack_size(_STACK)
    thread = threading.Thread(target=_serve, args=(socket.socket(fileno=descriptor), dialect), daemon=True)
    thread.start()
    thread.join()


def _serve(sock: socket.socket, dialect: str) -> None:
    """Answer one text after the other; catalogues are kept by their key, spellings until others come."""
    catalogs: dict[int, tuple[dict[str, list[str]], list[list[str]]]] = {}
    spellings = NONE
    facts_of("SELECT 1", dialect, None)
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
            spellings = Spelled(*request["spellings"])
            continue
        # Should the parent be gone while a text loops, the default action of the alarm ends this process.
        signal.alarm(_ORPHAN_SECONDS)
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
        signal.alarm(0)
        send(sock, answer)
