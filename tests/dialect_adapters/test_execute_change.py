"""A change is committed under the same clock as a query, and what surrounds it is never the agent's fault."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from sqlassay.cases.errors import InfrastructureError, SandboxLostError
from sqlassay.cases.outcome import Changed, Failure
from sqlassay.cases.relation import Column, Relation
from sqlassay.cases.verdicts import FailureKind
from sqlassay.dialect_adapters.contract import (
    Endpoint,
    Limits,
    Pins,
    Role,
    SessionLostError,
    StatementError,
    StateRules,
)
from sqlassay.dialect_adapters.execute import Change, Workshop, execute_change
from sqlassay.dialect_adapters.state import PAGE, SMALL, read_state

LIMITS = Limits(timeout=0.2)
RULES = StateRules(tables="TABLES", schema=(("columns", "COLUMNS"),), prepare=("PREPARE",))


def relation(names: str, *rows: tuple[object, ...]) -> Relation:
    """Return a relation."""
    return Relation(tuple(Column(name) for name in names.split()), rows)


class Database:
    """One table that a statement may add a row to, and everything that was asked of its sessions."""

    def __init__(self, act: Callable[[Session], Relation] | None = None, **faults: Exception) -> None:
        self.rows = [(1, "a")]
        self.asked: list[str] = []
        self.cancelled, self.killed = threading.Event(), threading.Event()
        self.act = act
        self.faults = faults
        self.memory = False

    def open(self, role: Role) -> Any:
        """Log in."""
        return Session(self, role)

    def shop(self) -> Workshop:
        """Return the workshop of this database."""
        rules = SimpleNamespace(identifier_quotes='"')
        adapter: Any = SimpleNamespace(state=RULES, rules=rules, set_up=self.set_up)
        return Workshop(adapter, Endpoint(None), "d", self.open, self.killed.set, lambda: self.memory)

    def set_up(self, endpoint: Endpoint, database: str, scripts: Sequence[str], pins: Pins) -> None:
        """Note the setup."""
        self.asked.append(f"setup {list(scripts)}")


class Session:
    """A scripted login."""

    def __init__(self, database: Database, role: Role) -> None:
        self.database = database
        self.role = role
        self.note("open")

    def note(self, what: str) -> None:
        """Keep what was asked; a fault that a test set for it is raised."""
        self.database.asked.append(f"{self.role} {what}")
        if fault := self.database.faults.get(what.replace(" ", "_")):
            raise fault

    def begin_read(self, limits: Limits) -> None:
        self.note("read")

    def begin_write(self, limits: Limits) -> None:
        self.note("write")

    def fetch(self, sql: str, limits: Limits) -> Relation:
        self.note(f"fetch {sql}")
        rows = self.database.rows
        known = {
            "TABLES": relation("name schema kind", ("t", None, "t")),
            "COLUMNS": relation("table column", ("t", "id"), ("t", "name")),
            'SELECT count(*) FROM "t"': relation("n", (len(rows),)),
            'SELECT * FROM "t"': relation("id name", *rows),
            "QUESTION": relation("n", (len(rows),)),
        }
        if sql == "CHANGE":
            rows.append((2, "b"))
            return self.database.act(self) if self.database.act else relation("")
        if sql.startswith('SELECT * FROM "t" LIMIT'):
            start = int(sql.rsplit(" ", 1)[1])
            return relation("id name", *rows[start : start + 20_000])
        return known.get(sql, relation(""))

    def commit(self) -> None:
        self.note("commit")

    def rollback(self) -> None:
        self.note("rollback")

    def cancel(self) -> None:
        self.database.cancelled.set()

    def close(self) -> None:
        self.database.asked.append(f"{self.role} close")


def run(database: Database, **more: Any) -> Changed | Failure:
    """Run the one change there is."""
    outcome = execute_change(database.shop(), Change("CHANGE", more.pop("kind", "dml"), **more), LIMITS)
    assert isinstance(outcome, Changed | Failure)
    return outcome


def test_the_order_of_steps() -> None:
    """Setup, state, the statement with its commit, the questions, and the state again."""
    database = Database()
    outcome = run(database, setup=("S",), questions=("QUESTION",))
    assert isinstance(outcome, Changed)
    assert outcome.touched == ("table t",)
    assert outcome.answers == (relation("n", (2,)),)
    assert outcome.known == (("t", ("id", "name")),)
    steps = [asked for asked in database.asked if "fetch" not in asked or "CHANGE" in asked or "QUESTION" in asked]
    assert steps == [
        "setup ['S']",
        "harness open", "harness read", "harness close",
        "writer open", "writer write", "writer fetch CHANGE", "writer commit", "writer close",
        "owner open", "owner read", "owner fetch QUESTION", "owner rollback", "owner close",
        "harness open", "harness read", "harness close",
    ]  # fmt: skip


def test_ddl_runs_as_owner() -> None:
    """The profile chooses the login."""
    database = Database()
    run(database, kind="ddl")
    assert "owner fetch CHANGE" in database.asked
    assert not any(asked.startswith("writer") for asked in database.asked)


@pytest.mark.parametrize("step", ["fetch_CHANGE", "commit"])
def test_a_refused_statement_or_commit_is_the_statements_failure(step: str) -> None:
    """A deferred constraint that fails at COMMIT counts like one that fails at once."""
    database = Database(**{step: StatementError(FailureKind.ERROR, "no")})
    outcome = run(database)
    assert isinstance(outcome, Failure)
    assert (outcome.kind, outcome.message) == (FailureKind.ERROR, "no")
    assert database.asked[-1] == "writer close"


def test_a_late_statement_is_a_timeout_even_where_it_was_committed() -> None:
    """The harness's clock decides; the session is cancelled at the deadline."""
    database = Database(lambda session: time.sleep(0.35) or relation(""))  # type: ignore[func-returns-value]
    outcome = run(database)
    assert isinstance(outcome, Failure)
    assert outcome.kind is FailureKind.TIMEOUT
    assert database.cancelled.is_set()
    assert not database.killed.is_set()


def test_a_statement_that_will_not_stop_is_killed() -> None:
    """A second after the deadline the server goes."""

    def hang(session: Session) -> Relation:
        session.database.killed.wait(5)
        raise SessionLostError("gone")

    outcome = run(Database(hang))
    assert isinstance(outcome, Failure)
    assert outcome.kind is FailureKind.TIMEOUT


def test_a_server_that_dies_is_a_limit_or_our_loss() -> None:
    """Out of memory is the statement's, anything else is raised."""
    database = Database(fetch_CHANGE=SessionLostError("gone"))
    with pytest.raises(SandboxLostError):
        run(database)
    database.memory = True
    outcome = run(database)
    assert isinstance(outcome, Failure)
    assert outcome.kind is FailureKind.RESOURCE_LIMIT


def test_a_state_that_cannot_be_read_is_ours() -> None:
    """Neither a lost login of ours nor a question of ours that fails is scored."""
    with pytest.raises(SandboxLostError):
        run(Database(read=SessionLostError("gone")))
    with pytest.raises(InfrastructureError):
        run(Database(fetch_TABLES=StatementError(FailureKind.ERROR, "no")))


def test_a_write_that_cannot_begin_is_ours() -> None:
    """A transaction that does not open says nothing about the statement."""
    with pytest.raises(SandboxLostError):
        run(Database(write=StatementError(FailureKind.ERROR, "no")))


def test_a_state_that_outgrew_a_limit_is_the_statements_failure() -> None:
    """A statement that leaves more than can be read is told so; the state before it was read."""

    def grow(session: Session) -> Relation:
        session.database.faults['fetch_SELECT_*_FROM_"t"'] = StatementError(FailureKind.TOO_MANY_BYTES, "large")
        page = f'fetch_SELECT_*_FROM_"t"_LIMIT_{PAGE}_OFFSET_0'
        session.database.faults[page] = StatementError(FailureKind.TOO_MANY_BYTES, "large")
        return relation("")

    outcome = run(Database(grow))
    assert isinstance(outcome, Failure)
    assert (outcome.kind, "too large" in outcome.message) == (FailureKind.TOO_MANY_BYTES, True)


def test_nothing_is_no_statement() -> None:
    """Blank text starts no login."""
    database = Database()
    outcome = execute_change(database.shop(), Change(" ", "dml"), LIMITS)
    assert isinstance(outcome, Failure)
    assert database.asked == []


def test_a_large_table_is_paged_into_one_checksum() -> None:
    """Without a checksum of the engine's own, rows are hashed in pages and read whole only once they differ."""
    database = Database()
    database.rows = [(number, "x") for number in range(SMALL + 1)]
    before = read_state(database.open, RULES, '"', LIMITS)
    assert (before[0].rows, before[0].relation) == (SMALL + 1, None)
    database.rows.reverse()
    assert read_state(database.open, RULES, '"', LIMITS, before)[0].digest == before[0].digest
    database.rows[0] = (0, "y")
    after = read_state(database.open, RULES, '"', LIMITS, before)[0]
    assert after.relation is not None
    assert after.digest != before[0].digest
    database.faults['fetch_SELECT_*_FROM_"t"'] = StatementError(FailureKind.TOO_MANY_BYTES, "large")
    assert read_state(database.open, RULES, '"', LIMITS, before)[0].relation is None
