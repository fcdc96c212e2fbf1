"""What an agent is told about one case: never the gold, nor where it is."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class AgentRequest(BaseModel):
    """One question as an agent sees it. `deadline` is how many seconds it has to answer."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    case_id: str
    question: str
    dialect: str
    evidence: str | None = None
    schema_ddl: str = ""
    routes: tuple[str, ...] = ()
    trial: int = Field(default=0, ge=0)
    deadline: float = Field(default=120.0, gt=0)
    context: dict[str, Any] = Field(default_factory=dict)
