"""The Skill's dataset rows and config, as its own files spell them; fields we do not know are left aside."""

from __future__ import annotations

from typing import Any

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, field_validator


class SkillRow(BaseModel):
    """One row of the Skill's dataset."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str = Field(min_length=1)
    question: str
    ground_truth_sql: str = Field(min_length=1)
    predicted_sql: str | None = Field(default=None, validation_alias=AliasChoices("predicted_sql", "generated_sql"))
    expected_data_source: str | None = None
    selected_data_source: str | None = None
    order_required: bool = False
    allow_extra_predicted_columns: bool = True
    scenario: str | None = None
    evidence: str | None = None
    tags: tuple[str, ...] = ()

    @field_validator("id", mode="before")
    @classmethod
    def _text(cls, value: object) -> object:
        """Accept a whole number as an id."""
        return str(value) if isinstance(value, int) and not isinstance(value, bool) else value

    @field_validator("order_required", mode="before")
    @classmethod
    def _unordered(cls, value: object) -> object:
        """Read null as the Skill does: rows are independent of order."""
        return False if value is None else value

    @field_validator("allow_extra_predicted_columns", mode="before")
    @classmethod
    def _extra(cls, value: object) -> object:
        """Read null as the Skill does: extra columns are allowed."""
        return True if value is None else value

    @property
    def predicted(self) -> bool:
        """Return True where the row carries an answer of an agent."""
        return self.predicted_sql is not None or self.selected_data_source is not None


class SkillConfig(BaseModel):
    """The Skill's config: data source names to connection URIs, and where the dataset is."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)

    dataset: str | None = Field(default=None, validation_alias=AliasChoices("dataset", "dataset_path"))
    data_sources: dict[str, str] = Field(
        default_factory=dict, validation_alias=AliasChoices("data_sources", "databases", "connections")
    )
    dialect: str = Field(default="sqlite", pattern="^[a-z][a-z0-9_]*$")
    timeout: float | None = Field(
        default=None, gt=0, validation_alias=AliasChoices("timeout", "timeout_seconds", "query_timeout")
    )
    row_limit: int | None = Field(default=None, gt=0, validation_alias=AliasChoices("row_limit", "max_rows"))
    alpha: float | None = Field(default=None, ge=0, le=1)
    beta: float | None = Field(default=None, ge=0, le=1)
    disagreement: float | None = Field(
        default=None, ge=0, le=1, validation_alias=AliasChoices("disagreement", "disagreement_threshold")
    )

    @field_validator("data_sources", mode="before")
    @classmethod
    def _uris(cls, value: object) -> object:
        """Accept {name: {uri: …}} and {name: {path: …}} beside {name: uri}."""
        if not isinstance(value, dict):
            return value
        return {name: _uri(entry) for name, entry in value.items()}


def _uri(entry: Any) -> object:
    """Return the URI of one data source however the config spells it."""
    if isinstance(entry, dict):
        for key in ("uri", "url", "connection_uri", "connection_string", "path"):
            if key in entry:
                return entry[key]
    return entry
