"""Find a dialect by name among the installed `sqlassay.dialects` entry points, ours registered as a stranger's."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points

from cases.errors import InputError
from dialect_adapters.contract import Adapter

GROUP = "sqlassay.dialects"


def names() -> tuple[str, ...]:
    """Return every installed dialect name, sorted."""
    return tuple(sorted(point.name for point in entry_points(group=GROUP)))


@cache
def adapter(name: str) -> Adapter:
    """Return the adapter of one dialect, loading its driver only now.

    Raises:
        InputError: no such dialect; the remedy lists the installed ones.
    """
    for point in entry_points(group=GROUP):
        if point.name == name:
            loaded: Adapter = point.load()()
            return loaded
    raise InputError(f"unknown dialect '{name}'", field="dialect", remedy=f"Installed dialects: {', '.join(names())}")
