"""The conformance suite of write sessions and throwaway changes; subclass it and give a `yard` fixture.

The server is one in WRITE mode. What a test changes it changes in tables of its own or undoes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import ClassVar

import pytest

from sqlassay.cases.errors import GoldBrokenError, SandboxLostError
from sqlassay.cases.outcome import Changed, Failure, TableState
from sqlassay.cases.relation import Relation, Row
from sqlassay.cases.verdicts import FailureKind
from sqlassay.dialect_adapters.conformance import LIMITS, SLOW, Server
from sqlassay.dialect_adapters.conformance_data import BIG_ROWS, MARKER
from sqlassay.dialect_adapters.contract import Adapter, Pins, Role, Session, SessionLostError, StatementError
from sqlassay.dialect_adapters.execute import Change, Workshop, execute_change

FREE = Pins()
"""A clock that runs."""


@dataclass(frozen=True, slots=True)
class Yard:
    """What a `yard` fixture gives: the adapter and a way to start WRITE-mode servers with ALPHA and BETA loaded."""

    adapter: Adapter
    server: Server
    start: Callable[[], Server]

    def shop(self, server: Server, pins: Pins = FREE) -> Workshop:
        """Return the workshop of one database on a server."""

        def opened(role: Role) -> Session:
            """Log in."""
            return server.open("alpha", role, pins)

        return Workshop(self.adapter, server.endpoint, "alpha", opened, server.kill, server.died_of_memory, pins)

    def write(self, role: Role, sql: str, *, commit: bool = True) -> tuple[Row, ...]:
        """Run one statement in a write session."""
        session = self.server.open("alpha", role, Pins())
        try:
            session.begin_write(LIMITS)
            rows = session.fetch(sql, LIMITS).rows
            session.commit() if commit else session.rollback()
            return rows
        finally:
            session.close()

    def read(self, sql: str, role: Role = Role.OWNER) -> tuple[Row, ...]:
        """Return what a login reads."""
        session = self.server.open("alpha", role, Pins())
        try:
            session.begin_read(LIMITS)
            return session.fetch(sql, LIMITS).rows
        finally:
            session.close()

    def change(self, change: Change, pins: Pins = FREE) -> Changed | Failure:
        """Run one change on a server of its own."""
        server = self.start()
        try:
            outcome = execute_change(self.shop(server, pins), change, LIMITS)
        finally:
            server.destroy()
        assert isinstance(outcome, Changed | Failure)
        return outcome


def part(changed: Changed | Failure, name: str) -> TableState:
    """Return one part of the state a change left."""
    assert isinstance(changed, Changed), changed
    return next(one for one in changed.state if one.name == name)


class ChangeConformance:
    """Every promise of write sessions and of `execute_change`."""

    dialect: ClassVar[str]
    slow: ClassVar[str] = SLOW
    """A query that runs for longer than any deadline here, in little memory."""
    moment: ClassVar[str] = "CAST(CURRENT_TIMESTAMP AS CHAR(19))"
    """How the engine writes the present moment to the second."""

    def test_what_is_committed_stays_and_what_is_rolled_back_does_not(self, yard: Yard) -> None:
        """Another login sees committed rows, and never those of a transaction that was undone."""
        yard.write(Role.WRITER, "INSERT INTO hollow (id, name) VALUES (1, 'kept')")
        yard.write(Role.WRITER, "INSERT INTO hollow (id, name) VALUES (2, 'undone')", commit=False)
        assert yard.read("SELECT id, name FROM hollow") == ((1, "kept"),)
        yard.write(Role.WRITER, "DELETE FROM hollow")
        assert yard.read("SELECT count(*) FROM hollow") == ((0,),)

    @pytest.mark.parametrize(
        "sql",
        [
            "CREATE TABLE made (id INT)",
            "DROP TABLE hollow",
            "ALTER TABLE hollow ADD COLUMN more INT",
            "CREATE INDEX made ON hollow (id)",
            "CREATE VIEW made AS SELECT 1 AS one",
        ],
    )
    def test_a_writer_changes_rows_alone(self, yard: Yard, sql: str) -> None:
        """DDL is refused to a WRITER; the OWNER may do it."""
        with pytest.raises(StatementError) as caught:
            yard.write(Role.WRITER, sql)
        assert caught.value.kind is FailureKind.ERROR

    @pytest.mark.parametrize("role", [Role.WRITER, Role.OWNER])
    def test_nobody_reaches_another_snapshot(self, yard: Yard, role: Role) -> None:
        """Neither login reads or writes the other snapshot's database."""
        for sql in ("SELECT * FROM beta.secret", "UPDATE beta.secret SET name = 'x'", "SELECT * FROM secret"):
            with pytest.raises(StatementError):
                yard.write(role, sql)

    @pytest.mark.parametrize("role", [Role.READER, Role.WRITER, Role.OWNER])
    def test_a_read_session_writes_nothing(self, yard: Yard, role: Role) -> None:
        """Whoever begins to read stays a reader, on a server that could be written."""
        with pytest.raises(StatementError):
            yard.read("DELETE FROM big", role)
        assert yard.read("SELECT count(*) FROM big") == ((BIG_ROWS,),)

    def test_one_statement_alone(self, yard: Yard) -> None:
        """A second statement is refused, and the first one with it."""
        with pytest.raises(StatementError):
            yard.write(Role.WRITER, "DELETE FROM big WHERE id = 1; DELETE FROM big")
        assert yard.read("SELECT count(*) FROM big") == ((BIG_ROWS,),)

    def test_a_change_is_read_as_a_whole_state(self, yard: Yard) -> None:
        """The state lists every table with its rows or checksum, and what the statement touched."""
        changed = yard.change(Change("INSERT INTO hollow (name, id) VALUES ('new', 7)", "dml"))
        assert isinstance(changed, Changed), changed
        assert part(changed, "hollow").relation == Relation(part(changed, "hollow").relation.columns, ((7, "new"),))  # type: ignore[union-attr]
        assert changed.touched == ("table hollow",)
        big = part(changed, "big")
        assert (big.rows, big.relation) == (BIG_ROWS, None)
        assert ("hollow", ("id", "name")) in changed.known

    def test_a_large_table_is_read_whole_once_it_changes(self, yard: Yard) -> None:
        """A checksum that is not the old one brings the rows; one row of many is seen."""
        changed = yard.change(Change("UPDATE big SET name = 'other' WHERE id = 4321", "dml"))
        relation = part(changed, "big").relation
        assert relation is not None
        assert (4321, "other") in relation.rows
        assert len(relation.rows) == BIG_ROWS

    def test_two_equal_changes_leave_equal_states(self, yard: Yard) -> None:
        """States of two servers agree part by part where the statements mean the same."""
        first = yard.change(Change("DELETE FROM big WHERE id < 10", "dml"))
        second = yard.change(Change("DELETE FROM big WHERE NOT id >= 10", "dml"))
        assert isinstance(first, Changed)
        assert isinstance(second, Changed)
        assert [(one.name, one.digest) for one in first.state] == [(one.name, one.digest) for one in second.state]

    def test_schema_changes_are_part_of_the_state(self, yard: Yard) -> None:
        """Created tables, views and indexes show, a dropped table is gone, and views are read by what they show."""
        made = yard.change(Change("CREATE TABLE made (id INT NOT NULL, CHECK (id > 0))", "ddl"))
        assert isinstance(made, Changed)
        assert {"table made", "columns", "constraints"} <= set(made.touched)
        view = yard.change(Change("CREATE VIEW made AS SELECT count(*) AS n FROM big", "ddl"))
        shown = part(view, "made")
        assert shown.relation is not None
        assert (shown.part, shown.relation.rows) == ("view", ((BIG_ROWS,),))
        index = yard.change(Change("CREATE INDEX made ON hollow (id)", "ddl"))
        assert isinstance(index, Changed)
        assert index.touched == ("indexes",)
        gone = yard.change(Change("DROP TABLE hollow", "ddl"))
        assert isinstance(gone, Changed)
        assert "table hollow" in gone.touched
        assert "hollow" not in {one.name for one in gone.state}

    def test_setup_comes_before_and_questions_after(self, yard: Yard) -> None:
        """Tables of the setup belong to the case: they may be written, dropped and asked about."""
        setup = ("CREATE TABLE made (id INT); INSERT INTO made VALUES (1), (2)",)
        changed = yard.change(
            Change("DELETE FROM made WHERE id = 1", "dml", setup, ("SELECT id FROM made", "SELECT x"))
        )
        assert isinstance(changed, Changed), changed
        answer, failed = changed.answers
        assert isinstance(answer, Relation)
        assert answer.rows == ((2,),)
        assert isinstance(failed, Failure)
        assert ("made", ("id",)) in changed.known
        dropped = yard.change(Change("DROP TABLE made", "ddl", setup))
        assert isinstance(dropped, Changed), dropped
        assert "table made" in dropped.touched

    def test_a_pinned_clock_holds_for_setup_and_statement(self, yard: Yard) -> None:
        """Moments that are stored are the pinned one, so that two states can be equal at all."""
        insert = f"INSERT INTO hollow (id, name) SELECT {{}}, {self.moment}"  # noqa: S608 - text of our own
        change = Change(insert.format(1), "dml", (insert.format(2),))
        relation = part(yard.change(change, Pins(clock=datetime(2020, 2, 29, 12, 30, tzinfo=UTC))), "hollow").relation
        assert relation is not None
        assert sorted(relation.rows, key=repr) == [(1, "2020-02-29 12:30:00"), (2, "2020-02-29 12:30:00")]

    def test_a_setup_that_fails_is_the_golds_fault(self, yard: Yard) -> None:
        """The statement never runs, and nobody takes it for the agent's error."""
        with pytest.raises(GoldBrokenError, match="setup_sql failed"):
            yard.change(Change("DELETE FROM big", "dml", ("INSERT INTO nowhere VALUES (1)",)))

    @pytest.mark.parametrize(
        "sql", ["INSERT INTO big (id, name) VALUES (1, 'twice')", "DELETE FROM nowhere", "DELETE FROM", "  "]
    )
    def test_a_statement_that_fails_is_its_own_failure(self, yard: Yard, sql: str) -> None:
        """A broken constraint, an unknown table and no statement at all are errors with a message."""
        failure = yard.change(Change(sql, "dml"))
        assert isinstance(failure, Failure)
        assert failure.kind is FailureKind.ERROR
        assert failure.message
        assert MARKER not in failure.message

    def test_a_slow_change_is_stopped_in_time(self, yard: Yard) -> None:
        """The deadline holds for statements that write."""
        server = yard.start()
        endless = f"INSERT INTO hollow (id) {self.slow}"  # noqa: S608 - text of our own
        try:
            started = time.monotonic()
            outcome = execute_change(yard.shop(server), Change(endless, "dml"), replace(LIMITS, timeout=1.0))
            # The state before is read first, without a deadline of the statement's.
            assert time.monotonic() - started < 8.0
        finally:
            server.destroy()
        assert isinstance(outcome, Failure)
        assert outcome.kind is FailureKind.TIMEOUT

    def test_a_lost_server_is_nobodys_error(self, yard: Yard) -> None:
        """A server that is gone is raised, never scored."""
        server = yard.start()
        server.kill()
        try:
            with pytest.raises((SandboxLostError, SessionLostError)):
                execute_change(yard.shop(server), Change("DELETE FROM big", "dml"), LIMITS)
        finally:
            server.destroy()
