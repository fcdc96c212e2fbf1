"""Read a judge's text as the JSON that was asked for; anything else is malformed, never a default."""

from __future__ import annotations

import json
import re
from typing import NoReturn

from pydantic import ValidationError

from sqlassay.harness.judges.contract import JudgeError
from sqlassay.harness.results.judging import Answer

_FENCE = re.compile(r"\A```(?:json)?[ \t]*\n(.*)\n```\Z", re.DOTALL | re.IGNORECASE)
_SHOWN = 120


def read_answer(text: str, schema: type[Answer]) -> Answer:
    """Return the validated answer: one JSON object, bare or as the only code block, every field in type and range.

    JSON inside other words is not looked for: a judge that quotes what it judges would be taken at its quotation.

    Raises:
        JudgeError: there is none, with what is wrong.
    """
    stripped = text.strip()
    if not stripped:
        raise JudgeError("the judge said nothing", again=True)
    found = _FENCE.match(stripped)
    body = found[1].strip() if found else stripped
    try:
        json.loads(body, object_pairs_hook=_unique, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise JudgeError(f"malformed: {_first(str(error))} in {_clip(stripped)!r}", again=True, raw=text) from None
    try:
        return schema.model_validate_json(body, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "answer"
        raise JudgeError(
            f"malformed: {place}: {first['msg'].removeprefix('Value error, ')} in {_clip(stripped)!r}",
            again=True,
            raw=text,
        ) from None


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return an object whose names are all different: of two scores none is the judge's."""
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a name twice")
    return value


def _no_number(name: str) -> NoReturn:
    """Refuse NaN and the infinities, which are no JSON."""
    raise ValueError(f"{name} is no JSON")


def _first(text: str) -> str:
    """Return the first words of a parser's complaint."""
    return text.split(":")[0].lower()


def _clip(text: str) -> str:
    """Return the beginning of a text."""
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
