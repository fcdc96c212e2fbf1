"""Names that no list of reserved words foresees load on every engine as they are, or are refused at their line."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import pytest
import yaml

from sqlassay.cases.errors import InputError
from sqlassay.cases.formats.registry import load_pack
from sqlassay.cases.outcome import Rows
from sqlassay.cases.pack import Pack
from sqlassay.cases.snapshot import Snapshot
from sqlassay.cases.sources.sqlite_file import sqlite_content
from sqlassay.dialect_adapters.contract import Limits, Mode, Pins, Role
from sqlassay.dialect_adapters.execute import Executed, execute
from sqlassay.dialect_adapters.mysql.load import NAMES as MYSQL
from sqlassay.dialect_adapters.names import NameRules, check_names
from sqlassay.dialect_adapters.postgres.load import NAMES as POSTGRES
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.dialect_adapters.sqlite.load import NAMES as SQLITE
from sqlassay.sandboxes.registry import provider

COLUMNS = [
    "growth%", "%s", "%(x)s", "a%%b", "qu'ote", 'dq"uote', "back`tick", "back\\slash", "do.t", "sp ace", "co:lon",
    "a:b\\:c", "select", "group", "user", "größe", "naïve-col", "x" * 63, "ü" * 31, "$1", "?", "@v",
    "semi;colon", "-- c", "/*c*/", "{brace}", "[sq]", "日本",
]  # fmt: skip
TABLES = ["order", "growth%", "do.t", "qu'ote", "sp ace", 'dq"uote', "back`tick", "t:x", "größe"]


def _pack(root: Path, tables: list[tuple[str, list[str]]], gold: str = "SELECT 1") -> Pack:
    """Write a pack with these tables, one row each, whose cells are the columns' numbers."""
    (root / "data").mkdir(parents=True)
    schema = [
        {
            "name": name,
            "columns": [{"name": c, "kind": "int", "nullable": i > 0, "comment": "50% 'x'"} for i, c in enumerate(cs)],
            "primary_key": [cs[0]],
            "indexes": [[cs[-1]]],
            **({"foreign_keys": [{"columns": [cs[-1]], "table": name, "references": [cs[0]]}]} if len(cs) == 1 else {}),
        }
        for name, cs in tables
    ]
    (root / "schema.yaml").write_text(yaml.safe_dump({"format": 1, "tables": schema}, allow_unicode=True))
    for name, columns in tables:
        header = ",".join('"' + c.replace('"', '""') + '"' for c in columns)
        (root / "data" / f"{name}.csv").write_text(f"{header}\n{','.join(map(str, range(len(columns))))}\n")
    (root / "pack.yaml").write_text(
        "format: 1\nname: x\nsnapshots:\n  main: {schema: schema.yaml, data: data}\ncases: [cases.jsonl]\n"
    )
    case = {"id": "a", "question": "q", "gold": dict.fromkeys(("sqlite", "postgres", "mysql", "duckdb"), gold)}
    (root / "cases.jsonl").write_text(json.dumps(case) + "\n")
    return load_pack(root)


@pytest.mark.parametrize(
    "dialect",
    [
        pytest.param("sqlite", marks=pytest.mark.jail),
        pytest.param("duckdb", marks=pytest.mark.jail),
        pytest.param("postgres", marks=pytest.mark.docker),
        pytest.param("mysql", marks=pytest.mark.docker),
    ],
)
def test_hard_names_load_as_they_are(tmp_path: Path, dialect: str) -> None:
    """Every name comes back from the engine's own catalogue and from SELECT * as the schema spells it."""
    pack = _pack(tmp_path / "p", [("t", COLUMNS), *((name, ["id"]) for name in TABLES)])
    made = adapter(dialect)
    host = provider("process" if made.recipe.kind == "files" else "docker")
    try:
        image = host.prepare(made, pack.snapshots, lambda _: None)
        catalog = image.catalogs[0]
        assert sorted(table.name for table in catalog.tables) == sorted(["t", *TABLES])
        assert [c.name for t in catalog.tables if t.name == "t" for c in t.columns] == COLUMNS
        assert {table.rows for table in catalog.tables} == {1}
        assert "growth%" in catalog.ddl
        assert "growth%%" not in catalog.ddl
        sandbox = host.start(made, image, Mode.READ, f"names-{uuid4().hex[:8]}")
        found = execute(
            lambda: sandbox.open(catalog.database, Role.READER, Pins()),
            "SELECT * FROM t",
            Limits(),
            kill=sandbox.kill,
            died_of_memory=sandbox.died_of_memory,
        )
    finally:
        host.close()
    assert isinstance(found, Executed)
    assert isinstance(found.outcome, Rows)
    assert [column.name for column in found.outcome.relation.columns] == COLUMNS


REFUSED = [
    (POSTGRES, "ü" * 32, "has 64 bytes, Postgres keeps 63"),
    (POSTGRES, "日" * 22, "has 66 bytes, Postgres keeps 63"),
    (MYSQL, "party 🎉", r"takes no character past U\+FFFF"),
    (MYSQL, "trailing ", "takes no name that ends with a space"),
    (SQLITE, "sqlite_stat1", "keeps names that begin with sqlite_"),
]


@pytest.mark.parametrize(("rules", "name", "said"), REFUSED)
@pytest.mark.parametrize("of", ["table", "column"])
def test_name_an_engine_would_cut_or_refuse_is_named_with_its_line(
    tmp_path: Path, rules: NameRules, name: str, said: str, of: str
) -> None:
    """The fault is at the name in the schema file and says which engine it is for; the others load it."""
    tables = [("t", ["id"]), (name, ["id"])] if of == "table" else [("t", ["id", name])]
    (snapshot,) = _pack(tmp_path / "p", tables).snapshots
    field = r"tables\.1\.name" if of == "table" else r"tables\.0\.columns\.1\.name"
    with pytest.raises(InputError, match=rf"schema\.yaml:\d+:{field}: .*{said}.*\. Rename it, or leave"):
        check_names(snapshot, rules)
    for other in {POSTGRES.engine: POSTGRES, MYSQL.engine: MYSQL, SQLITE.engine: SQLITE}.values():
        if other is not rules:
            check_names(snapshot, other)


@pytest.mark.parametrize("of", ["table", "column"])
def test_names_that_differ_only_in_case_are_refused(tmp_path: Path, of: str) -> None:
    """Postgres folds names to lower case and MySQL those of tables: two would become one."""
    tables = [("Client", ["id"]), ("client", ["id"])] if of == "table" else [("t", ["Id", "id"])]
    with pytest.raises(InputError, match=rf"schema\.yaml:\d+:tables.*name: {of} '(client|id)' stands twice"):
        _pack(tmp_path / "p", tables)


def test_control_characters_are_no_part_of_a_name(tmp_path: Path) -> None:
    """A name that ends a line or rings a bell is refused where it is written."""
    for one in ("a\tb", "a\nb", "a\x07", "a\x7f"):
        with pytest.raises(InputError, match=r"schema\.yaml:\d+:tables\.0\.columns\.0\.name: a name holds a control"):
            _pack(tmp_path / repr(one).strip("'").replace("\\", "_"), [("t", [one])])


@pytest.mark.parametrize("rules", [POSTGRES, MYSQL])
def test_names_of_a_sqlite_file_that_another_engine_folds_are_refused(tmp_path: Path, rules: NameRules) -> None:
    """SQLite keeps two names apart that differ in the case of a letter past ASCII; the file and both are named."""
    path = tmp_path / "a.sqlite"
    with closing(sqlite3.connect(path)) as db:
        db.execute('CREATE TABLE "Äpfel" (id INTEGER)')
        db.execute('CREATE TABLE "äpfel" (id INTEGER)')
    found = sqlite_content(path)
    snapshot = Snapshot("s", "s", "d", found.tables, found.source, sqlite_file=path)
    check_names(snapshot, SQLITE)
    with pytest.raises(
        InputError, match=rf"a\.sqlite:äpfel: 'Äpfel' and 'äpfel' are one name to {rules.engine}\. Rename"
    ):
        check_names(snapshot, rules)
