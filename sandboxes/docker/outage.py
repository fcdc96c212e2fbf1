"""An engine that stops answering while a run goes on: told from one that refuses, and waited for while it restarts."""

from __future__ import annotations

import time

from docker.errors import APIError
from requests import RequestException

from sqlassay.cases.errors import EngineUnavailableError
from sqlassay.sandboxes.docker.client import connect

ANSWER_SECONDS = 30
"""The longest the engine may take for one answer while a run goes on; a bake may take it longer."""

OUTAGE_SECONDS = 30.0
"""How long a run waits for an engine that restarts."""

_PING_SECONDS = 5
_POLL_SECONDS = 0.25


def is_outage(fault: BaseException | None) -> bool:
    """Return True where the engine was not reached or broke off, False where it answered, with whatever error."""
    return isinstance(fault, RequestException) and not isinstance(fault, APIError)


def answers() -> bool:
    """Return True where the engine answers now, within seconds."""
    try:
        connect(timeout=_PING_SECONDS).api.close()
    except EngineUnavailableError:
        return False
    return True


def is_over() -> bool:
    """Wait for the engine to answer again and return whether it did in time."""
    deadline = time.monotonic() + OUTAGE_SECONDS
    while not answers():
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_SECONDS)
    return True
