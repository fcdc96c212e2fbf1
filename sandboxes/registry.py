"""Find a sandbox provider by name among the installed `sqlassay.sandboxes` entry points."""

from __future__ import annotations

from sqlassay.cases.extensions import installed, load
from sqlassay.sandboxes.contract import Provider

GROUP = "sqlassay.sandboxes"


def names() -> tuple[str, ...]:
    """Return every installed provider name, sorted."""
    return tuple(installed(GROUP))


def provider(name: str, **options: object) -> Provider:
    """Return a new provider, loading its client library only now; options are its constructor's keywords.

    Raises:
        InputError: no such provider; the remedy lists the installed ones.
    """
    made: Provider = load(GROUP, name, what="sandbox provider", field="sandbox")(**options)
    return made
