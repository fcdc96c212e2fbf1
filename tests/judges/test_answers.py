"""A judge's text is its answer only where it is exactly what was asked for."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field
from rows import rows_of

from sqlassay.harness.judges.answers import read_answer
from sqlassay.harness.judges.contract import JudgeError

ROWS = rows_of("judge_answers")["rows"]


class Grade(BaseModel):
    """A score with its reason."""

    model_config = ConfigDict(extra="forbid")
    score: float = Field(ge=0, le=1)
    reason: str


@pytest.mark.parametrize("row", ROWS, ids=lambda row: repr(row["text"])[:60])
def test_every_text_is_read_as_its_row_says(row: dict[str, Any]) -> None:
    """A valid answer has its value; any other text is a judge's failure that says what is wrong."""
    if row["value"] is not None:
        assert read_answer(row["text"], Grade).score == row["value"]
        return
    with pytest.raises(JudgeError) as caught:
        read_answer(row["text"], Grade)
    assert row["why"] in caught.value.reason
    assert caught.value.again is True


def test_endless_nesting_is_malformed() -> None:
    """A text nested deeper than the reader goes is malformed, not a crash."""
    with pytest.raises(JudgeError, match="malformed"):
        read_answer('{"score":' + "[" * 200_000, Grade)
