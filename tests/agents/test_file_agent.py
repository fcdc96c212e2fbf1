"""Predictions from a file are found by case, trial and dialect."""

from __future__ import annotations

from pathlib import Path

import pytest

from sqlassay.cases.case import Prediction
from sqlassay.cases.errors import InputError
from sqlassay.harness.agents.file import FileAgent
from sqlassay.harness.agents.registry import agent, names
from sqlassay.harness.agents.request import AgentRequest


def _request(trial: int = 0, dialect: str = "sqlite", case: str = "a") -> AgentRequest:
    """Return a request for one case."""
    return AgentRequest(case_id=case, question="?", dialect=dialect, trial=trial)


def test_the_dialect_s_own_prediction_wins() -> None:
    """A prediction for the dialect is preferred to one for any; trials are kept apart; none is no SQL."""
    found = FileAgent(
        [
            Prediction(case_id="a", sql="any"),
            Prediction(case_id="a", sql="mysql", dialect="mysql"),
            Prediction(case_id="a", sql="second", trial=1),
        ]
    )
    assert found.predict(_request()).sql == "any"
    assert found.predict(_request(dialect="mysql")).sql == "mysql"
    assert found.predict(_request(trial=1)).sql == "second"
    assert found.predict(_request(trial=2)) == Prediction(case_id="a", trial=2)
    assert found.predict(_request(case="b")).sql is None
    assert found.trials == 2
    found.close()


def test_agents_are_found_by_name(tmp_path: Path) -> None:
    """Both kinds are installed by entry point; an unknown one lists them."""
    assert set(names()) >= {"file", "callable"}
    file = tmp_path / "p.jsonl"
    file.write_text('{"case_id": "a", "sql": "SELECT 1"}\n')
    assert agent("file", str(file)).predict(_request()).sql == "SELECT 1"
    with pytest.raises(InputError, match="callable, file"):
        agent("oracle", "x")


def test_a_request_has_no_place_for_gold() -> None:
    """The request's fields are those an agent may know."""
    assert set(AgentRequest.model_fields) == {
        "case_id",
        "question",
        "dialect",
        "evidence",
        "schema_ddl",
        "routes",
        "trial",
        "deadline",
        "context",
    }
