"""Writes docs/reference.md from the program itself: `python tests/docs/reference.py`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path

import click

PAGE = Path(__file__).parents[2] / "docs" / "reference.md"
_GROUPS = ("dialects", "sandboxes", "formats", "agents", "judges", "reports")
_HEAD = """\
# Reference

Generated from the program by `make docs`; a test fails where it is stale. `sqlassay list WHAT` says what is installed.
"""


def reference() -> str:
    """Return the whole page."""
    parts = [_HEAD, "## Commands", *map(_command, _commands()), "## Metrics", _metrics(), "## Policies", _policies()]
    return "\n\n".join([*(part.rstrip("\n") for part in parts), "## Installed by name", _installed()]) + "\n"


def _commands() -> list[tuple[str, click.Command]]:
    """Return every command with its name; subcommands follow their group."""
    main = import_module("sqlassay.harness.cli.main")
    found: list[tuple[str, click.Command]] = []
    for name in main.COMMANDS:
        command: click.Command = import_module(f"sqlassay.harness.cli.{main.module_of(name)}").command
        found.append((name, command))
        if isinstance(command, click.Group):
            found += [(f"{name} {sub}", command.commands[sub]) for sub in sorted(command.commands)]
    return found


def _command(entry: tuple[str, click.Command]) -> str:
    """Return one command's section: usage, help and a table of options."""
    name, command = entry
    context = click.Context(command, info_name=f"sqlassay {name}")
    usage = " ".join(command.collect_usage_pieces(context))
    about = " ".join((command.help or "").split()).replace("<", "&lt;")
    options = [parameter for parameter in command.params if isinstance(parameter, click.Option)]
    rows = [(_option(option, context), (option.help or "").replace("<", "&lt;")) for option in options]
    table = _table(("option", "meaning"), rows) if rows else ""
    return f"### `sqlassay {name} {usage}`\n\n{about}\n\n{table}".rstrip()


def _option(option: click.Option, context: click.Context) -> str:
    """Return how an option is written, as its help shows it."""
    record = option.get_help_record(context)
    return f"`{record[0]}`" if record else f"`{option.opts[0]}`"


def _metrics() -> str:
    """Return the table of installed metrics."""
    found = [point.load() for point in sorted(entry_points(group="sqlassay.metrics"), key=lambda point: point.name)]
    rows = [(f"`{m.name}`", f"{m.range[0]:g}–{m.range[1]:g}", m.formula, m.citation) for m in found]
    return _table(("metric", "range", "formula", "source"), rows)


def _policies() -> str:
    """Return the table of presets with what each sets apart from `strict`."""
    presets = import_module("sqlassay.cases.presets")
    strict = presets.preset("strict").model_dump(mode="json")
    rows = []
    for name in sorted(presets.preset_names()):
        fields = presets.preset(name).model_dump(mode="json")
        apart = ", ".join(f"`{key}: {value}`" for key, value in fields.items() if value != strict[key])
        rows.append((f"`{name}`", f"`{presets.preset(name).digest}`", apart or "–"))
    return _table(("preset", "digest", "apart from strict"), rows)


def _installed() -> str:
    """Return what each group of entry points has."""
    rows = [
        (group, ", ".join(f"`{name}`" for name in sorted({p.name for p in entry_points(group=f"sqlassay.{group}")})))
        for group in _GROUPS
    ]
    return _table(("kind", "names"), rows)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return "\n".join([*lines, *("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)])


if __name__ == "__main__":
    PAGE.write_text(reference(), encoding="utf-8")
