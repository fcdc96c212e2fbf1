"""What an agent is told of a schema: the visible tables alone, with nothing of the others."""

from __future__ import annotations

import pytest

from sqlassay.cases.catalog import Catalog, CatalogColumn, CatalogTable
from sqlassay.cases.relation import Kind

DDL = """CREATE TABLE "team" (
  "id" INTEGER NOT NULL,
  "name" TEXT,
  PRIMARY KEY ("id")
);

CREATE TABLE gold (
  txt TEXT
);

create table if not exists "deed" (
  "id" INTEGER,
  "team" INTEGER,
  "why" INTEGER,
  FOREIGN KEY("team") REFERENCES "team" ("id"),
  FOREIGN KEY("why") REFERENCES gold (txt)
);

CREATE VIEW "seen" AS SELECT name, (SELECT max(txt) FROM gold) AS best FROM team;

-- function f_total(n int) RETURNS int"""


def _table(name: str, *columns: str, is_view: bool = False) -> CatalogTable:
    found = tuple(CatalogColumn(name=column, kind=Kind.TEXT, declared="TEXT") for column in columns)
    return CatalogTable(name=name, columns=found, is_view=is_view)


CATALOG = Catalog(
    dialect="sqlite",
    snapshot="s",
    database="s",
    engine_version="3",
    tables=(
        _table("team", "id", "name"),
        _table("gold", "txt"),
        _table("deed", "id", "team", "why"),
        _table("seen", "name", "best", is_view=True),
    ),
    ddl=DDL,
)


def test_without_a_limit_the_whole_schema_is_told() -> None:
    """A pack without `visible` shows its agents everything."""
    assert CATALOG.ddl_of(None) == DDL


def test_a_hidden_table_leaves_no_word_behind() -> None:
    """Its statement, references to it and a view's text over it are gone; keys of visible tables stay."""
    told = CATALOG.ddl_of(frozenset({"team", "deed", "seen"}))
    assert "gold" not in told
    assert 'PRIMARY KEY ("id")' in told
    assert 'FOREIGN KEY("team") REFERENCES "team" ("id")\n);' in told
    assert '"best" TEXT' in told
    assert told.endswith("-- function f_total(n int) RETURNS int")
    assert told.count("f_total") == 1


@pytest.mark.parametrize("name", ["team", "deed", "seen"])
def test_one_visible_table_is_told_alone(name: str) -> None:
    """Each table is told by itself where only it is visible, whatever it refers to."""
    told = CATALOG.ddl_of(frozenset({name}))
    assert told.lower().count("create ") == 1
    assert {"team", "gold", "deed", "seen"} & set(told.lower().replace('"', " ").split()[2:3]) == {name}
    assert "gold" not in told
