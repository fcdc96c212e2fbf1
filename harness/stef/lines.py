"""Read the rows a person wants assessed: JSON lines of question and SQL, with what is known beside them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from sqlassay.cases.errors import InputError
from sqlassay.harness.stef.assessment import Submitted
from sqlassay.harness.stef.rules import RuleBook, RuleProfile, checked, profile_from

_REMEDY = 'Write {"id", "question", "sql"} and, where known, enriched_question, rules, spec, verdict, confidence'


class Line(BaseModel):
    """One line: keys that logs have beside these are passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str | int
    question: str = Field(min_length=1)
    sql: str
    enriched_question: str | None = None
    rules: str | dict[str, object] | None = None
    spec: object = None
    verdict: object = None
    confidence: object = None
    reason: str = ""
    drift: object = None
    agent: str | None = None
    version: str | None = None
    category: str | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One line with its rules resolved."""

    line: Line
    profile: RuleProfile

    @property
    def submitted(self) -> Submitted:
        """Return what is assessed; a verdict or confidence alone is half an answer, and malformed as one."""
        line = self.line
        given = {"verdict": line.verdict, "confidence": line.confidence}
        stated = {name: each for name, each in given.items() if each is not None}
        return Submitted(
            question=line.question,
            sql=line.sql,
            enriched_question=line.enriched_question,
            spec=line.spec,
            verdict={**stated, "reason": line.reason} if stated else None,
            drift=line.drift,
        )


def read_rows(
    lines: Iterable[bytes], file: str, book: RuleBook, profile: str | None = None
) -> Iterator[Row | InputError]:
    """Yield every line's row, or the error that makes it none; blank lines are passed over.

    `profile` is the one of lines that name none.
    """
    for number, raw in enumerate(lines, 1):
        if raw.strip():
            try:
                yield _row(raw, file, number, book, profile)
            except InputError as error:
                yield error


def _row(raw: bytes, file: str, number: int, book: RuleBook, profile: str | None) -> Row:
    """Return the row of one line.

    Raises:
        InputError: it is no JSON object of this shape, or names unknown rules.
    """
    try:
        line = Line.model_validate(json.loads(raw.decode("utf-8")))
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or None
        raise InputError(str(first["msg"]), file=file, line=number, field=field, remedy=_REMEDY) from error
    except (ValueError, RecursionError) as error:
        why = "not UTF-8" if isinstance(error, UnicodeDecodeError) else "not JSON"
        raise InputError(f"the line is {why}", file=file, line=number, remedy=_REMEDY) from error
    try:
        return Row(line, _profile(line.rules, book, profile))
    except InputError as error:
        raise InputError(error.message, file=file, line=number, field="rules", remedy=error.remedy) from error


def _profile(given: str | dict[str, object] | None, book: RuleBook, profile: str | None) -> RuleProfile:
    """Return a line's rules: those it holds, those it names, those of the command, or the default ones."""
    if given is None:
        return book.profile(profile)
    return profile_from(given, book) if isinstance(given, str) else checked(RuleProfile, given, None)
