"""What MariaDB has of its own, on a real server: types, two read-only switches, sequences, recursion, deadline."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest

from sqlassay.cases.relation import FarTemporal, Kind, Relation
from sqlassay.cases.snapshot import Snapshot
from sqlassay.cases.verdicts import FailureKind
from sqlassay.dialect_adapters.contract import Limits, Mode, Pins, Role, StatementError
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.sandboxes.contract import Provider, Sandbox, SnapshotImage
from sqlassay.sandboxes.registry import provider

pytestmark = pytest.mark.docker
LIMITS = Limits(timeout=10.0)
SCRIPT = """
/*M!100100 SET SESSION sql_mode = '' */;
/*!80000 CREATE TABLE no_such_table_of_mysql_alone (id INT) */;
CREATE TABLE kinds (id INT PRIMARY KEY, u UUID, six INET6, four INET4, j JSON, y YEAR, b BIT(3), d DATE, s DATETIME,
  e ENUM('a', 'b'), v VECTOR(2));
INSERT INTO kinds VALUES (1, '12345678-1234-5678-1234-56781234ABCD', '::1', '10.0.0.7', '{"a": [1]}', 2024, b'101',
  '0000-00-00', '2024-02-00 00:00:00', 'b', VEC_FromText('[1, 2]'));
CREATE TABLE followed (id INT) WITH SYSTEM VERSIONING;
INSERT INTO followed VALUES (1);
CREATE SEQUENCE counter START WITH 5;
"""
ROOTED = (
    "INSERT INTO kinds (id) VALUES (2)",
    "DELETE FROM followed",
    "SELECT NEXTVAL(counter)",
    "CREATE TABLE made (id INT) ENGINE = Aria",
    "DROP DATABASE shop",
    "CREATE USER made",
    "SET GLOBAL read_only = 0",
    "SET GLOBAL innodb_read_only = 0",
    "GRANT READ_ONLY ADMIN ON *.* TO root@'%'",
    "UPDATE mysql.global_priv SET user = 'x'",
)


@dataclass
class Ground:
    """A baked image and its servers."""

    makes: Provider
    image: SnapshotImage
    reading: Sandbox

    def start(self, mode: Mode) -> Sandbox:
        """Start one more server."""
        return self.makes.start(adapter("mariadb"), self.image, mode, f"mariadb-{uuid4().hex[:8]}")

    def digest(self, sandbox: Sandbox) -> str:
        """Return the state's digest."""
        return adapter("mariadb").state_digest(sandbox.endpoint, "shop")


def asked(sandbox: Sandbox, sql: str, role: Role = Role.READER, *, pins: Pins | None = None) -> Relation:
    """Return what one statement gives in a session of its own; the harness's is no transaction."""
    with closing(sandbox.open("shop", role, pins or Pins())) as session:
        if role is Role.READER:
            session.begin_read(LIMITS)
        return session.fetch(sql, LIMITS)


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """One image of a script with a table of every type, and a READ-mode server of it."""
    script = tmp_path_factory.mktemp("mariadb") / "kinds.sql"
    script.write_text(SCRIPT)
    snapshot = Snapshot("shop", "shop", "mariadb-own-1", scripts={"mariadb": (Path(script),)})
    makes = provider("docker")
    try:
        image = makes.prepare(adapter("mariadb"), (snapshot,), lambda line: None)
        found = Ground(makes, image, makes.start(adapter("mariadb"), image, Mode.READ, f"mariadb-{uuid4().hex[:8]}"))
        yield found
    finally:
        makes.close()


def test_its_own_types_come_back(ground: Ground) -> None:
    """UUID and addresses are text in one form, JSON is text, a zero date stays what it is, a vector its bytes."""
    relation = asked(ground.reading, "SELECT u, six, four, j, y, b, d, s, e, v FROM kinds")
    assert relation.rows == (
        (
            "12345678-1234-5678-1234-56781234abcd",
            "::1",
            "10.0.0.7",
            '{"a": [1]}',
            2024,
            5,
            FarTemporal("0000-00-00"),
            FarTemporal("2024-02-00 00:00:00"),
            "b",
            b"\x00\x00\x80?\x00\x00\x00@",
        ),
    )
    assert [column.kind for column in relation.columns][4:8] == [Kind.INT, Kind.BITS, Kind.DATE, Kind.TIMESTAMP]


def test_the_catalogue_knows_them(ground: Ground) -> None:
    """Each column has its kind; a sequence is no table of questions, and what MySQL alone runs was not run."""
    tables = {table.name: table for table in ground.image.catalog("shop").tables}
    assert set(tables) == {"kinds", "followed"}
    kinds = {column.name: column.kind for column in tables["kinds"].columns}
    assert (kinds["u"], kinds["six"], kinds["four"], kinds["y"]) == (Kind.UUID, Kind.TEXT, Kind.TEXT, Kind.INT)


@pytest.mark.parametrize("sql", ROOTED)
def test_not_even_the_administrator_writes_where_it_reads(ground: Ground, sql: str) -> None:
    """Two switches, and nobody with the right to turn one: rows, files of other engines, logins and sequences."""
    with pytest.raises(StatementError, match=r"read-only|READ_ONLY ADMIN|Access denied|read only variable"):
        asked(ground.reading, sql, Role.HARNESS)
    assert ground.digest(ground.reading) == ground.image.catalog("shop").state_digest


def test_a_sequences_next_value_is_a_change(ground: Ground) -> None:
    """The digest sees it, where it is possible at all; so is a deleted row whose history stays."""
    writing = ground.start(Mode.WRITE)
    before = ground.digest(writing)
    assert asked(writing, "SELECT NEXTVAL(counter)", Role.HARNESS).rows == ((5,),)
    after = ground.digest(writing)
    assert before == ground.image.catalog("shop").state_digest != after
    asked(writing, "DELETE FROM followed", Role.HARNESS)
    assert ground.digest(writing) != after
    writing.destroy()


def test_a_recursion_is_never_cut(ground: Ground) -> None:
    """By its own default the server stops after 1,000 rounds and says so in a warning alone."""
    sql = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 5000) SELECT count(*) FROM r"
    assert asked(ground.reading, sql).rows == ((5000,),)


def test_the_clock_is_pinned(ground: Ground) -> None:
    """Every function of the clock says the pinned moment, in the pinned zone."""
    pins = Pins(dt.datetime(2021, 3, 4, 5, 6, 7, tzinfo=dt.UTC), "+02:00")
    moment = dt.datetime(2021, 3, 4, 7, 6, 7)  # noqa: DTZ001 - the engine gives no zone
    relation = asked(ground.reading, "SELECT NOW(), CURRENT_TIMESTAMP, CURDATE()", pins=pins)
    assert relation.rows == ((moment, moment, moment.date()),)


def test_its_own_deadline_is_a_timeout(ground: Ground) -> None:
    """The server ends a SELECT by itself, asleep or at work, and what is no SELECT too."""
    busy = "SELECT count(*) FROM seq_1_to_100000 a, seq_1_to_100000 b WHERE a.seq + b.seq = 0"
    for sql in (busy, "SELECT SLEEP(5)"):
        with closing(ground.reading.open("shop", Role.READER, Pins())) as session:
            session.begin_read(Limits(timeout=0.2))
            with pytest.raises(StatementError) as caught:
                session.fetch(sql, LIMITS)
            assert caught.value.kind is FailureKind.TIMEOUT
    with closing(ground.reading.open("shop", Role.READER, Pins())) as session:
        session.begin_read(Limits(timeout=0.2))
        started = time.monotonic()
        session.fetch(f"DO ({busy})", LIMITS)
        assert time.monotonic() - started < 3.0
