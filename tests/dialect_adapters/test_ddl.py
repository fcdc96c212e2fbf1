"""Our schema as each engine's DDL."""

from __future__ import annotations

from sqlalchemy.dialects import mysql, postgresql

from sqlassay.cases.relation import Kind
from sqlassay.cases.snapshot import ColumnDef, ForeignKey, TableDef
from sqlassay.dialect_adapters.ddl import metadata_of, schema_text, table_ddl
from sqlassay.dialect_adapters.mysql.types import type_of as mysql_type
from sqlassay.dialect_adapters.postgres.types import type_of as postgres_type

PARENT = TableDef("order", (ColumnDef("group", Kind.TEXT), ColumnDef("body", Kind.TEXT)), primary_key=("group",))
CHILD = TableDef(
    "line",
    (ColumnDef("id", Kind.INT), ColumnDef("rank", Kind.TEXT), ColumnDef("price", Kind.DECIMAL, precision=10, scale=2)),
    primary_key=("id",),
    unique=(("rank", "id"),),
    foreign_keys=(ForeignKey(("rank",), "order", ("group",)), ForeignKey(("rank",), "elsewhere", ("x",))),
    indexes=(("price",), ("rank",)),
)


def test_names_are_quoted_always() -> None:
    """No list of reserved words decides whether a table loads."""
    parent, child = table_ddl((PARENT, CHILD), postgres_type, postgresql.dialect(), foreign_keys=False)
    assert parent.create.startswith('CREATE TABLE "order" (\n  "group" TEXT NOT NULL')
    assert '"price" NUMERIC(10, 2)' in child.create
    assert 'UNIQUE ("rank", "id")' in child.create


def test_text_in_a_mysql_key_is_varchar() -> None:
    """LONGTEXT cannot be indexed, so text in any key has a length, and only there."""
    parent, child = table_ddl((PARENT, CHILD), mysql_type, mysql.dialect(), foreign_keys=False)
    assert "`group` VARCHAR(255) NOT NULL" in parent.create
    assert "`body` LONGTEXT" in parent.create
    assert "`rank` VARCHAR(255)" in child.create


def test_indexes_and_references_come_after_the_rows() -> None:
    """Indexes have names of their own per table; references to tables that are not there are left out."""
    _, child = table_ddl((PARENT, CHILD), postgres_type, postgresql.dialect(), foreign_keys=True)
    assert "REFERENCES" not in child.create
    assert len(child.indexes) == 2
    assert len(set(child.indexes)) == 2
    assert child.foreign_keys == ('ALTER TABLE "line" ADD FOREIGN KEY("rank") REFERENCES "order" ("group")',)


def test_references_are_not_enforced_unless_asked_for() -> None:
    """Recorded references reach the engine only where the snapshot says so."""
    _, child = table_ddl((PARENT, CHILD), postgres_type, postgresql.dialect(), foreign_keys=False)
    assert child.foreign_keys == ()


def test_the_text_for_agents_shows_references_and_plain_names() -> None:
    """What an agent reads names every reference and quotes only what must be quoted."""
    metadata = metadata_of((PARENT, CHILD), postgres_type, foreign_keys=True)
    text = schema_text(metadata, postgresql.dialect(), ["line"])
    assert "FOREIGN KEY(rank) REFERENCES" in text
    assert text.startswith("CREATE TABLE line (\n  id BIGINT NOT NULL")
    assert text.endswith(";")
