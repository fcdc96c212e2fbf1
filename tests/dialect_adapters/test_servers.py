"""What only a real server shows: huge cells, pinned clocks, scripts, refused rows, parallel readers' rights."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from uuid import uuid4

import pytest

from sqlassay.cases.errors import InputError
from sqlassay.cases.outcome import Failure, Rows
from sqlassay.cases.relation import Kind, Row
from sqlassay.cases.snapshot import ColumnDef, Snapshot, TableDef
from sqlassay.cases.verdicts import FailureKind
from sqlassay.dialect_adapters.contract import Limits, Mode, Pins, Role, Session
from sqlassay.dialect_adapters.execute import Executed, execute
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.sandboxes.contract import Provider, Sandbox
from sqlassay.sandboxes.registry import provider

pytestmark = pytest.mark.docker

SCRIPTS = {
    "postgres": "CREATE SCHEMA extra;\nCREATE TYPE mood AS ENUM ('ok');\n"
    "CREATE TABLE extra.dumped (id int PRIMARY KEY, m mood, s text);\nCOPY extra.dumped (id, m, s) FROM stdin;\n"
    "1\tok\ta;b\n\\.\nCREATE VIEW seen AS SELECT id, s FROM extra.dumped;\n"
    "CREATE FUNCTION wipe() RETURNS int LANGUAGE sql SECURITY DEFINER AS 'DELETE FROM extra.dumped; SELECT 1';\n",
    "mysql": "CREATE TABLE dumped (id int PRIMARY KEY, m ENUM('ok'), s text, f FLOAT, b BIT(3), y YEAR);\n"
    "INSERT INTO dumped VALUES (1, 'ok', 'a;b', 0.5, b'101', 2024);\nCREATE VIEW seen AS SELECT id, s FROM dumped;\n"
    "DELIMITER //\nCREATE FUNCTION wipe() RETURNS INT MODIFIES SQL DATA BEGIN DELETE FROM dumped; RETURN 1; END//\n",
}


class Bad:
    """A source whose third row does not fit its table."""

    def rows(self, table: str) -> Iterator[Row]:
        yield from ((1, "a"), (2, "b"), ("three", "c"))


class Given:
    """A source of one table's rows."""

    def __init__(self, given: list[Row]) -> None:
        self.given = given

    def rows(self, table: str) -> Iterator[Row]:
        yield from self.given


@pytest.fixture(scope="module", params=["postgres", "mysql"])
def dialect(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def docker() -> Iterator[Provider]:
    made = provider("docker")
    yield made
    made.close()


@pytest.fixture(scope="module")
def server(dialect: str, docker: Provider, tmp_path_factory: pytest.TempPathFactory) -> Sandbox:
    script = tmp_path_factory.mktemp("scripts") / f"{dialect}.sql"
    script.write_text(SCRIPTS[dialect])
    snapshot = Snapshot("scripted", "Scripted_1", f"servers-{dialect}-2", scripts={dialect: (script,)})
    image = docker.prepare(adapter(dialect), (snapshot,), lambda line: None)
    tables = {(table.name, table.is_view, table.rows) for table in image.catalogs[0].tables}
    assert tables == {("dumped", False, 1), ("seen", True, 1)}
    return docker.start(adapter(dialect), image, Mode.READ, f"servers-{uuid4().hex[:8]}")


def run(server: Sandbox, sql: str, *, clock: datetime | None = None) -> Executed:
    return execute(
        lambda: server.open("Scripted_1", Role.READER, Pins(clock=clock)),
        sql,
        Limits(timeout=10),
        kill=server.kill,
        died_of_memory=server.died_of_memory,
    )


def rows(server: Sandbox, sql: str, *, clock: datetime | None = None) -> tuple[Row, ...]:
    outcome = run(server, sql, clock=clock).outcome
    assert isinstance(outcome, Rows), outcome
    return outcome.relation.rows


def test_a_huge_cell_does_not_reach_our_memory(server: Sandbox) -> None:
    """A cell of 50 MB is refused without being held, and the server stays sound."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    executed = run(server, "SELECT repeat('x', 50000000) AS a, repeat('y', 50000000) AS b")
    assert isinstance(executed.outcome, Failure)
    assert executed.outcome.kind is FailureKind.TOO_MANY_BYTES
    assert executed.tainted is False
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 90_000
    assert rows(server, "SELECT 1 AS one") == ((1,),)


def test_views_of_scripts_are_read_and_their_functions_refused(server: Sandbox) -> None:
    """A reader reads what a script made and calls no routine of it, not even one that runs as its owner."""
    assert rows(server, "SELECT * FROM seen") == ((1, "a;b"),)
    refused = run(server, "SELECT wipe() AS w").outcome
    assert isinstance(refused, Failure)
    assert refused.kind is FailureKind.ERROR


def test_the_clock_is_pinned(server: Sandbox) -> None:
    """now() is the pinned moment, in UTC where it has no zone."""
    moment = datetime(2020, 2, 29, 12, 30)  # noqa: DTZ001 - a clock without a zone is UTC
    assert rows(server, "SELECT CAST(now() AS CHAR(19)) AS n", clock=moment) == (("2020-02-29 12:30:00",),)


def test_a_row_that_does_not_fit_is_named(dialect: str, docker: Provider) -> None:
    """A load that would lose or change a value fails, naming table and row."""
    table = TableDef("t", (ColumnDef("id", Kind.INT, nullable=False), ColumnDef("s", Kind.TEXT)))
    snapshot = Snapshot("bad", "bad", "servers-bad-1", (table,), Bad())
    with pytest.raises(InputError, match=r"bad:3:t: table t"):
        docker.prepare(adapter(dialect), (snapshot,), lambda line: None)


def test_floats_that_cancel_each_other_out_are_loaded(dialect: str, docker: Provider) -> None:
    """The order in which a server adds floats up, and a sum past any double, are no change of a value."""
    columns = tuple(ColumnDef(name, Kind.FLOAT64) for name in "abcd")
    rows: list[Row] = [
        (1e17, 9e15, 1e308, 0.1),
        (0.3, 0.25, 1.7e308, 5e-324),
        (-1e17, -9e15, -1e308, 1.7976931348623157e308),
    ]
    snapshot = Snapshot("floats", "Floats", f"servers-{dialect}-floats", (TableDef("t", columns),), Given(rows))
    assert docker.prepare(adapter(dialect), (snapshot,), lambda line: None).catalogs[0].tables[0].rows == len(rows)


def test_a_broken_script_is_named_by_line(dialect: str, docker: Provider, tmp_path: Path) -> None:
    """A script that fails names its file and the statement's line."""
    script = tmp_path / "broken.sql"
    script.write_text("CREATE TABLE a (i int);\n\nCREATE TABEL b (i int);\n")
    snapshot = Snapshot("broken", "broken", "servers-broken-1", scripts={dialect: (script,)})
    with pytest.raises(InputError, match=r"broken\.sql:3: "):
        docker.prepare(adapter(dialect), (snapshot,), lambda line: None)


@pytest.mark.parametrize("zone", ["Nowhere/Atlantis", "x'; --"])
def test_an_unknown_time_zone_is_an_input_error(server: Sandbox, zone: str) -> None:
    """A zone the server does not know is refused by name, before the statement runs."""

    def opened() -> Session:
        return server.open("Scripted_1", Role.READER, Pins(time_zone=zone))

    with pytest.raises(InputError, match="time zone"):
        execute(opened, "SELECT 1", Limits(timeout=10), kill=server.kill, died_of_memory=server.died_of_memory)
