"""The one place where untrusted SQL meets a database: a fresh session, an outside deadline, and every change undone.

Queries are rolled back; a change is committed on a server of its own, which is thrown away.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from time import monotonic
from typing import Literal

from sqlassay.cases.errors import InfrastructureError, SandboxLostError
from sqlassay.cases.outcome import Changed, Failure, Outcome, Rows
from sqlassay.cases.relation import Relation
from sqlassay.cases.verdicts import FailureKind
from sqlassay.dialect_adapters.contract import (
    Adapter,
    Endpoint,
    Limits,
    Pins,
    Role,
    Session,
    SessionLostError,
    StatementError,
)
from sqlassay.dialect_adapters.deadlines import DEADLINES, Deadline
from sqlassay.dialect_adapters.state import State, changed, read_state

KILL_AFTER = 1.0
"""Seconds between asking the engine to cancel and killing the sandbox."""


@dataclass(frozen=True, slots=True)
class Executed:
    """What one statement gave; a `tainted` sandbox must be discarded, its next answer could not be trusted."""

    outcome: Outcome
    tainted: bool


def execute(
    open_session: Callable[[], Session],
    sql: str,
    limits: Limits,
    *,
    kill: Callable[[], None],
    died_of_memory: Callable[[], bool],
    keep: Callable[[Session], None] | None = None,
) -> Executed:
    """Run one statement, exactly as given, in a session of its own and undo whatever it did.

    The harness clock decides: past `limits.timeout` the session is cancelled, a second later the sandbox is
    killed, and rows that arrive late are still a timeout. A session that could be put back to how it was opened is
    handed to `keep`; every other one, and each where nobody keeps any, is closed.

    Raises:
        SandboxLostError: the sandbox died and neither our deadline nor a resource limit explains it.
    """
    if not sql.strip():
        return Executed(Failure(FailureKind.ERROR, "the statement is empty"), tainted=False)
    session = _opened(open_session, limits)
    watchdog = _Watchdog(limits.timeout, session.cancel, kill)
    kept = False
    try:
        executed = _judged(session, sql, limits, watchdog, died_of_memory)
        watchdog.stop()
        # A cancel that was sent may arrive late: such a session is left, and so is one that gave up at a limit.
        if keep is not None and not (executed.tainted or watchdog.expired) and session.reset():
            keep(session)
            kept = True
        return executed
    finally:
        watchdog.stop()
        if not kept:
            session.close()


_TOO_LARGE = frozenset({FailureKind.TOO_MANY_ROWS, FailureKind.TOO_MANY_BYTES})


@dataclass(frozen=True, slots=True)
class Change:
    """A statement that changes data or schema, and what surrounds it: trusted setup before, questions after."""

    sql: str
    kind: Literal["dml", "ddl"]
    setup: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Workshop:
    """A WRITE-mode server of its own for one change: where it is, how to log in, how to stop it."""

    adapter: Adapter
    endpoint: Endpoint
    database: str
    open_session: Callable[[Role], Session]
    kill: Callable[[], None]
    died_of_memory: Callable[[], bool]
    pins: Pins = Pins()

    def state(self, limits: Limits, before: State = ()) -> State:
        """Return the database's whole state; raises StatementError only where it outgrew a limit since `before`."""
        quote = self.adapter.rules.identifier_quotes[0]
        try:
            return read_state(self.open_session, self.adapter.state, quote, limits, before)
        except SessionLostError as error:
            raise SandboxLostError(f"the state could not be read: {error}") from error
        except StatementError as error:
            if before and error.kind in _TOO_LARGE:
                raise
            raise InfrastructureError(f"the state could not be read: {error.message}") from error


def execute_change(shop: Workshop, change: Change, limits: Limits) -> Outcome:
    """Set up, run the statement and commit it, ask the questions, and return the whole state that was left.

    The statement runs as WRITER (dml) or OWNER (ddl), the questions as OWNER, READ ONLY; the server must be thrown
    away afterwards.

    Raises:
        GoldBrokenError: the setup failed.
        SandboxLostError: the sandbox died and neither our deadline nor a resource limit explains it.
    """
    if not change.sql.strip():
        return Failure(FailureKind.ERROR, "the statement is empty")
    if change.setup:
        shop.adapter.set_up(shop.endpoint, shop.database, change.setup, shop.pins)
    before = shop.state(limits)
    committed = _committed(shop, change, limits)
    if isinstance(committed, Failure):
        return committed
    answers = tuple(_answer(shop, question, limits) for question in change.questions)
    try:
        after = shop.state(limits, before)
    except StatementError as error:
        return Failure(error.kind, f"the state it leaves is too large to be read: {error.message}", committed)
    return replace(changed(before, after, committed), answers=answers)


def _committed(shop: Workshop, change: Change, limits: Limits) -> Failure | float:
    """Run and commit the statement under the watchdog; return its seconds, or the failure that is its own."""
    role = Role.WRITER if change.kind == "dml" else Role.OWNER
    session = _opened(lambda: shop.open_session(role), limits, write=True)
    watchdog = _Watchdog(limits.timeout, session.cancel, shop.kill)
    watchdog.start()
    try:
        session.fetch(change.sql, limits)
        session.commit()
    except StatementError as error:
        seconds = watchdog.finish()
        failure = Failure(error.kind, error.message, seconds)
    except SessionLostError as error:
        return _lost(error, watchdog, shop.died_of_memory)
    else:
        seconds = watchdog.finish()
        if not watchdog.expired:
            return seconds
        failure = watchdog.timed_out(seconds)
    finally:
        watchdog.stop()
        session.close()
    return watchdog.timed_out(seconds) if watchdog.expired else failure


def _answer(shop: Workshop, question: str, limits: Limits) -> Relation | Failure:
    """Return what one question gives on the state that was left."""
    asked = execute(
        lambda: shop.open_session(Role.OWNER), question, limits, kill=shop.kill, died_of_memory=shop.died_of_memory
    )
    match asked.outcome:
        case Rows(relation):
            return relation
        case Failure():
            return asked.outcome
        case Changed():
            raise AssertionError("a question is never committed")


def _opened(open_session: Callable[[], Session], limits: Limits, *, write: bool = False) -> Session:
    """Return a session inside its transaction; failing here is never the statement's fault."""
    try:
        session = open_session()
    except SessionLostError as error:
        raise SandboxLostError(f"no session could be opened: {error}") from error
    try:
        if write:
            session.begin_write(limits)
        else:
            session.begin_read(limits)
    except (SessionLostError, StatementError) as error:
        session.close()
        raise SandboxLostError(f"no transaction could be opened: {error}") from error
    except BaseException:  # a pin the engine refuses, or Ctrl-C: the login must not be left behind
        session.close()
        raise
    return session


def _judged(
    session: Session, sql: str, limits: Limits, watchdog: _Watchdog, died_of_memory: Callable[[], bool]
) -> Executed:
    """Fetch under the watchdog, roll back, and say what the statement gave."""
    watchdog.start()
    try:
        outcome = _fetched(session, sql, limits, watchdog)
    except SessionLostError as error:
        return Executed(_lost(error, watchdog, died_of_memory), tainted=True)
    try:
        session.rollback()
    except (SessionLostError, StatementError):
        # The answer is whole, only the way back is not: keep the answer, give up the sandbox.
        return Executed(outcome, tainted=True)
    return Executed(outcome, tainted=watchdog.killed)


def _fetched(session: Session, sql: str, limits: Limits, watchdog: _Watchdog) -> Outcome:
    """Return the rows, or the failure that is the statement's own; past the deadline it is always a timeout."""
    try:
        relation = session.fetch(sql, limits)
    except StatementError as error:
        seconds = watchdog.finish()
        if not watchdog.expired:
            return Failure(error.kind, error.message, seconds)
    else:
        seconds = watchdog.finish()
        if not watchdog.expired and not relation.columns:
            # Otherwise two statements that do nothing, a comment and a SET, would agree.
            return Failure(FailureKind.ERROR, "the statement gives no result: it is empty, or it is no query", seconds)
        if not watchdog.expired:
            return Rows(relation, seconds)
    return watchdog.timed_out(seconds)


def _lost(error: SessionLostError, watchdog: _Watchdog, died_of_memory: Callable[[], bool]) -> Failure:
    """Return what a broken connection means: our deadline, a resource limit, or a lost sandbox (raised)."""
    seconds = watchdog.finish()
    if watchdog.expired:
        return watchdog.timed_out(seconds)
    if error.exhausted:
        return Failure(FailureKind.RESOURCE_LIMIT, str(error), seconds)
    if died_of_memory():
        return Failure(FailureKind.RESOURCE_LIMIT, "the server was stopped by a memory or process limit", seconds)
    raise SandboxLostError(f"the sandbox was lost under a statement: {error}") from error


class _Watchdog:
    """A clock outside the engine: cancels at the deadline, kills a second later, unless stopped first."""

    def __init__(self, timeout: float, cancel: Callable[[], None], kill: Callable[[], None]) -> None:
        """Keep what to do; nothing runs before `start`."""
        self.timeout = timeout
        self.expired = False
        self.killed = False
        self._cancel = cancel
        self._kill = kill
        self._started = 0.0
        self._paused = 0.0
        self._stopped = threading.Event()
        self._fetching = True
        self._lock = threading.Lock()  # Invariant: no cancel is sent once the fetch has finished.
        self._deadline: Deadline | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the clock."""
        self._started = monotonic()
        self._paused = DEADLINES.paused
        self._deadline = DEADLINES.at(self._started + self.timeout, self._late)

    def finish(self) -> float:
        """Note that the fetch is over and return its seconds; the kill stays armed for the way back."""
        with self._lock:
            self._fetching = False
        seconds = monotonic() - self._started
        self.expired = seconds >= self.timeout
        return seconds

    def timed_out(self, seconds: float) -> Failure:
        """Return the one failure that every late statement becomes, with what makes it doubtful.

        A server that heeds no cancel stands still, or the statement cannot be cancelled: only a second try tells.
        """
        stood, doubt = DEADLINES.paused - self._paused, ""
        if stood:
            doubt = f"the harness itself stood still for {stood:.0f} s"
        elif self.killed:
            doubt = f"the server did not heed its cancellation for {KILL_AFTER:g} s"
        return Failure(FailureKind.TIMEOUT, f"no result within {self.timeout:g} s", seconds, doubt)

    def stop(self) -> None:
        """End the watch; waits for an action under way so that none outlives the statement."""
        with self._lock:
            self._stopped.set()
            deadline, thread = self._deadline, self._thread
        if deadline is not None:
            DEADLINES.drop(deadline)
        if thread is not None:
            thread.join()

    def _late(self) -> None:
        """Go on in a thread of our own: the clock has other deadlines."""
        with self._lock:
            if not self._stopped.is_set():
                self._thread = threading.Thread(target=self._end, name="sqlassay-watchdog", daemon=True)
                self._thread.start()

    def _end(self) -> None:
        """Cancel, wait a second more, kill."""
        with self._lock:
            if self._fetching:
                self._cancel()
        remaining = self._started + self.timeout + KILL_AFTER - monotonic()
        if not self._stopped.wait(max(0.0, remaining)):
            self.killed = True
            self._kill()
