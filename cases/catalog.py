"""What a snapshot database holds, as the engine itself reports it after loading."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from cases.relation import Kind


class CatalogColumn(BaseModel):
    """A column as the engine declares it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    kind: Kind
    declared: str
    nullable: bool = True


class CatalogTable(BaseModel):
    """A table or view a reader may select from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    columns: tuple[CatalogColumn, ...]
    schema_name: str | None = None
    is_view: bool = False
    rows: int | None = None


class Catalog(BaseModel):
    """Every table of one snapshot database; written beside its image and read by guard, parser and agents."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int = 1
    dialect: str
    snapshot: str
    database: str
    engine_version: str
    tables: tuple[CatalogTable, ...]
    ddl: str = ""
    state_digest: str = ""
