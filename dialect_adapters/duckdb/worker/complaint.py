"""What an error of the engine or of our own limits is called in an answer."""

from __future__ import annotations

import duckdb

_TIME = ("maximum execution time", "Interrupted")


class LimitPassedError(Exception):
    """A result passed a row or byte limit while it was fetched."""

    def __init__(self, kind: str, message: str) -> None:
        """Keep the failure kind beside the message."""
        super().__init__(message)
        self.kind = kind


def failure_kind(error: BaseException) -> str:
    """Return the failure kind an error of the statement stands for."""
    if isinstance(error, LimitPassedError):
        return error.kind
    if isinstance(error, (MemoryError, duckdb.OutOfMemoryException)):
        return "resource_limit"
    if isinstance(error, duckdb.InterruptException) and any(mark in str(error) for mark in _TIME):
        return "timeout"
    return "error"


def failure_message(error: BaseException) -> str:
    """Return the first line of an error: candidates, advice and a drawing of the place in the statement follow it."""
    if isinstance(error, MemoryError):
        return "out of memory"
    return str(error).strip().partition("\n")[0].strip() or type(error).__name__
