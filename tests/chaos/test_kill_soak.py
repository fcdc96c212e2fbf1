"""A fixed-seed sample of `make soak`: random SIGKILLs of running evaluations, each followed by resume."""

from __future__ import annotations

import random

import pytest
from chaos_ground import Ground
from chaos_soak import PHASES, Soak, Tally

pytestmark = [pytest.mark.docker, pytest.mark.slow]


def sample(ground: Ground, dialect: str, runs: list[list[str]]) -> Tally:
    """Return what killing these runs in these phases found."""
    tally = Tally()
    work = Soak(ground, dialect, random.Random(5), tally)
    for phases in runs:
        work.one(phases)
    return tally


def test_killed_sqlite_runs_end_as_undisturbed_ones(ground: Ground) -> None:
    """Killed once in each phase: nothing finished is asked again, the files are the same, nothing is left."""
    tally = sample(ground, "sqlite", [["bake", "predictions"], ["start", "gold", "reports"]])
    assert tally.faults == []
    assert sum(tally.kills.values()) >= len(PHASES) - 1


def test_killed_postgres_runs_end_as_undisturbed_ones(postgres: Ground) -> None:
    """The same on a server in a container: while gold runs, and while predictions do."""
    tally = sample(postgres, "postgres", [["gold", "predictions"]])
    assert tally.faults == []
    assert sum(tally.kills.values()) >= 1
