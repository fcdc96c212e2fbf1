"""Puts a fault into a module that is imported already: its functions keep their identity and change what they do."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from mutants import Mutant


@dataclass(frozen=True, slots=True)
class Unchanged:
    """A file's own text in the place of a mutant's: whatever it breaks, the patching breaks."""

    path: Path
    place: str = "module"

    @property
    def source(self) -> str:
        """Return the text."""
        return self.path.read_text(encoding="utf-8")


def patch(mutant: Mutant | Unchanged) -> None:
    """Make the running process behave as if the mutant's text had been imported, in every module that uses it.

    The text runs in the module's own namespace; then each function and class is the old object again, with new code.
    Raises: whatever the changed text raises where it is run.
    """
    module = sys.modules[f"sqlassay.harness.compare.{mutant.path.stem}"]
    names = vars(module)
    before = dict(names)
    exec(compile(mutant.source, str(mutant.path), "exec"), names)
    for name, old in before.items():
        if _own(old, module) and _renewed(old, names.get(name)):
            names[name] = old


def _own(value: object, module: ModuleType) -> bool:
    """Tell whether a value was defined in this module, not imported into it."""
    return getattr(value, "__module__", None) == module.__name__


def _renewed(old: Any, new: Any) -> bool:
    """Give an old function, cached function or class the behaviour of the new one; False for any other value."""
    if isinstance(old, FunctionType) and isinstance(new, FunctionType):
        old.__code__, old.__defaults__, old.__kwdefaults__ = new.__code__, new.__defaults__, new.__kwdefaults__
        return True
    if hasattr(old, "cache_clear") and hasattr(new, "__wrapped__"):
        old.cache_clear()
        return _renewed(old.__wrapped__, new.__wrapped__)
    if isinstance(old, type) and isinstance(new, type):
        for name, value in vars(new).items():
            if isinstance(value, FunctionType | property | classmethod | staticmethod):
                setattr(old, name, value)
        return True
    return False
