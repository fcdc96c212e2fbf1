"""How MariaDB is loaded: MySQL's way, with types of its own."""

from __future__ import annotations

from typing import Any

from sqlalchemy import types as sql
from sqlalchemy.dialects.mysql.mariadb import INET4, INET6, MariaDBDialect

from sqlassay.cases.relation import Kind
from sqlassay.cases.snapshot import ColumnDef
from sqlassay.dialect_adapters.mariadb.own import MARIADB
from sqlassay.dialect_adapters.mysql.load import Loading, names_of
from sqlassay.dialect_adapters.mysql.types import NAMED_KINDS
from sqlassay.dialect_adapters.mysql.types import type_of as family_type_of

_NAMED_KINDS = {**NAMED_KINDS, "INET4": Kind.TEXT, "INET6": Kind.TEXT, "UUID": Kind.UUID}


def type_of(column: ColumnDef, keyed: bool) -> sql.TypeEngine[Any]:  # noqa: FBT001 - the shape of a TypeMap
    """Return the type of a column; JSON is a text that is checked, and UUID a type of its own."""
    return sql.Uuid() if column.kind is Kind.UUID else family_type_of(column, keyed)


LOADING = Loading(
    MARIADB,
    names_of(MARIADB.engine),
    MariaDBDialect(),
    type_of,
    _NAMED_KINDS,
    {"inet4": INET4, "inet6": INET6, "vector": sql.VARBINARY},
)
