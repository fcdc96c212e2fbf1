"""A judge that says what another one said: answers from a file, byte for byte, without a key or a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from sqlassay.cases.errors import InputError
from sqlassay.harness.judges.contract import Answered, Backend, JudgeError, JudgeSpec, Question, Reply
from sqlassay.harness.judges.keeping import read_answers
from sqlassay.harness.judges.spec import FIELD, check_options


class ReplayJudge:
    """The answers of one recorded judge."""

    identity: str | None = None

    def __init__(self, judge: str, answers: Sequence[Answered]) -> None:
        """Keep the answers by question; of two to one question the first counts, as it did when it was recorded."""
        self._judge = judge
        self._answers: dict[str, Answered] = {}
        for answer in answers:
            self._answers.setdefault(answer.question, answer)

    @property
    def label(self) -> str:
        """Return whose answers these are."""
        return f"replay:{self._judge.removeprefix('replay:')}"

    def reply(self, question: Question, seconds: float) -> Reply:  # noqa: ARG002 (the protocol's)
        """Return the recorded text, or raise what was recorded instead of one."""
        found = self._answers.get(question.digest)
        if found is None:
            raise JudgeError("the replay file has no answer to this prompt; record it again")
        if found.reason:
            raise JudgeError(found.reason, raw=found.raw)
        return Reply(found.raw, found.model, found.input_tokens, found.output_tokens, found.cost)

    def close(self) -> None:
        """Do nothing: nothing waits."""


def open_replay(spec: JudgeSpec, environment: Mapping[str, str]) -> tuple[Backend, ...]:  # noqa: ARG001 (the protocol's)
    """Return the judges recorded in `replay:FILE`, each as one member where there are several.

    Raises:
        InputError: no such file, or no answer in it.
    """
    check_options(spec, {})
    path = Path(spec.target)
    by_judge: dict[str, list[Answered]] = {}
    for answer in read_answers(path):
        by_judge.setdefault(answer.judge, []).append(answer)
    if not by_judge:
        raise InputError("there is no answer in it", file=path, field=FIELD, remedy="Record with --judge-record FILE")
    return tuple(ReplayJudge(judge, answers) for judge, answers in by_judge.items())
