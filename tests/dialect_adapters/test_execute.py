"""The one execute: deadlines by our own clock, whose fault a broken connection is, and what taints a sandbox."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from sqlassay.cases.errors import SandboxLostError
from sqlassay.cases.outcome import Failure, Rows
from sqlassay.cases.relation import Column, Kind, Relation
from sqlassay.cases.verdicts import FailureKind
from sqlassay.dialect_adapters.contract import Limits, SessionLostError, StatementError
from sqlassay.dialect_adapters.deadlines import DEADLINES
from sqlassay.dialect_adapters.execute import Executed, execute

ONE = Relation((Column("a", Kind.INT),), ((1,),))
SHORT = Limits(timeout=0.1)


class Scripted:
    """A session that does what a test tells it to, and records what was asked of it."""

    def __init__(
        self,
        fetch: Callable[[Scripted], Relation] = lambda _: ONE,
        *,
        begin: Exception | None = None,
        rollback: Exception | None = None,
    ) -> None:
        self.calls: list[str] = []
        self.resets = True
        self.cancelled = threading.Event()
        self.killed = threading.Event()
        self._fetch = fetch
        self._begin = begin
        self._rollback = rollback

    def begin_read(self, limits: Limits) -> None:
        self.calls.append("begin")
        if self._begin:
            raise self._begin

    def fetch(self, sql: str, limits: Limits) -> Relation:
        self.calls.append(f"fetch {sql}")
        return self._fetch(self)

    def rollback(self) -> None:
        self.calls.append("rollback")
        if self._rollback:
            raise self._rollback

    def reset(self) -> bool:
        self.calls.append("reset")
        return self.resets

    def cancel(self) -> None:
        self.calls.append("cancel")
        self.cancelled.set()

    def close(self) -> None:
        self.calls.append("close")

    def kill(self) -> None:
        self.calls.append("kill")
        self.killed.set()


def run(session: Scripted, sql: str = "SELECT 1", *, limits: Limits = SHORT, memory: bool = False) -> Executed:
    return execute(lambda: session, sql, limits, kill=session.kill, died_of_memory=lambda: memory)


def raises(error: Exception) -> Callable[[Scripted], Relation]:
    def fetch(_: Scripted) -> Relation:
        raise error

    return fetch


def test_a_statement_runs_between_begin_and_rollback() -> None:
    """The text reaches the session as it was given, inside a transaction that is always undone."""
    session = Scripted()
    executed = run(session, "  SELECT '%s' ;-- x\n")
    assert session.calls == ["begin", "fetch   SELECT '%s' ;-- x\n", "rollback", "close"]
    assert isinstance(executed.outcome, Rows)
    assert executed.outcome.relation == ONE
    assert executed.tainted is False


@pytest.mark.parametrize("sql", ["", " \n\t"])
def test_empty_text_opens_no_session(sql: str) -> None:
    """Nothing to run is the statement's error, without a login."""
    session = Scripted()
    executed = run(session, sql)
    assert executed == Executed(Failure(FailureKind.ERROR, "the statement is empty"), tainted=False)
    assert session.calls == []


def test_a_statement_without_a_result_set_is_an_error() -> None:
    """A comment or a SET gives no columns: two of them must not agree as answers."""
    outcome = run(Scripted(lambda _: Relation((), ()))).outcome
    assert isinstance(outcome, Failure)
    assert outcome.kind is FailureKind.ERROR


def test_the_engines_refusal_is_the_statements_own() -> None:
    """A failed statement keeps kind and message and leaves the sandbox sound."""
    session = Scripted(raises(StatementError(FailureKind.TOO_MANY_ROWS, "more than 5 rows")))
    executed = run(session)
    assert isinstance(executed.outcome, Failure)
    assert (executed.outcome.kind, executed.outcome.message) == (FailureKind.TOO_MANY_ROWS, "more than 5 rows")
    assert executed.tainted is False
    assert session.calls[-2:] == ["rollback", "close"]


def test_rows_after_the_deadline_are_a_timeout() -> None:
    """MySQL's SLEEP returns a normal row when cancelled: the harness clock still says timeout."""

    def sleepy(session: Scripted) -> Relation:
        session.cancelled.wait(5)
        return ONE

    session = Scripted(sleepy)
    executed = run(session)
    assert isinstance(executed.outcome, Failure)
    assert executed.outcome.kind is FailureKind.TIMEOUT
    assert executed.tainted is False
    assert session.calls == ["begin", "fetch SELECT 1", "cancel", "rollback", "close"]


def test_an_error_caused_by_our_cancel_is_a_timeout() -> None:
    """What the engine says about a cancelled statement is not the statement's error."""

    def cancelled(session: Scripted) -> Relation:
        session.cancelled.wait(5)
        raise StatementError(FailureKind.ERROR, "interrupted")

    outcome = run(Scripted(cancelled)).outcome
    assert isinstance(outcome, Failure)
    assert outcome.kind is FailureKind.TIMEOUT


def test_a_deaf_engine_is_killed_a_second_later() -> None:
    """A statement that ignores the cancel ends within two seconds of the deadline and costs the sandbox."""

    def deaf(session: Scripted) -> Relation:
        session.killed.wait(5)
        raise SessionLostError("gone")

    session = Scripted(deaf)
    started = time.monotonic()
    executed = run(session)
    assert 1.0 < time.monotonic() - started < 2.1
    assert isinstance(executed.outcome, Failure)
    assert executed.outcome.kind is FailureKind.TIMEOUT
    assert executed.outcome.doubt == "the server did not heed its cancellation for 1 s"
    assert executed.tainted is True
    assert session.calls == ["begin", "fetch SELECT 1", "cancel", "kill", "close"]


def test_a_timeout_while_the_harness_stood_still_is_doubtful(monkeypatch: pytest.MonkeyPatch) -> None:
    """Our own clock jumped: only a second try tells whether the statement is slow. Another timeout is not doubtful."""

    def stopped(session: Scripted) -> Relation:
        monkeypatch.setattr(DEADLINES, "paused", DEADLINES.paused + 7.0)
        session.cancelled.wait(5)
        return ONE

    found = [run(Scripted(fetch)).outcome for fetch in (stopped, lambda session: session.cancelled.wait(5) and ONE)]
    assert [outcome.doubt for outcome in found if isinstance(outcome, Failure)] == [
        "the harness itself stood still for 7 s",
        "",
    ]


def test_a_lost_session_of_a_server_out_of_memory_is_a_resource_limit() -> None:
    """A server killed by its memory limit is the statement's doing."""
    executed = run(Scripted(raises(SessionLostError("gone"))), memory=True)
    assert isinstance(executed.outcome, Failure)
    assert executed.outcome.kind is FailureKind.RESOURCE_LIMIT
    assert executed.tainted is True


def test_a_lost_session_without_a_reason_is_ours() -> None:
    """A connection that breaks for no reason of the statement's is raised, never scored."""
    session = Scripted(raises(SessionLostError("gone")))
    with pytest.raises(SandboxLostError, match="gone"):
        run(session)
    assert session.calls[-1] == "close"


@pytest.mark.parametrize("error", [SessionLostError("gone"), StatementError(FailureKind.ERROR, "no")])
def test_a_failed_way_back_taints_the_sandbox(error: Exception) -> None:
    """Rows fetched whole stay an answer; a sandbox that cannot roll back is given up."""
    executed = run(Scripted(rollback=error))
    assert isinstance(executed.outcome, Rows)
    assert executed.tainted is True


def test_a_failed_begin_is_ours_and_closes_the_session() -> None:
    """A session that cannot begin never ran the statement."""
    session = Scripted(begin=StatementError(FailureKind.ERROR, "no"))
    with pytest.raises(SandboxLostError):
        run(session)
    assert session.calls == ["begin", "close"]


def test_a_refused_login_is_ours() -> None:
    """A login that fails is a lost sandbox."""

    def refuse() -> Scripted:
        raise SessionLostError("refused")

    with pytest.raises(SandboxLostError, match="refused"):
        execute(refuse, "SELECT 1", SHORT, kill=lambda: None, died_of_memory=lambda: False)


def test_no_watchdog_outlives_its_statement() -> None:
    """A statement within its deadline leaves no thread behind that could cancel the next."""
    run(Scripted(), limits=Limits(timeout=30))
    assert [thread for thread in threading.enumerate() if thread.name == "sqlassay-watchdog"] == []


def kept(session: Scripted, *, limits: Limits = SHORT) -> list[Scripted]:
    found: list[Scripted] = []
    execute(
        lambda: session, "SELECT 1", limits, kill=session.kill, died_of_memory=lambda: False, keep=found.append
    )  # fmt: skip
    return found


def test_a_login_that_was_reset_is_kept():
    """After the rollback the login is put back and handed over open."""
    session = Scripted()
    assert kept(session) == [session]
    assert session.calls[-2:] == ["rollback", "reset"]


def test_a_login_of_a_failed_statement_is_kept_as_well():
    """An error of the statement's own leaves a login that can be put back."""
    session = Scripted(raises(StatementError(FailureKind.ERROR, "no such column")))
    assert kept(session) == [session]


def test_a_login_that_cannot_be_reset_is_closed():
    """Where the engine has no reset, or it failed, nothing is kept."""
    session = Scripted()
    session.resets = False
    assert (kept(session), session.calls[-1]) == ([], "close")


def test_a_cancelled_login_is_closed():
    """A cancel that arrives late must not meet the next statement: the login of a timeout is never kept."""

    def late(session: Scripted) -> Relation:
        session.cancelled.wait(5)
        return ONE

    session = Scripted(late)
    assert (kept(session), session.calls[-1]) == ([], "close")
    assert "reset" not in session.calls


def test_a_login_whose_rollback_failed_is_closed():
    """A tainted sandbox keeps no login."""
    session = Scripted(rollback=SessionLostError("gone"))
    assert (kept(session), session.calls[-1]) == ([], "close")
