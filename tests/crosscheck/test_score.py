"""Portability counts agreeing cases among those that say something about engines, with a Wilson interval."""

from __future__ import annotations

import pytest

from harness.crosscheck.score import advice, portability, wilson
from harness.results.crosscheck import Cell, CrossCase, Found, Pair


def case(name: str, agreement: str, owner: str | None = None, sql: str = "SELECT 1") -> CrossCase:
    """Return a case on two engines."""
    found = Found(cause="LIKE case", owner=owner, probe="p", explained=True) if owner else None
    cells = tuple(Cell(dialect=one, sql=sql, origin="own", outcome="rows", rows=1) for one in ("sqlite", "mysql"))
    pair = Pair(one="sqlite", other="mysql", agreement=agreement, reason="r", found=found)
    return CrossCase(case_id=name, question="?", cells=cells, pairs=(pair,))


@pytest.mark.parametrize(
    ("hits", "n", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_interval(hits, n, low, high):
    """The score interval of a share, as Newcombe (1998, Statistics in Medicine 17:857) has it."""
    assert wilson(hits, n) == pytest.approx((low, high), abs=5e-5)


def test_wilson_of_all_and_none():
    """All reach exactly 1, none exactly 0."""
    assert wilson(48, 48)[1] == 1.0
    assert wilson(0, 48)[0] == 0.0


def test_wilson_over_nothing():
    """Nothing has no interval."""
    assert wilson(0, 0) is None


def test_what_counts():
    """A gold whose rows are not decided, two failures and what did not run are counted apart."""
    cases = [
        case("a", "agree"),
        case("b", "silent", "dialect"),
        case("c", "silent", "gold"),
        case("d", "both fail"),
        case("e", "not run"),
        case("f", "error", "agent"),
    ]
    (score,) = portability(cases, ("sqlite", "mysql"))
    assert (score.what, score.agree, score.n) == ("sqlite to mysql", 1, 3)
    assert score.left_out == {"gold": 1, "both fail": 1, "not run": 1}


def test_advice_shows_the_smallest_silent_example():
    """One line a class; a silent example is shown before a shorter failure."""
    cases = [
        case("long", "silent", "dialect", "SELECT a, b, c"),
        case("short", "silent", "dialect", "SELECT a"),
        case("failed", "error", "agent", "SELECT"),
    ]
    (found,) = advice(cases)
    assert (found.case_id, found.silent, found.errors) == ("short", 2, 1)
    assert found.owners == {"agent": 1, "dialect": 2}
