"""Collect the faults of an input file, so that one run of a command names the first few instead of only one."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from sqlassay.cases.errors import InputError

SHOWN = 5

Model = TypeVar("Model", bound=BaseModel)
Place = tuple[int | str, ...]
LineOf = Callable[[Place], int | None]


class Faults:
    """The faults found so far in one set of files."""

    def __init__(self) -> None:
        """Start without faults."""
        self._found: list[InputError] = []

    def add(self, fault: InputError) -> None:
        """Keep one fault."""
        self._found.append(fault)

    def validate(self, model: type[Model], value: object, *, file: Path | str, line: LineOf) -> Model | None:
        """Return `value` as a model, or None after keeping each of its faults; `line` finds a field's line."""
        try:
            return model.model_validate(value)
        except ValidationError as error:
            for detail in error.errors(include_url=False):
                self.add(_fault(model, detail, file, line(detail["loc"])))
        return None

    def check(self) -> None:
        """Raise what was kept: one fault as itself, several as one error of several lines."""
        if not self._found:
            return
        if len(self._found) == 1:
            raise self._found[0]
        lines = [str(fault) for fault in self._found[:SHOWN]]
        if len(self._found) > SHOWN:
            lines.append(f"and {len(self._found) - SHOWN} more faults")
        first = self._found[0]
        combined = InputError("\n".join(lines), remedy="")
        combined.file, combined.line, combined.field = first.file, first.line, first.field
        raise combined


def _fault(model: type[BaseModel], detail: ErrorDetails, file: Path | str, line: int | None) -> InputError:
    """Turn one pydantic complaint into our line: place, what is wrong, and what to write instead."""
    place = ".".join(str(part) for part in detail["loc"]) or None
    kind = detail["type"]
    if kind == "extra_forbidden":
        return InputError("unknown field", file=file, line=line, field=place, remedy=_known(model, detail["loc"]))
    if kind == "missing":
        return InputError("field is missing", file=file, line=line, field=place, remedy="Add it")
    if detail["loc"] == ("format",) and kind == "literal_error":
        known = detail["ctx"]["expected"]
        message = f"format {detail['input']!r} is not known: this version of sqlassay reads {known}"
        remedy = "Use the version that wrote it, or write the format that is known"
        return InputError(message, file=file, line=line, field=place, remedy=remedy)
    message = detail["msg"].removeprefix("Value error, ")
    given = repr(detail["input"])
    shown = given if len(given) <= 60 else f"{given[:57]}..."
    return InputError(f"{message} (given {shown})", file=file, line=line, field=place, remedy="Correct the value")


def _known(model: type[BaseModel], place: Place) -> str:
    """Return the fields that may stand where an unknown one does, the likely one first."""
    if len(place) != 1:
        return "Remove it, or see docs/formats.md for the fields"
    names = list(model.model_fields)
    near = get_close_matches(str(place[0]), names, n=1)
    listed = f"Known fields: {', '.join(names)}"
    return f"Did you mean '{near[0]}'? {listed}" if near else listed
