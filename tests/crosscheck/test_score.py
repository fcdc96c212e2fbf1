"""Portability counts agreeing cases among those that say something about engines, with a Wilson interval."""

from __future__ import annotations

import pytest

from sqlassay.harness.crosscheck.score import advice, portability, wilson
from sqlassay.harness.results.crosscheck import Cell, CrossCase, Found, Pair


def case(name: str, agreement: str, owner: str | None = None, sql: str = "SELECT 1", **more: bool) -> CrossCase:
    """Return a case on two engines."""
    found = Found(cause="LIKE case", owner=owner, probe="p", **{"explained": True} | more) if owner else None
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
    """Every case counts once: what says nothing about engines is set aside, what was not compared costs coverage."""
    cases = [
        case("a", "agree"),
        case("b", "silent", "dialect"),
        case("c", "silent", "gold", set_aside=True),
        case("d", "both fail"),
        case("e", "not run"),
        case("f", "error", "agent"),
        case("g", "vacuous"),
    ]
    (score,) = portability(cases, ("sqlite", "mysql"))
    assert score.what == "sqlite to mysql"
    assert (score.same, score.silent, score.error, score.refused, score.vacuous) == (1, 2, 2, 1, 1)
    assert score.set_aside == {"gold": 1, "both fail": 1}
    assert (score.n, score.share, score.coverage, score.unexplained) == (3, 1 / 3, 3 / 6, 0)


def test_a_golds_own_difference_counts_until_it_is_shown_to_be_open():
    """Whose a difference is does not take it out of the share; nor is what nothing explains."""
    cases = [case("a", "agree"), case("b", "silent", "gold"), case("c", "silent", "gold", explained=False)]
    (score,) = portability(cases, ("sqlite", "mysql"))
    assert (score.same, score.n, score.unexplained, score.set_aside) == (1, 3, 1, {})


def test_the_worst_pair_of_a_case_counts():
    """Over three engines a refusal hides no silent difference, and a gold left open hides no refusal."""
    three = ("sqlite", "mysql", "duckdb")

    def over(*agreements: str, set_aside: bool = False) -> CrossCase:
        """Return a case on three engines."""
        pairs = [
            case("x", agreement, "gold" if agreement == "silent" else None, set_aside=set_aside)
            .pairs[0]
            .model_copy(update={"one": one, "other": other})
            for agreement, one, other in zip(
                agreements, ("sqlite", "sqlite", "mysql"), three[1:] + three[2:], strict=True
            )
        ]
        return CrossCase(case_id="x", question="?", cells=(), pairs=tuple(pairs))

    def counts(found: CrossCase) -> tuple[int, ...]:
        """Return the five counts of one case, and how many are set aside."""
        score = portability([found], three)[0]
        aside = sum(score.set_aside.values())
        return score.same, score.silent, score.error, score.refused, score.vacuous, aside

    assert counts(over("silent", "not run", "not run")) == (0, 1, 0, 0, 0, 0)
    assert counts(over("silent", "not run", "not run", set_aside=True)) == (0, 0, 0, 1, 0, 0)
    assert counts(over("agree", "silent", "silent", set_aside=True)) == (0, 1, 0, 0, 0, 1)
    assert counts(over("agree", "vacuous", "agree")) == (0, 0, 0, 0, 1, 0)


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
