"""A statement or a neighbour is late by its own doing, not by the load of the machine it is measured on."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import sqlassay.harness.redteam.arena as arena_module
from sqlassay.cases.outcome import Failure
from sqlassay.cases.verdicts import FailureKind
from sqlassay.dialect_adapters.contract import Limits, Mode, Role
from sqlassay.dialect_adapters.execute import Executed
from sqlassay.harness.redteam.arena import Arena, Ground

_ATTACK = "SELECT attack"
_SENTINEL = "SELECT sentinel"


class Machine:
    """A clock that statements and kills move; `attacks` and `sentinels` are the seconds of each in turn."""

    def __init__(self, attacks: list[float], sentinels: list[float], kill: float) -> None:
        self.now = 0.0
        self.attacks = attacks
        self.sentinels = sentinels
        self.kill = kill
        self.ran = 0

    def monotonic(self) -> float:
        return self.now

    def execute(self, open_session: Callable[[], Any], sql: str, *_given: Any, **_options: Any) -> Executed:
        if sql == _ATTACK:
            self.ran += 1
            self.now += self.attacks.pop(0)
            return Executed(Failure(FailureKind.TIMEOUT, "no result within 2 s"), tainted=True)
        self.now += self.sentinels.pop(0) if self.sentinels else 0.05
        return Executed(Failure(FailureKind.ERROR, "the same each time"), tainted=False)

    def spend(self) -> None:
        self.now += self.kill

    def arena(self) -> Arena:
        """Return an arena on this machine."""
        sandbox = SimpleNamespace(
            kill=self.spend,
            destroy=lambda: None,
            died_of_memory=lambda: False,
            endpoint=SimpleNamespace(password=""),
        )
        ground: Any = SimpleNamespace(
            provider=SimpleNamespace(start=lambda *_: sandbox),
            adapter=SimpleNamespace(state_digest=lambda *_: "same", recipe=SimpleNamespace(mark="")),
            image=SimpleNamespace(catalog=lambda _: SimpleNamespace(database="shop")),
            target=SimpleNamespace(
                snapshot=SimpleNamespace(id="shop"), victim=None, sentinel=_SENTINEL, secrets=(), privileged=Role.OWNER
            ),
            limits=Limits(timeout=2.0),
            run_id="late",
        )
        assert set(Ground.__dataclass_fields__) == set(vars(ground))
        return Arena(ground, Mode.READ, Role.READER, lambda: True)


@pytest.fixture
def on(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Machine]:
    """Give a machine that the arena's clock and statements run on."""

    def machine(attacks: list[float], sentinels: list[float], kill: float) -> Machine:
        made = Machine(attacks, sentinels, kill)
        monkeypatch.setattr(arena_module, "execute", made.execute)
        monkeypatch.setattr(arena_module, "time", SimpleNamespace(monotonic=made.monotonic))
        return made

    return machine


@pytest.mark.parametrize(
    ("attacks", "kill", "late", "runs"),
    [
        ([3.5], 0.1, False, 1),
        ([9.0, 9.0, 9.0], 0.1, True, 3),
        ([9.0, 3.5], 0.1, False, 2),
        ([9.0, 9.0, 2.0], 0.1, False, 3),
        ([9.0], 5.0, False, 1),
        ([60.0, 60.0, 60.0], 5.0, True, 3),
    ],
    ids=["in time", "late each time", "late once", "late twice", "a slow machine", "late on a slow machine"],
)
def test_a_statement_is_late_each_time_and_beyond_what_the_machine_takes(
    on: Callable[..., Machine], attacks: list[float], kill: float, late: bool, runs: int
) -> None:
    """The same statement again, and a kill of the harness's own beside it, tell an attack from a busy machine."""
    machine = on(attacks, [], kill)
    arena = machine.arena()
    try:
        seen = arena.run(_ATTACK, template=False, exhausting=False)
    finally:
        arena.close()
    assert (seen.effects, machine.ran) == (("time",) if late else (), runs)


@pytest.mark.parametrize(
    ("sentinels", "answers"),
    [([0.1, 0.1], True), ([0.1, 3.0, 0.1], True), ([0.1, 3.0, 3.0, 3.0], False)],
    ids=["in time", "late once", "late each time"],
)
def test_a_neighbour_is_asked_again_before_it_counts_as_held_up(
    on: Callable[..., Machine], sentinels: list[float], answers: bool
) -> None:
    """One slow answer is the machine's; the first is the sandbox's start."""
    arena = on([], sentinels, 0.1).arena()
    try:
        assert arena.answers() is answers
    finally:
        arena.close()
