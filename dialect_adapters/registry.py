"""Find a dialect by name among the installed `sqlassay.dialects` entry points, ours registered as a stranger's."""

from __future__ import annotations

from functools import cache

from sqlassay.cases.extensions import installed, load
from sqlassay.dialect_adapters.contract import Adapter

GROUP = "sqlassay.dialects"


def names() -> tuple[str, ...]:
    """Return every installed dialect name, sorted."""
    return tuple(installed(GROUP))


@cache
def adapter(name: str) -> Adapter:
    """Return the adapter of one dialect, loading its driver only now.

    Raises:
        InputError: no such dialect; the remedy lists the installed ones.
    """
    found: Adapter = load(GROUP, name, what="dialect", field="dialect")()
    return found
