"""What a metric by judge shares with the others: the answers asked for, and a judge's silence as a score."""

from __future__ import annotations

from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, model_validator

from sqlassay.harness.metrics.contract import Ask
from sqlassay.harness.prompts import UNTOLD, TooLongError, build, without_comments
from sqlassay.harness.results.evidence import LEAST, MOST, Evidence, Score
from sqlassay.harness.results.judging import Judgement

Given = TypeVar("Given", bound=BaseModel)

NO_JUDGE = "no judge is named (--judge)"
_SHOWN = 400


class _Answer(BaseModel):
    """A frozen answer that refuses fields nobody asked for."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Grade(_Answer):
    """A score from 0 to 1 with its reason."""

    score: float = Field(ge=0, le=1)
    reason: str


class Craft(_Answer):
    """How well a query's joins, aggregation and filters are written, 0 to 1 each."""

    joins: float = Field(ge=0, le=1)
    aggregation: float = Field(ge=0, le=1)
    filters: float = Field(ge=0, le=1)
    reason: str


class Claims(_Answer):
    """How many facts an answer claims and how many of them the rows support."""

    claims: int = Field(ge=0, le=10_000)
    supported: int = Field(ge=0)
    reason: str

    @model_validator(mode="after")
    def _no_more_than_all(self) -> Claims:
        """Refuse more supported facts than claimed ones."""
        if self.supported > self.claims:
            raise ValueError("more facts are supported than claimed")
        return self


class Rating(_Answer):
    """Whether one result serves as well as another."""

    verdict: Literal["correct", "incorrect"]
    reason: str


def asked(ask: Ask | None, schema: type[Given], name: str, /, **slots: str | None) -> Judgement[Given]:
    """Return the judge's answer to one of the prompts.

    Without a judge there is none, and the reason says how to name one; nor where it cannot be shown everything.
    """
    if ask is None:
        return Judgement(None, NO_JUDGE)
    try:
        prompt = build(name, **slots)
    except TooLongError as error:
        return Judgement(None, str(error))
    return ask(prompt, schema)


def statement(evidence: Evidence) -> str | Score:
    """Return the predicted statement without its comments, else the score of one that no judge can be shown."""
    found = without_comments(evidence.predicted_parsed)
    return unanswered(f"judge unavailable: {UNTOLD}") if found is None else found


def silent(said: Judgement[Given], most: float = 1.0) -> Score:
    """Return a judge's silence as a score without a value, with what the value may be: from 0 to `most`."""
    if said.reason == NO_JUDGE:
        return Score(None, NO_JUDGE)
    return unanswered(f"judge unavailable: {clipped(said.reason)}", most=most)


def unanswered(reason: str, *parts: tuple[str, str | float | None], most: float = 1.0) -> Score:
    """Return the score of a question that a judge was to answer and did not."""
    return Score(None, reason, (*parts, (LEAST, 0.0), (MOST, most)))


def by(said: Judgement[Given]) -> tuple[tuple[str, str | float | None], ...]:
    """Return who judged, and what a panel says of its members, as parts of a score."""
    panel = ("panel", clipped(said.reason))
    return (("judge", said.model), *((panel,) if said.reason else ()))


def clipped(text: str) -> str:
    """Return a judge's words as one line of a report."""
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else line[:_SHOWN] + "…"
