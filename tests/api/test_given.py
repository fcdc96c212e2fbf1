"""Predictions as a program holds them become ours, and what is none is refused with its row."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from sqlassay.cases.case import Prediction
from sqlassay.cases.errors import InputError
from sqlassay.harness.agents.function import FunctionAgent
from sqlassay.harness.agents.request import AgentRequest
from sqlassay.harness.given import digest_of, predictions_given
from sqlassay.harness.run.options import JudgeKeywords, RunKeywords, RunOptions

_WANTED = [("a", "SELECT 1"), ("b", None)]


class Frame:
    """A table as pandas, polars or Arrow shows itself: columns, and one way to its rows."""

    columns = ("case_id", "sql", "question", "tokens")

    def __init__(self, method: str, rows: list[dict[str, Any]]) -> None:
        """Have one method alone."""
        setattr(self, method, lambda *_: rows)


_ROWS = [
    {"case_id": "a", "sql": "SELECT 1", "question": "?", "tokens": 5.0},
    {"id": "b", "sql": math.nan, "question": "?", "tokens": math.nan},
]


@pytest.mark.parametrize(
    "given",
    [
        {"a": "SELECT 1", "b": None},
        {"a": {"sql": "SELECT 1"}, "b": {"sql": None}},
        [("a", "SELECT 1"), ("b", None)],
        [{"case_id": "a", "sql": "SELECT 1"}, {"id": "b", "sql": None}],
        [{"id": "a", "predicted_sql": "SELECT 1"}, Prediction(case_id="b")],
        (each for each in (["a", "SELECT 1"], ["b", None])),
        *(Frame(method, _ROWS) for method in ("to_pylist", "to_dicts", "to_dict")),
    ],
    ids=lambda given: type(given).__name__,
)
def test_every_shape_is_read(given: Any) -> None:
    """Mappings, lists, generators and tables give the same predictions; columns that are no field are passed over."""
    assert [(one.case_id, one.sql) for one in predictions_given(given)] == _WANTED


def test_a_table_keeps_whole_numbers_whole() -> None:
    """A float column of pandas holds whole numbers: 5.0 tokens are 5."""
    assert predictions_given(Frame("to_dict", _ROWS[:1]))[0].tokens == 5


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (5, "int holds no predictions"),
        (b"x", "bytes holds no predictions"),
        ([5], "row 1 is no prediction: int"),
        ([("a", "b", "c")], "row 1 is no prediction: tuple"),
        ([{"case_id": "a"}, {"sql": "x"}], "row 2: case_id"),
        ([{"case_id": "a", "sqll": "x"}], "row 1: sqll"),
        ({"a": 5}, "row 1: sql"),
        ([("a", "x"), ("a", "y")], "row 2: case 'a' trial 0 is predicted already"),
    ],
)
def test_what_is_no_prediction_is_refused(given: Any, says: str) -> None:
    """One clear error names the row."""
    with pytest.raises(InputError) as told:
        predictions_given(given)
    assert says in str(told.value)
    assert told.value.field == "predictions"


def test_a_digest_is_of_the_content() -> None:
    """Equal predictions have one digest in whatever shape they came."""
    one, two = predictions_given({"a": "x"}), predictions_given([("a", "x")])
    assert digest_of(one) == digest_of(two) != digest_of(predictions_given({"a": "y"}))


_REQUEST = AgentRequest(case_id="a", question="How many?", dialect="sqlite", trial=2)


async def _later(request: AgentRequest) -> str:
    """Answer as an async agent does."""
    return f"SELECT {len(request.question)}"


@pytest.mark.parametrize(
    ("function", "sql"),
    [
        (lambda _: "SELECT 9", "SELECT 9"),
        (lambda _: None, None),
        (lambda _: {"sql": "SELECT 9"}, "SELECT 9"),
        (lambda _: Prediction(case_id="other", sql="SELECT 9"), "SELECT 9"),
        (_later, "SELECT 9"),
    ],
)
def test_a_function_answers_a_request(function: Any, sql: str | None) -> None:
    """Text, a mapping, a prediction and an async function's answer are predictions for the request's case and trial."""
    found = FunctionAgent(function).predict(_REQUEST)
    assert (found.case_id, found.trial, found.sql, found.metadata) == ("a", 2, sql, {})


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (lambda _: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda _: 5, "TypeError: the agent returned int"),
        (lambda _: {"sql": 5}, "ValueError: the answer's sql"),
    ],
)
def test_a_functions_fault_is_the_agents(function: Any, says: str) -> None:
    """Whatever a function raises or returns amiss is a prediction without SQL that says so."""
    found = FunctionAgent(function).predict(_REQUEST)
    assert found.sql is None
    assert str(found.metadata["agent_error"]).startswith(says)


def test_every_option_of_a_run_is_typed() -> None:
    """The keywords of the API are the options of a run, save those that the API types apart."""
    apart = {"predictions", "agent", "judge"}
    assert set(RunKeywords.__annotations__) | apart == set(RunOptions.model_fields)
    assert set(JudgeKeywords.__annotations__) < set(RunKeywords.__annotations__)


def test_a_path_is_a_file() -> None:
    """A file's name is no collection of predictions."""
    with pytest.raises(InputError, match="holds no predictions"):
        predictions_given(Path("x.jsonl"))
