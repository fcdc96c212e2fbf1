"""What a snapshot database holds, as the engine itself reports it after loading."""

from __future__ import annotations

from typing import Literal

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


class CatalogRoutine(BaseModel):
    """A function, procedure or trigger function of the snapshot's own, as the engine describes it.

    `allowed` says that the pack lets queries call it: the logins were given EXECUTE on it when the image was baked.
    `trigger` is a function that only triggers call, `extension` the one it belongs to, if any.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    kind: Literal["function", "procedure", "aggregate", "window", "trigger"]
    schema_name: str | None = None
    arguments: str = ""
    returns: str = ""
    language: str = ""
    volatility: str = ""
    data_access: str = ""
    security_definer: bool = False
    extension: str = ""
    allowed: bool = False

    @property
    def callable(self) -> bool:
        """Return whether a query can call it at all."""
        return self.kind in {"function", "aggregate", "window"}


class Catalog(BaseModel):
    """Every table and routine of one snapshot database; written beside its image, read by guard, parser and agents.

    Format 1 told of no routines: it is read as a database without any.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1, 2] = 2
    dialect: str
    snapshot: str
    database: str
    engine_version: str
    tables: tuple[CatalogTable, ...]
    routines: tuple[CatalogRoutine, ...] = ()
    ddl: str = ""
    state_digest: str = ""
