"""Find a sandbox provider by name among the installed `sqlassay.sandboxes` entry points."""

from __future__ import annotations

from importlib.metadata import entry_points

from cases.errors import InputError
from sandboxes.contract import Provider

GROUP = "sqlassay.sandboxes"


def names() -> tuple[str, ...]:
    """Return every installed provider name, sorted."""
    return tuple(sorted(point.name for point in entry_points(group=GROUP)))


def provider(name: str, **options: object) -> Provider:
    """Return a new provider, loading its client library only now; options are its constructor's keywords.

    Raises:
        InputError: no such provider; the remedy lists the installed ones.
    """
    for point in entry_points(group=GROUP):
        if point.name == name:
            made: Provider = point.load()(**options)
            return made
    remedy = f"Installed providers: {', '.join(names())}"
    raise InputError(f"unknown sandbox provider '{name}'", field="sandbox", remedy=remedy)
