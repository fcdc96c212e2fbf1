"""The schema YAML of a snapshot: tables, columns, keys and indexes in one vocabulary for every engine."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator

from sqlassay.cases.errors import InputError
from sqlassay.cases.faults import Faults, Place
from sqlassay.cases.relation import Kind, kind_of
from sqlassay.cases.snapshot import ColumnDef, ForeignKey, PlacedRows, Snapshot, TableDef
from sqlassay.cases.yaml_reading import YamlDocument, dotted, read_yaml


def _seen(name: str) -> str:
    """Refuse a name with a character that is obeyed, not seen: no engine and no CSV header holds it as it is."""
    if any(unicodedata.category(one) == "Cc" for one in name):
        raise ValueError("a name holds a control character")
    return name


Name = Annotated[str, Field(min_length=1, max_length=63), AfterValidator(_seen)]


class ColumnModel(BaseModel):
    """A column as the file spells it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Name
    kind: str = Field(description="a kind of docs/formats.md, or an alias such as bigint, numeric, varchar, blob")
    nullable: bool = True
    length: int | None = Field(default=None, gt=0)
    precision: int | None = Field(default=None, gt=0)
    scale: int | None = Field(default=None, ge=0)
    comment: str = ""

    @field_validator("kind")
    @classmethod
    def _known(cls, value: str) -> str:
        """Refuse a kind that no reader knows, since data cannot be parsed by it."""
        if kind_of(value) is Kind.OTHER and value.strip().lower() != "other":
            raise ValueError(f"unknown kind; kinds are {', '.join(Kind)}")
        return value


class ForeignKeyModel(BaseModel):
    """A reference to another table as the file spells it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    columns: tuple[str, ...] = Field(min_length=1)
    table: str
    references: tuple[str, ...] = Field(min_length=1)


class TableModel(BaseModel):
    """A table as the file spells it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Name
    columns: tuple[ColumnModel, ...] = Field(min_length=1)
    primary_key: tuple[str, ...] = ()
    unique: tuple[tuple[str, ...], ...] = ()
    foreign_keys: tuple[ForeignKeyModel, ...] = ()
    indexes: tuple[tuple[str, ...], ...] = ()
    comment: str = ""


class SchemaModel(BaseModel):
    """The whole schema file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1]
    tables: tuple[TableModel, ...] = Field(min_length=1)
    enforce_foreign_keys: bool = False


def read_schema(document: YamlDocument) -> tuple[tuple[TableDef, ...], bool]:
    """Return the table definitions of a schema file and whether its foreign keys are enforced.

    Raises:
        InputError: a malformed schema, or a key that names no table or column, with file, line and field.
    """
    faults = Faults()
    model = faults.validate(SchemaModel, document.value, file=document.path, line=document.line)
    if model is not None:
        _check(model, document, faults)
    faults.check()
    assert model is not None
    return tuple(_table(table) for table in model.tables), model.enforce_foreign_keys


def _table(model: TableModel) -> TableDef:
    """Return the definition every dialect builds its DDL from."""
    columns = tuple(
        ColumnDef(c.name, kind_of(c.kind), c.nullable, c.length, c.precision, c.scale, c.comment) for c in model.columns
    )
    keys = tuple(ForeignKey(key.columns, key.table, key.references) for key in model.foreign_keys)
    return TableDef(model.name, columns, model.primary_key, model.unique, keys, model.indexes)


def _check(model: SchemaModel, document: YamlDocument, faults: Faults) -> None:
    """Keep a fault for every name that stands twice and every key that names nothing."""
    tables: dict[str, TableModel] = {}
    for index, table in enumerate(model.tables):
        if table.name.lower() in tables:
            faults.add(_fault(document, ("tables", index, "name"), f"table '{table.name}' stands twice"))
        tables[table.name.lower()] = table
    for index, table in enumerate(model.tables):
        _check_table(table, ("tables", index), tables, document, faults)


def _check_table(
    table: TableModel, place: Place, tables: dict[str, TableModel], document: YamlDocument, faults: Faults
) -> None:
    """Check one table's columns and keys; engines that fold case must see distinct names."""
    folded = [column.name.lower() for column in table.columns]
    for index, name in enumerate(folded):
        if name in folded[:index]:
            faults.add(_fault(document, (*place, "columns", index, "name"), f"column '{name}' stands twice"))
    own = {column.name for column in table.columns}
    lists: list[tuple[str, tuple[str, ...]]] = [("primary_key", table.primary_key)]
    lists += [("unique", columns) for columns in table.unique]
    lists += [("indexes", columns) for columns in table.indexes]
    lists += [("foreign_keys", key.columns) for key in table.foreign_keys]
    for field, columns in lists:
        for missing in [column for column in columns if column not in own]:
            faults.add(_fault(document, (*place, field), f"no column '{missing}' in table '{table.name}'"))
    for index, key in enumerate(table.foreign_keys):
        at = (*place, "foreign_keys", index)
        target = tables.get(key.table.lower())
        if target is None:
            faults.add(_fault(document, (*at, "table"), f"no table '{key.table}'"))
        elif not set(key.references) <= {column.name for column in target.columns}:
            faults.add(_fault(document, (*at, "references"), f"table '{key.table}' lacks a referenced column"))
        elif len(key.columns) != len(key.references):
            faults.add(_fault(document, at, "columns and references differ in number"))


def _fault(document: YamlDocument, place: Place, message: str) -> InputError:
    """Build a fault at a field of the schema file."""
    remedy = "Correct the name or define what it names"
    return InputError(message, file=document.path, line=document.line(place), field=dotted(place), remedy=remedy)


def name_fault(snapshot: Snapshot, table: int, column: int | None, message: str, remedy: str) -> InputError:
    """Return the fault of a table's or column's name: at its line in the schema file where there is one."""
    place: Place = ("tables", table, *(() if column is None else ("columns", column)), "name")
    if snapshot.schema_file is not None:
        line = read_yaml(snapshot.schema_file).line(place)
        return InputError(message, file=snapshot.schema_file, line=line, field=dotted(place), remedy=remedy)
    definition = snapshot.tables[table]
    named = definition.name if column is None else f"{definition.name}.{definition.columns[column].name}"
    return InputError(message, file=snapshot.sqlite_file or snapshot.id, field=named, remedy=remedy)


def row_fault(snapshot: Snapshot, table: str, row: int | None, message: str, remedy: str) -> InputError:
    """Return the fault of a row, from 1: at its line in its file where the source knows it."""
    file: Path | str = snapshot.id
    line = row
    if isinstance(snapshot.source, PlacedRows):
        file, placed = snapshot.source.place(table, row or 1)
        line = placed if row else None
    return InputError(message, file=file, line=line, field=table, remedy=remedy)
