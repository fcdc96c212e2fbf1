"""What a judge's backend is: one question in, one text out, or an error that says whether to try again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict

from sqlassay.harness.results.judging import Answer, Judgement


@dataclass(frozen=True)
class Question:
    """One prompt with the JSON schema its answer must have."""

    prompt: str
    schema: Mapping[str, Any]
    name: str

    @classmethod
    def of(cls, prompt: str, schema: type[BaseModel]) -> Question:
        """Return the question that asks for an answer of this type."""
        return cls(prompt, schema.model_json_schema(), schema.__name__.strip("_"))

    @cached_property
    def digest(self) -> str:
        """Return the sha256 over prompt and schema: what names an answer, whoever gave it."""
        return hashlib.sha256(json.dumps([1, self.prompt, self.schema], sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Reply:
    """The text a backend gave, with who gave it and what it took, where the backend says so."""

    text: str
    model: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None


class JudgeError(Exception):
    """A backend that gave no answer to one question.

    `again`: another try may help, `after` seconds from now where the backend said when. `final`: no later question
    would fare better. `raw` is what it said instead of an answer.
    """

    def __init__(
        self, reason: str, *, again: bool = False, after: float | None = None, final: bool = False, raw: str = ""
    ) -> None:
        """Keep the reason as a score will show it."""
        super().__init__(reason)
        self.reason = reason
        self.again = again
        self.after = after
        self.final = final
        self.raw = raw


class Backend(Protocol):
    """One way to reach one judge; called from several threads at once.

    `label` names it in written files: no path, no key. `identity` is all that decides its answers, None where that
    cannot be known: then nothing is kept from one run to the next.
    """

    @property
    def label(self) -> str:
        """Return the name in reports and manifests."""
        ...

    @property
    def identity(self) -> str | None:
        """Return what decides its answers beside the question."""
        ...

    def reply(self, question: Question, seconds: float) -> Reply:
        """Return the answer's text within `seconds`.

        Raises:
            JudgeError: there is none.
        """
        ...

    def close(self) -> None:
        """End whatever waits."""
        ...


class Opener(Protocol):
    """What an entry point of `sqlassay.judges` names: makes the backends of a spec."""

    def __call__(self, spec: JudgeSpec, environment: Mapping[str, str]) -> tuple[Backend, ...]:
        """Return the backends; several are a panel.

        Raises:
            InputError: the spec is not whole, or names something that is not there.
        """
        ...


@dataclass(frozen=True, slots=True)
class JudgeSpec:
    """`KIND:TARGET+option=value…`, taken apart."""

    kind: str
    target: str
    options: Mapping[str, str] = field(default_factory=dict)


class Answered(BaseModel):
    """One answer as the cache and a replay file keep it: the text byte for byte, or why there is none."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int = 1
    judge: str
    question: str
    raw: str = ""
    reason: str = ""
    model: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None

    @property
    def tokens(self) -> int | None:
        """Return the tokens of both directions, None where none are known."""
        known = [count for count in (self.input_tokens, self.output_tokens) if count is not None]
        return sum(known) if known else None


@dataclass(frozen=True, slots=True)
class Figures:
    """What a judge was asked and took; `split` counts a panel's questions its members did not agree on."""

    label: str
    asked: int = 0
    kept: int = 0
    retries: int = 0
    unavailable: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    split: int | None = None
    members: tuple[Figures, ...] = ()


class Seated(Protocol):
    """A judge, or a panel of them, as a run holds it: the `Ask` of metrics, and what it took so far."""

    @property
    def label(self) -> str:
        """Return the name in reports and manifests."""
        ...

    def __call__(self, prompt: str, schema: type[Answer]) -> Judgement[Answer]:
        """Return the judge's answer; never raises for a judge that is silent or malformed."""
        ...

    def figures(self) -> Figures:
        """Return what it was asked and took so far."""
        ...

    def close(self) -> None:
        """End whatever waits; questions asked from now on are unavailable."""
        ...
