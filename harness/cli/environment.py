"""Options from the environment: `SQLASSAY_<OPTION>` for every command that has the option, refused where none has."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from importlib import import_module

import click

from sqlassay.cases.errors import InputError

PREFIX = "SQLASSAY"
_TESTS = frozenset({"SQLASSAY_CHAOS_ENGINE"})
"""What the project's own long tests are told by."""

_READ_BY_LAYER = frozenset({"run", "crosscheck"})
"""Commands that take the environment as a layer of its own, below the command line and above run files."""


def let_in(name: str, command: click.Command) -> click.Command:
    """Return a command that reads its options from the environment where the command line does not name them."""
    if name not in _READ_BY_LAYER:
        command.context_settings = {**command.context_settings, "auto_envvar_prefix": PREFIX}
        if isinstance(command, click.Group):
            for part in command.commands.values():
                let_in("", part)
    return command


def check_environment(modules: Mapping[str, str], environment: Mapping[str, str] = os.environ) -> None:
    """Refuse a setting that no command has; `modules` are the commands' files by name.

    Raises:
        InputError: an unknown `SQLASSAY_…`, with the one that was likely meant.
    """
    given = [name for name in environment if name.startswith(f"{PREFIX}_") and name not in _TESTS]
    if not given:
        return
    known = {f"{PREFIX}_{option.upper()}" for file in modules.values() for option in _options(file)}
    for name in sorted(given):
        if name not in known:
            near = get_close_matches(name, known, n=1)
            remedy = f"Did you mean {near[0]}? Unset it otherwise" if near else "Unset it, or see `sqlassay run --help`"
            raise InputError(f"{name} is the name of no option", field=name, remedy=remedy)


def _options(file: str) -> Iterator[str]:
    """Yield the names of a command's options, those of commands inside it too."""
    found: list[click.Command] = [import_module(file).command]
    while found:
        command = found.pop()
        found += list(command.commands.values()) if isinstance(command, click.Group) else []
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                yield str(parameter.name).rstrip("_")
