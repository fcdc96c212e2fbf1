"""How a judge is spelled: `openai:MODEL@URL+timeout=30`, and what every judge can be told."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from sqlassay.cases.errors import InputError
from sqlassay.harness.judges.contract import JudgeSpec

FIELD = "--judge"
_OPTION = re.compile(r"\+(?=[a-z_]+=)")
_REMEDY = (
    "Write KIND:TARGET, such as openai:MODEL, openai:MODEL@http://host/v1, anthropic:MODEL, "
    "callable:module:function or replay:FILE"
)


@dataclass(frozen=True, slots=True)
class Conduct:
    """How a judge is asked: seconds a try, tries a question, questions at once, price of a million tokens."""

    timeout: float = 60.0
    tries: int = 4
    jobs: int = 4
    input_price: float | None = None
    output_price: float | None = None

    def cost(self, tokens_in: int | None, tokens_out: int | None) -> float | None:
        """Return what one answer cost, None where prices or tokens are unknown."""
        if self.input_price is None or self.output_price is None or tokens_in is None or tokens_out is None:
            return None
        return (tokens_in * self.input_price + tokens_out * self.output_price) / 1_000_000


_RANGES = {
    "timeout": (0.05, 3600.0),
    "tries": (1, 20),
    "jobs": (1, 256),
    "input_price": (0.0, 1e9),
    "output_price": (0.0, 1e9),
}


def parse(text: str) -> JudgeSpec:
    """Return a spec taken apart.

    Raises:
        InputError: it has no kind or target, or an option twice.
    """
    head, *parts = _OPTION.split(text.strip())
    kind, colon, target = head.partition(":")
    if not (colon and kind and target):
        raise InputError(f"'{text}' names no judge", field=FIELD, remedy=_REMEDY)
    options: dict[str, str] = {}
    for part in parts:
        name, _, value = part.partition("=")
        if name in options:
            raise InputError(f"'{name}' is given twice", field=FIELD, remedy="Give it once")
        options[name] = value
    return JudgeSpec(kind, target, options)


def conduct(spec: JudgeSpec) -> Conduct:
    """Return how this judge is asked.

    Raises:
        InputError: a value that is no number or out of its range.
    """
    values = {name: _number(name, spec.options[name]) for name in _RANGES if name in spec.options}
    whole = {name: int(value) for name, value in values.items() if name in ("tries", "jobs")}
    return Conduct(**{**values, **whole})  # type: ignore[arg-type]


def _number(name: str, text: str) -> float:
    """Return an option's number within its range."""
    low, high = _RANGES[name]
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    whole = name in ("tries", "jobs")
    if not low <= value <= high or (whole and value != int(value)):
        kind = "a whole number" if whole else "a number"
        raise InputError(
            f"'{name}={text}' is not {kind} from {low:g} to {high:g}", field=FIELD, remedy="Correct the number"
        )
    return value


def check_options(spec: JudgeSpec, own: Mapping[str, str]) -> None:
    """Refuse an option this kind of judge does not have; `own` are its options with what they mean.

    Raises:
        InputError: an unknown option; the remedy lists the known ones.
    """
    known = [*own, *_RANGES]
    unknown = [name for name in spec.options if name not in known]
    if unknown:
        raise InputError(
            f"judge '{spec.kind}' has no option '{unknown[0]}'", field=FIELD, remedy=f"Options: {', '.join(known)}"
        )
