"""The execution conformance suite: an adapter and a provider pass it through an empty pytest subclass.

A subclass states `dialect` (and its sentences, below, where the defaults do not suit) and a `bench` fixture gives
the running server. A gap is a strict expected failure in the subclass that names dialect, error and reason.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

import pytest

from sqlassay.cases.catalog import Catalog
from sqlassay.cases.errors import SandboxLostError
from sqlassay.cases.outcome import Failure, Rows
from sqlassay.cases.relation import Relation
from sqlassay.cases.verdicts import FailureKind
from sqlassay.dialect_adapters.conformance_data import ALL_TYPES, BIG_ROWS, MARKER, VALUES, WIDE_BYTES, same
from sqlassay.dialect_adapters.contract import Adapter, Endpoint, Limits, Pins, Role, Session
from sqlassay.dialect_adapters.execute import Executed, execute
from sqlassay.dialect_adapters.explaining import Planning
from sqlassay.dialect_adapters.timing import Paces

LIMITS = Limits(timeout=10.0)
SLOW = (
    "SELECT count(*) AS c FROM big a WHERE a.id = (SELECT sum(b.id + a.id) FROM big b "
    "WHERE b.id = (SELECT count(*) FROM big c WHERE c.id + b.id <> a.id))"
)
WRITES = (
    "INSERT INTO big (id, name) VALUES (-1, 'x')",
    "UPDATE big SET name = 'x'",
    "DELETE FROM big",
    "DROP TABLE big",
    "ALTER TABLE big ADD COLUMN extra INT",
    "CREATE TABLE made (id INT)",
    "CREATE TEMPORARY TABLE made (id INT)",
    "CREATE VIEW made AS SELECT 1 AS one",
    "CREATE INDEX made ON big (name)",
)
ESCAPES = ("COMMIT", "ROLLBACK", "BEGIN", "SET TRANSACTION READ WRITE", "START TRANSACTION READ WRITE", "SAVEPOINT s")


class Server(Protocol):
    """A running sandbox, as far as the suite needs it."""

    endpoint: Endpoint

    def open(self, database: str, role: Role, pins: Pins) -> Session:
        """Log in."""
        ...

    def died_of_memory(self) -> bool:
        """Return True where a resource limit killed it."""
        ...

    def kill(self) -> None:
        """Stop it at once."""
        ...

    def destroy(self) -> None:
        """Remove it."""
        ...


@dataclass(frozen=True, slots=True)
class Bench:
    """What a `bench` fixture gives: the adapter, a READ-mode server with ALPHA and BETA loaded, and more of them."""

    adapter: Adapter
    server: Server
    catalogs: tuple[Catalog, ...]
    start: Callable[[], Server]

    def run(self, sql: str, limits: Limits = LIMITS, *, database: str = "alpha") -> Executed:
        """Execute one statement as a reader on the shared server."""
        return run_on(self.server, sql, limits, database=database)

    def rows(self, sql: str, limits: Limits = LIMITS) -> Relation:
        """Return the rows of a statement that must succeed."""
        outcome = self.run(sql, limits).outcome
        assert isinstance(outcome, Rows), outcome
        return outcome.relation

    def failure(self, sql: str, limits: Limits = LIMITS) -> Failure:
        """Return the failure of a statement that must fail."""
        outcome = self.run(sql, limits).outcome
        assert isinstance(outcome, Failure), outcome
        return outcome

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Prove that the state of both databases is the baked one afterwards."""
        yield
        for catalog in self.catalogs:
            assert self.adapter.state_digest(self.server.endpoint, catalog.database) == catalog.state_digest


def run_on(server: Server, sql: str, limits: Limits, *, database: str = "alpha") -> Executed:
    """Execute one statement as a reader on a server."""

    def opened() -> Session:
        """Return a fresh session."""
        return server.open(database, Role.READER, Pins())

    return execute(opened, sql, limits, kill=server.kill, died_of_memory=server.died_of_memory)


class ExecutionConformance:
    """Every promise `execute` makes over an adapter's sessions; subclass it and give a `bench` fixture."""

    dialect: ClassVar[str]
    other_database: ClassVar[tuple[str, ...]] = ("SELECT * FROM secret", "SELECT * FROM beta.secret")
    """Statements that try to read the other snapshot's database."""
    leak: ClassVar[tuple[str, str]]
    """A statement that changes session state, and one that shows it."""
    slow: ClassVar[str] = SLOW
    """A query that runs for longer than any deadline here, in little memory."""
    spy: ClassVar[str | None] = None
    """A statement that lists what other sessions run; None where sessions share no server process."""

    def test_loaded_values_come_back_typed(self, bench: Bench) -> None:
        """Every kind comes back as the value that was loaded, in the engine's own form."""
        relation = bench.rows("SELECT * FROM all_types WHERE id = 1")
        wrong = [
            (kind, got, sent)
            for (kind, sent), got in zip(VALUES.items(), relation.rows[0][1:], strict=True)
            if not same(kind, got, sent)
        ]
        assert wrong == []

    def test_null_is_none_in_every_kind(self, bench: Bench) -> None:
        """NULL comes back as None whatever the column's kind."""
        assert bench.rows("SELECT * FROM all_types WHERE id = 2").rows == ((2, *(None for _ in VALUES)),)

    def test_columns_keep_their_names_and_duplicates(self, bench: Bench) -> None:
        """Result columns keep their names, two of one name included."""
        relation = bench.rows('SELECT 1 AS a, 2 AS a, name AS "Ünï" FROM hollow'.replace('"', self._quote(bench)))
        assert [column.name for column in relation.columns] == ["a", "a", "Ünï"]

    def test_zero_rows_keep_their_columns(self, bench: Bench) -> None:
        """A result without rows still says which columns it has."""
        relation = bench.rows("SELECT id, name FROM hollow")
        assert relation.rows == ()
        assert [column.name for column in relation.columns] == ["id", "name"]

    def test_placeholders_in_text_are_untouched(self, bench: Bench) -> None:
        """Percent signs, colons, braces and question marks reach the engine as they were written."""
        relation = bench.rows("SELECT '%s :x % {0} ? $1 %(a)s' AS v /* %s :y ? */ -- %d :z")
        assert relation.rows == (("%s :x % {0} ? $1 %(a)s",),)

    def test_one_megabyte_of_sql_is_read_whole(self, bench: Bench) -> None:
        """A statement of 1 MB is neither cut nor refused by the way it travels."""
        relation = bench.rows("SELECT '" + "ü" * 500_000 + "' AS v")
        assert relation.rows == (("ü" * 500_000,),)

    @pytest.mark.parametrize("sql", ["SELECT 1; SELECT 2", "SELECT 1; DROP TABLE big", "SELECT 1;;SELECT 2"])
    def test_a_second_statement_is_refused(self, bench: Bench, sql: str) -> None:
        """The protocol admits exactly one statement."""
        with bench.unchanged():
            assert bench.failure(sql).kind is FailureKind.ERROR

    def test_a_closing_semicolon_is_no_second_statement(self, bench: Bench) -> None:
        """One statement may end in a semicolon and a comment."""
        assert bench.rows("SELECT 1 AS one; -- done\n").rows == ((1,),)

    @pytest.mark.parametrize("sql", ["", "  \n", "-- nothing", "/* nothing */", ";"])
    def test_nothing_is_an_error(self, bench: Bench, sql: str) -> None:
        """Empty text and lone comments are the statement's error, with a message that says so."""
        failure = bench.failure(sql)
        assert failure.kind is FailureKind.ERROR
        assert failure.message

    @pytest.mark.parametrize("sql", ["SELECT \0 1", "SELECT '\ud800'"])
    def test_text_that_cannot_travel_is_an_error(self, bench: Bench, sql: str) -> None:
        """A NUL or a lone surrogate never cuts or breaks the statement: it is refused, or read as it is."""
        outcome = bench.run(sql).outcome
        assert not isinstance(outcome, Rows) or outcome.relation.rows != ((1,),)
        assert bench.rows("SELECT 1 AS one").rows == ((1,),)

    @pytest.mark.parametrize("sql", WRITES)
    def test_a_write_is_refused_and_changes_nothing(self, bench: Bench, sql: str) -> None:
        """A reader writes nothing, and the state afterwards is the baked one."""
        with bench.unchanged():
            assert bench.failure(sql).kind is FailureKind.ERROR

    @pytest.mark.parametrize("sql", ESCAPES)
    def test_leaving_the_transaction_opens_nothing(self, bench: Bench, sql: str) -> None:
        """Transaction control changes nothing, and the next session is READ ONLY again."""
        with bench.unchanged():
            bench.run(sql)
            assert bench.failure(WRITES[0]).kind is FailureKind.ERROR

    def test_only_the_own_database_can_be_read(self, bench: Bench) -> None:
        """A reader of one snapshot never sees another snapshot's rows."""
        assert [bench.failure(sql).kind for sql in self.other_database] == [FailureKind.ERROR] * len(
            self.other_database
        )
        other = bench.run("SELECT name FROM secret", database="beta").outcome
        assert isinstance(other, Rows)
        assert other.relation.rows == ((MARKER,),)

    def test_a_slow_statement_is_cancelled_in_time(self, bench: Bench) -> None:
        """The deadline cancels within two seconds, and the next statement finds a sound server."""
        started = time.monotonic()
        executed = bench.run(self.slow, replace(LIMITS, timeout=1.0))
        assert isinstance(executed.outcome, Failure)
        assert executed.outcome.kind is FailureKind.TIMEOUT
        assert time.monotonic() - started < 3.0
        assert executed.tainted is False
        assert bench.rows("SELECT 1 AS one").rows == ((1,),)

    def test_the_row_limit_admits_exactly_its_rows(self, bench: Bench) -> None:
        """A result of the limit's rows is whole, one more is a failure and never a cut result."""
        assert bench.rows("SELECT id FROM big", replace(LIMITS, rows=BIG_ROWS)).shape == (BIG_ROWS, 1)
        assert bench.failure("SELECT id FROM big", replace(LIMITS, rows=BIG_ROWS - 1)).kind is FailureKind.TOO_MANY_ROWS
        assert bench.rows("SELECT 1 AS one").rows == ((1,),)

    def test_a_result_past_the_byte_limit_is_a_failure(self, bench: Bench) -> None:
        """Bytes are capped over the whole result."""
        limits = replace(LIMITS, result_bytes=WIDE_BYTES * 5)
        assert bench.failure("SELECT body FROM wide", limits).kind is FailureKind.TOO_MANY_BYTES
        assert bench.rows("SELECT body FROM wide WHERE id < 2", limits).shape == (2, 1)

    def test_a_cell_past_the_byte_limit_is_a_failure(self, bench: Bench) -> None:
        """Bytes are capped in each cell."""
        sql = "SELECT body FROM wide WHERE id = 1"
        assert bench.failure(sql, replace(LIMITS, cell_bytes=WIDE_BYTES - 1)).kind is FailureKind.TOO_MANY_BYTES
        assert bench.rows(sql, replace(LIMITS, cell_bytes=WIDE_BYTES)).shape == (1, 1)

    def test_error_messages_are_the_engines_own_and_clean(self, bench: Bench) -> None:
        """A message names what the statement did wrong, and no host, path or password."""
        message = bench.failure("SELECT no_such_column FROM big").message
        assert "no_such_column" in message
        assert "/" not in message
        assert not bench.server.endpoint.password or bench.server.endpoint.password not in message

    def test_session_state_does_not_reach_the_next_session(self, bench: Bench) -> None:
        """What one statement sets, the next statement does not find."""
        change, show = self.leak
        before = bench.rows(show)
        bench.run(change)
        assert bench.rows(show) == before

    def test_sessions_run_side_by_side(self, bench: Bench) -> None:
        """Two sessions on one server each get their own answer."""
        questions = [f"SELECT {n} AS n, count(*) AS c FROM big" for n in range(8)]  # noqa: S608 - numbers of our own
        with ThreadPoolExecutor(2) as threads:
            answers = list(threads.map(bench.rows, questions))
        assert [answer.rows for answer in answers] == [((n, BIG_ROWS),) for n in range(8)]

    def test_other_sessions_text_is_hidden(self, bench: Bench) -> None:
        """A reader cannot read what another session runs."""
        if self.spy is None:
            return
        limits = replace(LIMITS, timeout=1.5)
        slow = threading.Thread(target=bench.run, args=(f"/* {MARKER} */ {self.slow}", limits))
        slow.start()
        try:
            time.sleep(0.5)
            seen = bench.run(self.spy).outcome
        finally:
            slow.join()
        assert MARKER not in str(seen)

    def test_two_runs_give_equal_values(self, bench: Bench) -> None:
        """The same statement gives the same relation twice."""
        sql = "SELECT name, count(*) AS c, avg(id) AS m FROM big GROUP BY name ORDER BY name"
        assert bench.rows(sql) == bench.rows(sql)

    def test_a_killed_server_is_a_lost_sandbox(self, bench: Bench) -> None:
        """A server that dies under a statement is our fault and raised, never scored."""
        server = bench.start()
        killer = threading.Timer(0.5, server.kill)
        try:
            killer.start()
            with pytest.raises(SandboxLostError):
                run_on(server, self.slow, LIMITS)
        finally:
            killer.join()
            server.destroy()

    def test_the_catalogue_says_what_was_loaded(self, bench: Bench) -> None:
        """The catalogue lists every table with its columns, rows and DDL."""
        catalog = next(catalog for catalog in bench.catalogs if catalog.snapshot == "alpha")
        tables = {table.name: table for table in catalog.tables}
        assert sorted(tables) == ["all_types", "big", "hollow", "order", "wide"]
        assert tables["big"].rows in (BIG_ROWS, None)
        assert [column.name for column in tables["all_types"].columns] == [c.name for c in ALL_TYPES.columns]
        assert "all_types" in catalog.ddl
        assert catalog.dialect == self.dialect

    def test_the_state_digest_is_the_baked_one(self, bench: Bench) -> None:
        """Reading leaves no trace: the digest after a query equals the one taken while baking."""
        with bench.unchanged():
            bench.rows("SELECT count(*) AS c FROM big")

    def _quote(self, bench: Bench) -> str:
        """Return the quotation mark of identifiers."""
        return bench.adapter.rules.identifier_quotes[0]

    def test_a_plan_says_what_is_read_and_runs_nothing(self, bench: Bench) -> None:
        """Where the engine tells its plans, a whole table is told from rows that are picked, and no row is read."""
        if not isinstance(bench.adapter, Planning):
            return
        plans = bench.adapter.plans

        def scans(sql: str) -> list[tuple[bool, bool | None]]:
            """Return for each table read whether it is read from end to end, and whether a condition picks rows."""
            return [(scan.whole, scan.narrowed) for scan in plans.read(bench.rows(plans.ask + sql)).scans]

        assert scans("SELECT name FROM big") in ([(True, False)], [(True, None)])
        assert scans("SELECT name FROM big WHERE name LIKE '%7'") in ([(True, True)], [(True, None)])
        assert all(not whole or narrowed for whole, narrowed in scans("SELECT name FROM big WHERE id = 7"))
        assert scans("SELECT 1 AS one") == []
        begun = time.monotonic()
        assert scans(SLOW) != []
        assert time.monotonic() - begun < LIMITS.timeout

    def test_two_queries_are_timed_in_turn(self, bench: Bench) -> None:
        """A query that does more takes longer by the clock there is, and a failure is told."""
        server = bench.server
        paces = Paces(lambda: server.open("alpha", Role.READER, Pins()), server.kill, server.died_of_memory)
        much = "SELECT count(*) AS n FROM big a, big b WHERE a.id < b.id AND b.id < 300"
        paced = paces.in_turn((much, LIMITS), ("SELECT count(*) AS n FROM big WHERE id = 1", LIMITS), 3)
        assert paced.failure == ""
        assert len(paced.rounds) == 3
        assert sorted(first > second > 0 for first, second in paced.rounds)[1:] == [True, True]
        failed = paces.in_turn((much, LIMITS), ("SELECT nothing FROM big", LIMITS), 3)
        assert (failed.rounds, failed.failure.partition(":")[0]) == ((), "error")
