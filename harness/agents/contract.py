"""What an agent supplies: a name and an answer to every request."""

from __future__ import annotations

from typing import Protocol

from sqlassay.cases.case import Prediction
from sqlassay.harness.agents.request import AgentRequest


class Agent(Protocol):
    """A source of predictions. Registered under `sqlassay.agents`; built with the target it is named with."""

    name: str

    def predict(self, request: AgentRequest) -> Prediction:
        """Return the answer to one request; an agent's own failure is a prediction without SQL whose metadata has
        `agent_error`. Callable from several threads at once.
        """
        ...

    def close(self) -> None:
        """Leave nothing behind; idempotent, never raises."""
        ...
