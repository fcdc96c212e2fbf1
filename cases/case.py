"""One question with its reference answers, and one agent's answer to it."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from sqlassay.cases.isolation import IsolationLevel
from sqlassay.cases.policy import PolicyOverrides
from sqlassay.cases.storable import storable

MOST = 10**15
"""More tokens or cost than any answer has; sums of them stay exact."""

STATEMENT_FIELDS = (
    *("sql", "query", "sql_query", "sqlquery"),
    *("generated_sql", "predicted_sql", "generated_query", "final_sql"),
)
"""What agents call the field with their statement, the surest first."""

QueryType = Literal["dql", "dml", "ddl"]


def _sql_list(value: object) -> object:
    """Accept one SQL text or a list of accepted alternatives; store a tuple always."""
    return (value,) if isinstance(value, str) else value


class Case(BaseModel):
    """A question, the snapshot it is asked of and the gold SQL per dialect (any of several accepted)."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    id: str = Field(min_length=1, max_length=200)
    question: str
    snapshot: str = Field(min_length=1)
    extra_snapshots: tuple[str, ...] = ()
    gold: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    evidence: str | None = None
    route: str | None = None
    order_required: bool | None = None
    allow_extra_predicted_columns: bool | None = None
    policy: PolicyOverrides | None = None
    query_type: QueryType = "dql"
    setup_sql: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    eval_query: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    cleanup_sql: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    out_of_scope: bool = False
    tags: tuple[str, ...] = ()
    difficulty: str | None = None
    scenario: str | None = None
    rules: str | None = None
    pii_columns: tuple[str, ...] = ()
    clock: datetime | None = None
    isolation: IsolationLevel | None = None
    timeout: float | None = Field(default=None, gt=0)
    row_limit: int | None = Field(default=None, gt=0)
    expected_tools: tuple[str, ...] = ()

    _storable = field_validator("*", mode="before")(storable)

    @model_validator(mode="before")
    @classmethod
    def _read_by_nothing(cls, value: object) -> object:
        """Refuse what earlier versions took and nothing ever read."""
        found = sorted({"turns", "graders"} & value.keys()) if isinstance(value, dict) else []
        if found:
            raise ValueError(f"'{found[0]}' is not supported: nothing would read it, so leave it out")
        return value

    @field_validator("gold", "setup_sql", "eval_query", "cleanup_sql", mode="before")
    @classmethod
    def _alternatives(cls, value: object) -> object:
        """Turn {dialect: sql} into {dialect: (sql,)}."""
        if isinstance(value, dict):
            return {dialect: _sql_list(sql) for dialect, sql in value.items()}
        if isinstance(value, str | list):
            raise ValueError("SQL is written per dialect, as in {sqlite: SELECT …}")  # noqa: TRY004 (a validator speaks in ValueErrors)
        return value


class Prediction(BaseModel):
    """What an agent answered for one case in one trial; `sql` None means it gave no statement."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    case_id: str = Field(min_length=1)
    sql: str | None = None
    dialect: str | None = None
    trial: int = Field(default=0, ge=0)
    route: str | None = None
    answer: str | None = None
    enriched_question: str | None = None
    steps: tuple[dict[str, Any], ...] = ()
    result: dict[str, Any] | None = None
    tokens: int | None = Field(default=None, ge=0, le=MOST)
    cost: float | None = Field(default=None, ge=0, le=MOST)
    raw: str | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)

    _storable = field_validator("*", mode="before")(storable)
