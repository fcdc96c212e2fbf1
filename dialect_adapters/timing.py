"""Time two queries in turn on one server, each in a warm session of its own: what a metric of speed divides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from sqlassay.cases.errors import SandboxLostError
from sqlassay.cases.outcome import Failure, Outcome, Rows
from sqlassay.cases.relation import Column, Kind, Relation
from sqlassay.dialect_adapters.contract import Limits, Session, SessionLostError
from sqlassay.dialect_adapters.execute import Executed, execute
from sqlassay.dialect_adapters.explaining import Stopwatch

Clock = Literal["engine", "harness"]
"""Whose clock it was: the engine's own, without handing out rows, or ours around the whole result."""


@dataclass(frozen=True, slots=True)
class Paced:
    """The seconds of both queries in every round, (first, second); none where `failure` says why.

    `tainted` where the server must not be asked again.
    """

    rounds: tuple[tuple[float, float], ...] = ()
    clock: Clock = "harness"
    failure: str = ""
    tainted: bool = False


class _Warm:
    """A session that one query alone runs on, again and again: it is never put back, and closed at the end.

    With a `stopwatch` a fetch gives the engine's seconds as its only cell.
    """

    def __init__(self, session: Session, stopwatch: Stopwatch | None) -> None:
        """Take over an open session."""
        self._session = session
        self._stopwatch = stopwatch
        self.begin_read = session.begin_read
        self.begin_write = session.begin_write
        self.commit = session.commit
        self.rollback = session.rollback
        self.cancel = session.cancel
        self.close = session.close

    @property
    def timed(self) -> bool:
        """Return whether the engine's own clock is read."""
        return self._stopwatch is not None

    def fetch(self, sql: str, limits: Limits) -> Relation:
        """Run the query and return its rows, or its seconds."""
        if self._stopwatch is None:
            return self._session.fetch(sql, limits)
        return Relation((Column("seconds", Kind.FLOAT64),), ((self._stopwatch.seconds(sql, limits),),))

    def reset(self) -> bool:
        """Return True: nobody else's query comes after."""
        return True


@dataclass(frozen=True, slots=True)
class Paces:
    """What timing needs of a server: how to log in, how to stop it; `own_clock` lets the engine use its own."""

    open_session: Callable[[], Session]
    kill: Callable[[], None]
    died_of_memory: Callable[[], bool]
    own_clock: bool = True

    def in_turn(self, first: tuple[str, Limits], second: tuple[str, Limits], rounds: int) -> Paced:
        """Run both once unmeasured, then `rounds` times in turn, whoever began before coming second next.

        Raises:
            SandboxLostError: the server died and neither our deadline nor a resource limit explains it.
        """
        sessions: list[_Warm] = []
        try:
            for _ in range(2):
                sessions.append(self._warm())  # noqa: PERF401 (the first must be closed where the second fails)
            return self._rounds(tuple(zip(sessions, (first, second), strict=True)), rounds)
        finally:
            for session in sessions:
                session.close()

    def _warm(self) -> _Warm:
        """Return a session of one query's own, with the engine's stopwatch where it has one."""
        try:
            session = self.open_session()
        except SessionLostError as error:
            raise SandboxLostError(f"no session could be opened: {error}") from error
        return _Warm(session, session if self.own_clock and isinstance(session, Stopwatch) else None)

    def _rounds(self, sides: tuple[tuple[_Warm, tuple[str, Limits]], ...], rounds: int) -> Paced:
        """Return what the rounds gave; the first failure ends them."""
        kept: list[tuple[float, float]] = []
        for number in range(-1, rounds):
            seconds = [0.0, 0.0]
            for side in (0, 1) if number % 2 else (1, 0):
                session, (sql, limits) = sides[side]
                ran = self._run(session, sql, limits)
                found = _seconds(ran.outcome, session)
                if isinstance(found, str):
                    return Paced(failure=found, tainted=ran.tainted)
                seconds[side] = found
            if number >= 0:
                kept.append((seconds[0], seconds[1]))
        clock: Clock = "engine" if sides[0][0].timed else "harness"
        return Paced(tuple(kept), clock)

    def _run(self, session: _Warm, sql: str, limits: Limits) -> Executed:
        """Run one query once, rolled back and watched as every untrusted one."""
        return execute(
            lambda: session, sql, limits, kill=self.kill, died_of_memory=self.died_of_memory, keep=lambda _: None
        )


def _seconds(outcome: Outcome, session: _Warm) -> float | str:
    """Return how long a query took by the clock its session has, or why it is not known."""
    match outcome:
        case Rows(relation, seconds):
            cell = relation.rows[0][0] if session.timed else seconds
            return cell if isinstance(cell, float) else "the engine gave no seconds"
        case Failure(kind, message):
            return f"{kind}: {message}"
    return "it gave a state instead of rows"
