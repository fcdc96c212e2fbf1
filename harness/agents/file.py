"""An agent whose answers are written already: predictions by case, trial and dialect."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from sqlassay.cases.case import Prediction
from sqlassay.cases.predictions import read_predictions
from sqlassay.harness.agents.request import AgentRequest


class FileAgent:
    """Answers from a set of predictions; one written for the request's dialect wins over one for any dialect."""

    name = "file"

    def __init__(self, predictions: Iterable[Prediction]) -> None:
        """Index the predictions."""
        self._found = {(one.case_id, one.trial, one.dialect): one for one in predictions}
        self.trials = 1 + max((trial for _, trial, _ in self._found), default=0)

    @classmethod
    def of(cls, target: str) -> FileAgent:
        """Return the agent that answers from the file at `target`.

        Raises:
            InputError: the file is malformed.
        """
        return cls(read_predictions(Path(target)))

    def predict(self, request: AgentRequest) -> Prediction:
        """Return the written answer, or a prediction without SQL where there is none."""
        for dialect in (request.dialect, None):
            found = self._found.get((request.case_id, request.trial, dialect))
            if found is not None:
                return found
        return Prediction(case_id=request.case_id, trial=request.trial)

    def close(self) -> None:
        """Nothing is held open."""
