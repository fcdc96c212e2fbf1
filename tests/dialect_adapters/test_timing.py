"""Two queries are timed in turn, each in a session of its own, and every failure is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

import pytest

from sqlassay.cases.errors import SandboxLostError
from sqlassay.cases.relation import Column, Relation
from sqlassay.cases.verdicts import FailureKind
from sqlassay.dialect_adapters.contract import Limits, SessionLostError, StatementError
from sqlassay.dialect_adapters.timing import Paced, Paces

_ONE = Relation((Column("a"),), ((1,),))


class Slow:
    """A session that notes what it is told; `fails` are the texts that fail."""

    def __init__(self, number: int, log: list[tuple[int, str]], fails: frozenset[str] = frozenset()) -> None:
        self.number, self.log, self.fails = number, log, fails
        self.closed = 0

    def begin_read(self, limits: Limits) -> None:
        self.log.append((self.number, "begin"))

    def begin_write(self, limits: Limits) -> None:
        raise AssertionError("a timed query only reads")

    def fetch(self, sql: str, limits: Limits) -> Relation:
        self.log.append((self.number, sql))
        if sql in self.fails:
            raise StatementError(FailureKind.ERROR, "no such thing")
        return _ONE

    def commit(self) -> None:
        raise AssertionError("nothing is committed")

    def rollback(self) -> None:
        self.log.append((self.number, "rollback"))

    def reset(self) -> bool:
        raise AssertionError("a warm session is not put back")

    def cancel(self) -> None:
        pass

    def close(self) -> None:
        self.closed += 1


class Clocked(Slow):
    """A session whose engine has a stopwatch."""

    def seconds(self, sql: str, limits: Limits) -> float:
        self.fetch(sql, limits)
        return float(len(sql))


def _paces(made: list[Slow], make: Callable[[int], Slow], *, own_clock: bool = True) -> Paces:
    """Return paces whose sessions are kept in `made`."""
    numbers: Iterator[int] = count()

    def opened() -> Slow:
        made.append(make(next(numbers)))
        return made[-1]

    return Paces(opened, lambda: None, lambda: False, own_clock=own_clock)


def _timed(paces: Paces, rounds: int = 3) -> Paced:
    """Time two texts of different length."""
    return paces.in_turn(("gold", Limits()), ("longer", Limits()), rounds)


def test_both_run_in_turn_in_sessions_of_their_own() -> None:
    """A round that is not measured comes first; who begins a round comes second in the next."""
    log: list[tuple[int, str]] = []
    made: list[Slow] = []
    paced = _timed(_paces(made, lambda number: Clocked(number, log)))
    assert paced == Paced(((4.0, 6.0),) * 3, "engine")
    texts = [(number, text) for number, text in log if text not in ("begin", "rollback")]
    assert {number for number, text in texts if text == "gold"} == {0}
    assert [text for _, text in texts] == ["gold", "longer", "longer", "gold", "gold", "longer", "longer", "gold"]
    assert [session.closed for session in made] == [1, 1]


def test_every_run_is_rolled_back() -> None:
    """Each run has a READ ONLY transaction of its own."""
    log: list[tuple[int, str]] = []
    _timed(_paces([], lambda number: Clocked(number, log)), rounds=2)
    assert [text for number, text in log if number == 1] == ["begin", "longer", "rollback"] * 3


@pytest.mark.parametrize(("make", "own"), [(Slow, True), (Clocked, False)])
def test_without_a_stopwatch_our_own_clock_counts(make: type[Slow], own: bool) -> None:
    """An engine without one, or whose clock stands still, is timed around the whole result."""
    paced = _timed(_paces([], lambda number: make(number, []), own_clock=own))
    assert paced.clock == "harness"
    assert len(paced.rounds) == 3
    assert all(0 <= seconds < 1 for pair in paced.rounds for seconds in pair)


@pytest.mark.parametrize("text", ["gold", "longer"])
def test_a_failure_leaves_no_seconds(text: str) -> None:
    """Where one of the two fails there is nothing to divide; both sessions are closed all the same."""
    made: list[Slow] = []
    paced = _timed(_paces(made, lambda number: Slow(number, [], frozenset({text}))))
    assert paced == Paced(failure="error: no such thing")
    assert all(session.closed for session in made)


def test_a_second_login_that_fails_closes_the_first() -> None:
    """No session is left behind where the server answers only once."""
    made: list[Slow] = []

    def opened() -> Slow:
        if made:
            raise SessionLostError("gone")
        made.append(Slow(0, []))
        return made[0]

    with pytest.raises(SandboxLostError):
        _timed(Paces(opened, lambda: None, lambda: False))
    assert made[0].closed == 1
