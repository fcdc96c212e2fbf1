"""One judge: asks its backend until an answer is valid, keeps and counts it; silence is unavailable, with why."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace

from pydantic import BaseModel

from sqlassay.harness.judges.answers import read_answer
from sqlassay.harness.judges.contract import Answered, Backend, Figures, JudgeError, Question
from sqlassay.harness.judges.keeping import Cache, Recorder
from sqlassay.harness.judges.spec import Conduct
from sqlassay.harness.results.judging import Answer, Judgement

PAUSE = 0.5
LONGEST_PAUSE = 60.0
"""Seconds before the second try, doubled each time, and the most a server's own wish is heeded."""

PATIENCE = 5
"""Questions in a row without an answer, after which each later one gets one try: the judge is down, not busy."""


@dataclass(frozen=True, slots=True)
class Keeping:
    """Where answers go beside the metric that asked."""

    cache: Cache | None = None
    recorder: Recorder | None = None


class Judge:
    """The `Ask` of metrics over one backend; safe to call from several threads."""

    def __init__(self, backend: Backend, conduct: Conduct | None = None, keeping: Keeping | None = None) -> None:
        """Ask nothing yet."""
        self._backend = backend
        self._conduct = conduct or Conduct()
        self._keeping = keeping or Keeping()
        self._slots = threading.BoundedSemaphore(self._conduct.jobs)
        # Guards the figures, the memo and its locks, so that one question is asked once however many threads ask it.
        self._lock = threading.Lock()
        self._memo: dict[str, Answered] = {}
        self._asking: dict[str, threading.Lock] = {}
        self._figures = Figures(backend.label)
        self._silent = 0
        self._over = ""
        self._closed = threading.Event()

    @property
    def label(self) -> str:
        """Return the backend's name."""
        return self._backend.label

    def __call__(self, prompt: str, schema: type[Answer]) -> Judgement[Answer]:
        """Return the validated answer, or why there is none; never raises for a judge that is silent or malformed."""
        question = Question.of(prompt, schema)
        with self._lock:
            asking = self._asking.setdefault(question.digest, threading.Lock())
        with asking:
            answered, kept = self._known(question, schema)
            if answered is None:
                answered = self._asked(question, schema)
                self._memo[question.digest] = answered
            self._count(answered, kept=kept)
            if self._keeping.recorder is not None:
                self._keeping.recorder.record(answered)
        return _judgement(answered, schema, kept=kept)

    def figures(self) -> Figures:
        """Return what it was asked and took so far."""
        with self._lock:
            return self._figures

    def close(self) -> None:
        """End whatever waits; questions asked from now on are unavailable."""
        self._closed.set()
        self._backend.close()

    def _known(self, question: Question, schema: type[BaseModel]) -> tuple[Answered | None, bool]:
        """Return the answer this run or an earlier one has already."""
        found = self._memo.get(question.digest)
        if found is not None:
            return found, True
        if self._keeping.cache is None:
            return None, False
        kept = self._keeping.cache.find(self._backend.identity, question.digest)
        if kept is None:
            return None, False
        try:
            read_answer(kept.raw, schema)
        except JudgeError:  # damaged on the disk: asked again
            return None, False
        found = kept.model_copy(update={"judge": self.label})
        self._memo[question.digest] = found
        return found, True

    def _asked(self, question: Question, schema: type[BaseModel]) -> Answered:
        """Ask until an answer is valid, no try is left, or another would not help."""
        tries = self._conduct.tries if self._silent < PATIENCE else 1
        spent = Answered(judge=self.label, question=question.digest)
        for number in range(1, tries + 1):
            try:
                spent = self._once(question, schema, spent)
            except JudgeError as error:
                spent = spent.model_copy(update={"reason": _reason(error, number), "raw": error.raw})
                if not error.again or number == tries or not self._waited(number, error.after):
                    break
                with self._lock:
                    self._figures = replace(self._figures, retries=self._figures.retries + 1)
            else:
                break
        self._silent = self._silent + 1 if spent.reason else 0
        if not spent.reason and self._keeping.cache is not None:
            self._keeping.cache.keep(self._backend.identity, spent)
        return spent

    def _once(self, question: Question, schema: type[BaseModel], spent: Answered) -> Answered:
        """Make one try; its tokens are added to those of the tries before, as all of them are paid for.

        Raises:
            JudgeError: no valid answer. Where one came that is not valid, its tokens stay counted.
        """
        with self._slots:
            if self._over or self._closed.is_set():
                raise JudgeError(self._over or "the run was ended before the judge was asked")
            try:
                reply = self._backend.reply(question, self._conduct.timeout)
            except JudgeError as error:
                if error.final:
                    self._over = error.reason
                raise
        cost = reply.cost
        if cost is None:
            cost = self._conduct.cost(reply.input_tokens, reply.output_tokens)
        with self._lock:
            seen = self._figures
            self._figures = replace(
                seen,
                input_tokens=seen.input_tokens + (reply.input_tokens or 0),
                output_tokens=seen.output_tokens + (reply.output_tokens or 0),
                cost=seen.cost if cost is None else (seen.cost or 0.0) + cost,
            )
        text = _storable(reply.text)
        read_answer(text, schema)
        return spent.model_copy(
            update={
                "raw": text,
                "reason": "",
                "model": reply.model,
                "input_tokens": reply.input_tokens,
                "output_tokens": reply.output_tokens,
                "cost": cost,
            }
        )

    def _waited(self, number: int, after: float | None) -> bool:
        """Wait before the next try, as long as the server asked for or twice as long as before; False once closed."""
        pause = PAUSE * 2 ** (number - 1) if after is None else after
        return not self._closed.wait(min(pause, LONGEST_PAUSE))

    def _count(self, answered: Answered, *, kept: bool) -> None:
        """Count one question."""
        with self._lock:
            seen = self._figures
            self._figures = replace(
                seen,
                asked=seen.asked + 1,
                kept=seen.kept + kept,
                unavailable=seen.unavailable + bool(answered.reason),
            )


def _reason(error: JudgeError, number: int) -> str:
    """Return why there is no answer, with the tries it took where there were several."""
    return _storable(f"{error.reason} ({number} tries)" if number > 1 else error.reason)


def _storable(text: str) -> str:
    """Return a text as UTF-8 can hold it: half characters are spelled out."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _judgement(answered: Answered, schema: type[Answer], *, kept: bool) -> Judgement[Answer]:
    """Return an answer as metrics see it."""
    value = None if answered.reason else read_answer(answered.raw, schema)
    return Judgement(
        value=value,
        reason=answered.reason,
        raw=answered.raw,
        model=answered.model,
        tokens=answered.tokens,
        cost=answered.cost,
        cached=kept,
    )
