"""The pack header, `pack.yaml`: what it may hold, as the file spells it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from sqlassay.cases.policy import PolicyOverrides
from sqlassay.cases.settings import EngineSettings

NAME = r"[A-Za-z0-9_][A-Za-z0-9_.-]*"
DATABASE = r"[A-Za-z_][A-Za-z0-9_]*"
FUNCTION = r"[^\s.()\"`]+(\.[^\s.()\"`]+)?"


class SnapshotModel(BaseModel):
    """Where one snapshot's content is: `schema` with `data`, a `sqlite` file, `scripts`, or a pair of them."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    database: str | None = Field(
        default=None, pattern=f"^{DATABASE}$", max_length=63, description="name in the engine; the id where left out"
    )
    schema_file: str | None = Field(default=None, alias="schema")
    data: str | None = Field(default=None, description="folder with TABLE.csv or TABLE.csv.gz for every table")
    sqlite: str | None = None
    types: Literal["values", "declared"] = Field(
        default="values",
        description="how the columns of a sqlite file are carried to other engines: as what their values are, or as the"
        " date, timestamp, boolean or decimal(p,s) they are declared to be, wherever every value is one",
    )
    scripts: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    whole_scripts: bool = Field(
        default=False,
        description="the scripts hold all of the data for their engine; schema and data are for the other engines",
    )
    collation: Literal["binary", "default"] | None = Field(
        default=None,
        description="how text compares on every engine: code point by code point, or as each engine does by itself;"
        " left out, by each engine's own default, and `binary` for a sqlite file",
    )
    settings: dict[str, EngineSettings] = Field(
        default_factory=dict,
        description="for each dialect: collation, sql_mode, time_zone, image, and the version the data came from",
    )

    @field_validator("scripts", mode="before")
    @classmethod
    def _lists(cls, value: object) -> object:
        """Accept one file where a list of one is meant."""
        if isinstance(value, dict):
            return {dialect: (files,) if isinstance(files, str) else files for dialect, files in value.items()}
        return value

    @model_validator(mode="after")
    def _whole(self) -> SnapshotModel:
        """Refuse a snapshot without content or with two sources of tables."""
        if (self.schema_file is None) != (self.data is None):
            made = "; `sqlassay snapshot build --from FOLDER --out DIR` writes the schema of CSV or Parquet files"
            raise ValueError(f"schema and data belong together{made if self.schema_file is None else ''}")
        if self.schema_file is not None and self.sqlite is not None:
            raise ValueError("a snapshot has schema and data, or sqlite, not both")
        if self.types == "declared" and self.sqlite is None:
            raise ValueError("types: declared is about a sqlite file")
        if self.schema_file is None and self.sqlite is None and not any(self.scripts.values()):
            raise ValueError("a snapshot needs schema and data, a sqlite file, or scripts")
        return self


class PackHeader(BaseModel):
    """The whole header."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    format: Literal[1]
    name: str = Field(pattern=f"^{NAME}$", max_length=100)
    description: str = ""
    snapshots: dict[str, SnapshotModel] = Field(min_length=1)
    routes: dict[str, str | None] = Field(default_factory=dict)
    visible: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    allowed_functions: dict[str, tuple[Annotated[str, Field(pattern=f"^{FUNCTION}$", max_length=130)], ...]] = Field(
        default_factory=dict,
        description="functions of a snapshot's scripts that queries may call, as NAME or SCHEMA.NAME; none by default",
    )
    policy: PolicyOverrides | None = Field(default=None, description="fields of a policy, or a preset's name")
    clock: datetime | None = None
    timeout: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    gold_timeout: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    row_limit: int | None = Field(default=None, gt=0)
    disagreement: float | None = Field(default=None, ge=0, le=1)
    alpha: float | None = Field(default=None, ge=0, le=1)
    beta: float | None = Field(default=None, ge=0, le=1)
    cases: tuple[str | dict[str, Any], ...] = Field(min_length=1, description="case files, or cases written in place")
    predictions: str | None = None

    @field_validator("policy", mode="before")
    @classmethod
    def _preset(cls, value: object) -> object:
        """Accept a preset's name where a policy with only a preset is meant."""
        return {"preset": value} if isinstance(value, str) else value

    @field_validator("cases", mode="before")
    @classmethod
    def _list(cls, value: object) -> object:
        """Accept one file where a list of one is meant."""
        return (value,) if isinstance(value, str) else value
