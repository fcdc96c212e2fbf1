"""What a judge answers: a validated value, or the reason why there is none. Never a default."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from pydantic import BaseModel

Answer = TypeVar("Answer", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Judgement(Generic[Answer]):
    """One judge's answer. `value` None means unavailable, and `reason` says why (silent, malformed, out of range).

    `raw` is the text as it came, `model` who answered; tokens and cost (of the provider's currency) where known.
    """

    value: Answer | None
    reason: str = ""
    raw: str = ""
    model: str = ""
    tokens: int | None = None
    cost: float | None = None
    cached: bool = False


class Ask(Protocol):
    """The one effect a metric may have: a prompt to the judge, and its answer validated by `schema`."""

    def __call__(self, prompt: str, schema: type[Answer]) -> Judgement[Answer]:
        """Return the judge's answer; never raises for a judge that is silent or malformed."""
        ...
