"""What MariaDB has of its own beside MySQL, without a server."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy.dialects.mysql.mariadb import MariaDBDialect

from sqlassay.cases.relation import Kind
from sqlassay.cases.snapshot import ColumnDef
from sqlassay.cases.verdicts import FailureKind
from sqlassay.dialect_adapters.contract import Mode
from sqlassay.dialect_adapters.mariadb.load import type_of
from sqlassay.dialect_adapters.mariadb.own import MARIADB
from sqlassay.dialect_adapters.mariadb.recipe import RECIPE
from sqlassay.dialect_adapters.mariadb.spelling import spelling
from sqlassay.dialect_adapters.mysql.own import MYSQL
from sqlassay.dialect_adapters.mysql.scripts import statements_of
from sqlassay.dialect_adapters.mysql.spelling import MysqlSpelling
from sqlassay.dialect_adapters.mysql.wire import _kind_of
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.sandboxes.loader import loader_files


def test_a_uuid_has_a_type_of_its_own_and_json_is_checked_text() -> None:
    """UUID is no CHAR(36) here; JSON is the server's own word for a text that it checks."""
    spelled = {
        kind: type_of(ColumnDef("c", kind), keyed).compile(MariaDBDialect())
        for kind, keyed in ((Kind.UUID, False), (Kind.JSON, False), (Kind.TEXT, True), (Kind.TIMESTAMP, False))
    }
    assert spelled == {
        Kind.UUID: "UUID",
        Kind.JSON: "JSON",
        Kind.TEXT: "VARCHAR(255)",
        Kind.TIMESTAMP: "DATETIME(6)",
    }


def test_each_server_bounds_a_statement_in_its_own_words() -> None:
    """MySQL takes milliseconds and bounds a SELECT alone, MariaDB seconds and everything."""
    assert MYSQL.time_limit(2.4) == "max_execution_time = 2400"
    assert MARIADB.time_limit(2.4) == "max_statement_time = 2.400"


def test_a_comment_for_mariadb_alone_is_a_statement_there() -> None:
    """`/*M! */` runs on MariaDB and is nothing to MySQL; `/*! */` is sent to both."""
    text = "/*M! CREATE SEQUENCE s */; /*!50000 SELECT 1 */; /* nothing */;"
    assert [one.sql for one in statements_of(text, MARIADB.executable)] == [
        "/*M! CREATE SEQUENCE s */",
        "/*!50000 SELECT 1 */",
    ]
    assert [one.sql for one in statements_of(text, MYSQL.executable)] == ["/*!50000 SELECT 1 */"]


def test_a_statement_past_its_time_or_space_is_no_plain_error() -> None:
    """MariaDB's own numbers: 1969 is its time limit, 201 and 202 are its limits of temporary space."""
    assert [_kind_of(code) for code in (1969, 201, 202, 1064)] == [
        FailureKind.TIMEOUT,
        FailureKind.RESOURCE_LIMIT,
        FailureKind.RESOURCE_LIMIT,
        FailureKind.ERROR,
    ]


def test_a_text_is_matched_without_mysqls_function() -> None:
    """REGEXP_LIKE is MySQL's; here the operator is, under a binary collation."""
    assert "REGEXP_LIKE" not in spelling().moment("x") + spelling().looks("x") + spelling().matches("x", "a")
    assert spelling().matches("x", "a") == "(x COLLATE utf8mb4_0900_bin REGEXP 'a')"
    assert MysqlSpelling().matches("x", "a") == "REGEXP_LIKE(x, 'a', 'c')"
    assert (spelling().dialect, MysqlSpelling().dialect) == ("mariadb", "mysql")


def test_like_without_an_escape_has_none() -> None:
    """MariaDB takes an empty ESCAPE for the backslash, MySQL for no escape at all."""
    assert spelling().like("x", "'a\\\\%'", None) == "(x LIKE 'a\\\\%' ESCAPE x'01')"
    assert MysqlSpelling().like("x", "'a'", None) == "(x LIKE 'a' ESCAPE '')"
    assert spelling().like("x", "'a'", "'!'") == "(x LIKE 'a' ESCAPE '!')"


def test_a_read_server_is_read_only_twice() -> None:
    """READ mode alone has both switches, and the right to turn one off is taken from everybody."""
    switches = {"--innodb-read-only=ON", "--read-only=ON"}
    assert {mode: switches <= set(argv) for mode, argv in RECIPE.serve.items()} == {
        Mode.READ: True,
        Mode.WRITE: False,
        Mode.BUILD: False,
    }
    assert MARIADB.settled == ("REVOKE READ_ONLY ADMIN ON *.* FROM 'root'@'%'",)


def test_no_argument_stands_before_no_defaults() -> None:
    """The server takes it as the first argument only."""
    for argv in (*RECIPE.serve.values(), RECIPE.init[-1][RECIPE.init[-1].index("{bin}/mariadbd") :]):
        assert argv[1] == "--no-defaults"


def test_a_change_of_the_shared_code_bakes_both_anew() -> None:
    """MariaDB's images depend on MySQL's folder too, MySQL's not on MariaDB's."""
    folders = {name: {path.parent.name for path in loader_files(adapter(name))} for name in ("mariadb", "mysql")}
    assert folders["mariadb"] >= {"mariadb", "mysql"}
    assert "mariadb" not in folders["mysql"]


def test_its_recipe_is_its_own() -> None:
    """Base image, socket and registry image are MariaDB's."""
    mysql = adapter("mysql").recipe
    assert (RECIPE.dialect, RECIPE.registry_image) == ("mariadb", "mariadb:11.8")
    assert RECIPE.debian != mysql.debian
    assert Path(RECIPE.socket) != Path(mysql.socket)
