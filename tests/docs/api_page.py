"""Writes docs/api.md from the docstrings of the public names: `python tests/docs/api_page.py`."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import re
import types
from pathlib import Path
from typing import Any

import pydantic

import sqlassay
from sqlassay.harness.run.options import JudgeKeywords, RunKeywords

PAGE = Path(__file__).parents[2] / "docs" / "api.md"
_HEAD = """\
# Python API

Generated from the docstrings by `make docs`; a test fails where it is stale. What `import sqlassay` gives is public and
typed (`py.typed`); everything else may change without notice. [Judge statements](how-to/judge-statements.md) shows it
at work.
"""
_SHOWN = ("run", "evaluate", "Session", "compare", "relation", "guard", "preset")
"""What comes first, in this order; the other names follow by the alphabet."""


def page() -> str:
    """Return the whole page."""
    others = [name for name in sqlassay.__all__ if name not in (*_SHOWN, "__version__", "sqlas")]
    parts = [_HEAD, *map(_entry, _SHOWN), "## Options", _options(), "## Values", *map(_entry, others)]
    parts.append(
        "### `sqlas`\n\nSQLAS's two ways in, `evaluate` and `run_suite`: see [its page](how-to/sqlas.md).\n\n"
        "### `__version__`\n\nThe installed version, as `pip` says it."
    )
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _entry(name: str) -> str:
    """Return one public name's section."""
    found = getattr(sqlassay, name)
    level = "##" if name in _SHOWN else "###"
    if inspect.isfunction(found):
        return f"{level} `{name}`\n\n```text\n{name}{_signature(found)}\n```\n\n{_text(found)}"
    if not inspect.isclass(found):
        return f"{level} `{name}`\n\n{_ALIASES[name]}"
    lines = [f"{level} `{name}`", _text(found)]
    if issubclass(found, pydantic.BaseModel) or dataclasses.is_dataclass(found):
        fields = (
            found.model_fields
            if issubclass(found, pydantic.BaseModel)
            else {f.name: f for f in dataclasses.fields(found)}
        )
        lines.append("Fields: " + ", ".join(f"`{field}`" for field in fields) + ".")
    elif issubclass(found, enum.Enum):
        lines.append("Values: " + ", ".join(f"`{one.value}`" for one in found) + ".")
    elif not issubclass(found, Exception):
        lines[1:1] = [f"```text\n{name}{_signature(found.__init__)}\n```"]
    lines += [f"* `{shown}`: {text}" for shown, text in _methods(found)]
    return "\n\n".join(lines[:3] if len(lines) > 3 and lines[3].startswith("*") else lines) + (
        "\n\n" + "\n".join(lines[3:]) if len(lines) > 3 and lines[3].startswith("*") else ""
    )


_ALIASES = {
    "AgentFunction": "What `run(agent=…)` takes: a plain or an async function from an `AgentRequest` to SQL, None, a "
    "mapping with the fields of a `Prediction`, or a `Prediction`.",
    "GivenPredictions": "What `run(predictions=…)` takes: a file's name, `{case id: SQL}`, an iterable of "
    "`Prediction`, of mappings with its fields or of `(case id, SQL)`, or a table of pandas, polars or Arrow.",
}


def _methods(found: type) -> list[tuple[str, str]]:
    """Return a class's own public methods and properties with the first sentence of each."""
    listed = []
    for name, member in vars(found).items():
        if name.startswith(("_", "model_")):
            continue
        if isinstance(member, property):
            listed.append((name, _first(member.fget)))
        elif isinstance(member, types.FunctionType) and not hasattr(member, "__pydantic_decorator__"):
            listed.append((f"{name}{_signature(member, wrapped=False)}", _first(member)))
    return listed


def _signature(function: Any, *, wrapped: bool = True) -> str:
    """Return a function's signature as its source spells the types, without `self`."""
    signature = inspect.signature(function)
    parts, starred = [], False
    for one in signature.parameters.values():
        if one.name == "self":
            continue
        if one.kind is one.KEYWORD_ONLY and not starred:
            parts.append("*")
        starred = starred or one.kind in (one.KEYWORD_ONLY, one.VAR_POSITIONAL)
        name = f"**{one.name}" if one.kind is one.VAR_KEYWORD else one.name
        typed = "" if one.annotation is one.empty else f": {one.annotation}"
        parts.append(f"{name}{typed}" + ("" if one.default is one.empty else f" = {one.default!r}"))
    given = signature.return_annotation
    returned = "" if given in (signature.empty, "None") else f" -> {given}"
    line = f"({', '.join(parts)}){returned}"
    if len(line) < 100 or not wrapped:
        return line
    return "(\n" + "".join(f"    {part},\n" for part in parts) + f"){returned}"


def _text(found: Any) -> str:
    """Return a docstring as prose; what it raises is a sentence of its own."""
    text = inspect.getdoc(found) or ""
    return re.sub(r"\n\nRaises:\n", "\n\nRaises:\n\n", re.sub(r"(?m)^    (\w+Error: )", r"* \1", text))


def _first(found: Any) -> str:
    """Return a docstring's first sentence, which always ends its first paragraph or a full stop."""
    return " ".join((inspect.getdoc(found) or "").split("\n\n")[0].split())


def _options() -> str:
    """Return the keywords that `run`, `evaluate` and `Session` take."""
    every = ", ".join(f"`{name}`" for name in JudgeKeywords.__annotations__)
    whole = ", ".join(f"`{name}`" for name in RunKeywords.__annotations__ if name not in JudgeKeywords.__annotations__)
    return (
        "Those of [`sqlassay run`](reference.md#sqlassay-run), typed. "
        f"`run`, `evaluate` and `Session` take {every}.\n\n"
        f"`run` alone takes {whole}."
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
