"""`sqlassay clean`: remove what dead runs left; living runs are never touched."""

from __future__ import annotations

import click


@click.command("clean")
def command() -> int:
    """Remove sandboxes whose run is dead (its lock is free) on every provider that answers here."""
    from sqlassay.cases.errors import EngineUnavailableError
    from sqlassay.sandboxes.registry import names, provider

    removed: list[str] = []
    for name in names():
        try:
            here = provider(name)
            removed += here.sweep()
            here.close()
        except EngineUnavailableError as error:
            click.echo(f"{name}: skipped, {error.message}")
    for line in removed:
        click.echo(f"removed {line}")
    click.echo(f"OK: {len(removed)} leftovers removed (exit 0)")
    return 0
