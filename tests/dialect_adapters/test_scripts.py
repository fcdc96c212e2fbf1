"""Scripts are cut into statements as each engine's own tools would cut them."""

from __future__ import annotations

from sqlassay.dialect_adapters.mysql.scripts import statements_of
from sqlassay.dialect_adapters.postgres.scripts import Part, parts_of

MYSQL = """-- a comment; with a semicolon
CREATE TABLE t (a INT); # another;
INSERT INTO t VALUES ('it''s; \\'x', "a;b", `c`); /* ; */
/*!40101 SET NAMES utf8mb4 */;
DELIMITER //
CREATE PROCEDURE p() BEGIN SELECT 1; SELECT 2; END//
DELIMITER ;
SELECT 5--1; SELECT 6"""


def test_mysql_statements_are_cut_outside_quotes_and_comments() -> None:
    """Semicolons in quotes, comments and under another DELIMITER end nothing."""
    found = list(statements_of(MYSQL))
    assert [statement.sql.splitlines()[-1] for statement in found] == [
        "CREATE TABLE t (a INT)",
        "INSERT INTO t VALUES ('it''s; \\'x', \"a;b\", `c`)",
        "/*!40101 SET NAMES utf8mb4 */",
        "CREATE PROCEDURE p() BEGIN SELECT 1; SELECT 2; END",
        "SELECT 5--1",
        "SELECT 6",
    ]
    assert found[3].line == 6


def test_postgres_scripts_are_cut_only_around_inline_data() -> None:
    """pg_dump's COPY data travels as data; everything else goes to the server as it stands."""
    script = "\\restrict abc\nCREATE TABLE t (a text);\nCOPY t (a) FROM stdin;\nx;\ny\n\\.\nSELECT ';';\n"
    assert list(parts_of(script)) == [
        Part(1, "\\restrict abc"),
        Part(2, "CREATE TABLE t (a text);"),
        Part(3, "COPY t (a) FROM stdin;", "x;\ny\n"),
        Part(7, "SELECT ';';"),
    ]
